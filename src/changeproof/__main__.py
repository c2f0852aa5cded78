"""`python -m changeproof` is the command line."""

from changeproof.cli import main

main()
