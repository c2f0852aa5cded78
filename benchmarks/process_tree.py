"""What a command and all processes that come of it take.

As a program it runs a command, waits for every process that came of it, and says as JSON, on the
last line, how many seconds and how much processor time all of them took.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

PR_SET_CHILD_SUBREAPER = 36  # of Linux: orphans among the descendants become our children


class Spent(NamedTuple):
    """What some processes took together: wall and processor seconds."""

    seconds: float
    processor_seconds: float


def spent_by(command: Sequence[str]) -> Spent:
    """Run a command to its end, and return what it took with all that came of it."""
    done = subprocess.run([sys.executable, __file__, *command], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return Spent(**json.loads(done.stdout.splitlines()[-1]))


def main() -> int:
    # Of a process that its parent waited for, Linux adds the time to the parent's. One that
    # outlives its parent, or whose parent is killed, becomes our child. So none is missed.
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "cannot adopt orphans")
    began = time.perf_counter()
    code = subprocess.run(sys.argv[1:]).returncode
    seconds = time.perf_counter() - began
    _wait_for_orphans()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(json.dumps(Spent(seconds, used.ru_utime + used.ru_stime)._asdict()))
    return code


def _wait_for_orphans() -> None:
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


if __name__ == "__main__":
    sys.exit(main())
