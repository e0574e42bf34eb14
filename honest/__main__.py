"`python -m honest` is the `honest` command."
from .cli import main

main()
