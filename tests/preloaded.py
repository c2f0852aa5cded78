"""What the processes of `command_line` start with: everything imported, and kernels loaded."""

from __future__ import annotations

import gc
from importlib import import_module

from changeproof.workers.warm_up import NETWORKS, compile_kernels

OURS = ["cli", "workflow", "front_door", "report.print.write", "report.terminal.tables"]
OTHERS = [
    "command_line",
    "joblib.externals.loky.reusable_executor",
    "highspy",
    "pyarrow.parquet",
    *(f"matplotlib.backends.backend_{k}" for k in ("agg", "pdf", "svg")),
]
for name in [*(f"changeproof.{name}" for name in OURS), *OTHERS]:
    import_module(name)
compile_kernels((NETWORKS, False))
# What is there stays: nobody need look at it, nor copy it to do so.
gc.freeze()
