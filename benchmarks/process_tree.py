"""What a command and all processes that come of it take."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

PR_SET_CHILD_SUBREAPER = 36  # of Linux: orphans among the descendants become our children


class Spent(NamedTuple):
    """What some processes took together: wall and processor seconds."""

    seconds: float
    processor_seconds: float


def spent_by(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Spent:
    """Run a command to its end, and wait for every process that came of it.

    Of a process that its parent waited for, Linux adds the time to the parent's; one that outlives
    its parent, or whose parent is killed, becomes our child. So none is missed, however it ended.
    """
    adopt_orphans()
    before, began = _of_children(), time.perf_counter()
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    seconds = time.perf_counter() - began
    _wait_for_orphans()
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}")
    return Spent(seconds, _of_children() - before)


def adopt_orphans() -> None:
    """Become the parent of all descendants that lose theirs."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "cannot adopt orphans")


def _wait_for_orphans() -> None:
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
