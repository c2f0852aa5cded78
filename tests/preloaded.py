"""What the processes of `command_line` start with: all imported, kernels loaded, our code read."""

from __future__ import annotations

import gc
from importlib import import_module
from pkgutil import iter_modules

import changeproof
from changeproof.runs.plan import Plan
from changeproof.runs.resolve import resolve
from changeproof.runs.work import pieces_of
from changeproof.workers.interpreter import collect_garbage_rarely
from changeproof.workers.warm_up import NETWORKS, compile_kernels

# Rooms whose modules are imported when they are needed; nothing of an extra is among them.
ROOMS = ("arithmetic", "certificates", "changes", "checks", "commands", "methods", "methods.search")
OURS = ["cli", "workflow", "front_door", "report.printing", "report.terminal.tables"]
OTHERS = [
    "command_line",
    "joblib.externals.loky.reusable_executor",
    "highspy",
    "pyarrow.parquet",
    "sklearn.calibration",
    "sklearn.linear_model",
    *(f"matplotlib.backends.backend_{k}" for k in ("agg", "pdf", "svg")),
]


def modules_of(room: str) -> list[str]:
    package = import_module(f"{changeproof.__name__}.{room}")
    return [found.name for found in iter_modules(package.__path__, f"{package.__name__}.")]


collect_garbage_rarely()
for name in [*(name for room in ROOMS for name in modules_of(room)), *OTHERS]:
    import_module(name)
for name in OURS:
    import_module(f"changeproof.{name}")
compile_kernels((NETWORKS, False))
# The code that pieces are named by is read once; a file that changes is read again.
for model in ("mlp", "sklearn:LogisticRegression"):
    assert pieces_of(resolve(Plan.preset("quick", model=model)))
# What is there stays: nobody need look at it, nor copy it to do so.
gc.freeze()
