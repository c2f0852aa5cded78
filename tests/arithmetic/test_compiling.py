"""Kernels on disk are those of the code that is there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

KERNEL = """
from changeproof.arithmetic import compiling

if {digest!r}:
    compiling.kernels_digest = lambda: {digest!r}


@compiling.compiled
def double(x):
    return x + x
"""
CALL = "from kernel import double; double(1.0); print(sum(double.stats.cache_hits.values()))"


def found_compiled(folder: Path, digest: str) -> str:
    """Call a kernel in a fresh process; say how often it was found on disk."""
    path = folder / "kernel.py"
    path.write_text(KERNEL.format(digest=digest))
    os.utime(path, (1, 1))  # Numba itself sees no change in this file
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "kernels")}
    command = [sys.executable, "-c", CALL]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_kernels_are_compiled_again_when_code_that_they_may_take_in_has_changed(
    tmp_path: Path,
) -> None:
    assert [found_compiled(tmp_path, digest) for digest in ("one", "one", "two", "two")] == [
        "0",
        "1",
        "0",
        "1",
    ]
