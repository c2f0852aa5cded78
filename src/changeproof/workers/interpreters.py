"""What interpreters that are ours alone do in another way than usual."""

from __future__ import annotations

import gc

# New objects, less those that are gone, after which Python looks for more that could go.
OBJECTS = 50_000
# For the environment of new ones: they would look for modules in the working directory first, and
# that may be a stranger's run directory.
SAFE_PATH = {"PYTHONSAFEPATH": "1"}


def look_less_often() -> None:
    """Have Python look for garbage less often than usual, in a process that is ours alone.

    What is imported stays, and what is computed are arrays, which go by themselves. To look through
    all of it takes up to a fourth of a short command.
    """
    gc.set_threshold(OBJECTS, *gc.get_threshold()[1:])
