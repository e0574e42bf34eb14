"What all tests share. Before any of them imports torch: threads that wait for each other sleep, so that a busy machine stays usable."
import os, warnings

os.environ.setdefault('OMP_WAIT_POLICY', 'PASSIVE')
os.environ.setdefault('TOKENIZERS_PARALLELISM', 'false')

import pytest
from hypothesis import settings

settings.register_profile('busy', deadline=None)
settings.load_profile('busy')

@pytest.fixture(scope='module')
def servers_end():
    "Programs run without warnings about missing protection, and their servers end with the module"
    from honest.tasks import sandbox
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        yield
    sandbox.close_servers()
