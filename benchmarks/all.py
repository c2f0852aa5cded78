"""All benchmarks, one after the other, and the table of what they showed.

A miss in one of them does not keep the others from running; the exit code tells.

    python -m benchmarks.all
"""

from __future__ import annotations

import subprocess
import sys

STEPS = (
    ("benchmarks.methods",),
    ("benchmarks.training",),
    ("benchmarks.growth",),
    ("benchmarks.certificates",),
    ("benchmarks.minimal", "--instances", "20"),
    ("benchmarks.report",),
)


def main() -> int:
    # Each in a process of its own: none warms up the next, or measures its memory.
    codes = []
    for step in STEPS:
        print(f"== {' '.join(step)}", flush=True)
        codes.append(subprocess.run([sys.executable, "-m", *step], check=False).returncode)
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main())
