"""`python -m changeproof` is the command line."""

import sys
from pathlib import Path

import changeproof

# Python looks for modules in the working directory first. That may be a stranger's run directory.
if not sys.flags.safe_path and Path(changeproof.__file__).parents[1] != Path.cwd():
    sys.path.pop(0)

from changeproof.cli import main

main()
