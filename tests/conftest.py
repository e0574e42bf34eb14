"Before any test imports torch: threads that wait for each other sleep, so that a busy machine stays usable."
import os

os.environ.setdefault('OMP_WAIT_POLICY', 'PASSIVE')
os.environ.setdefault('TOKENIZERS_PARALLELISM', 'false')
