"""Where and when something was measured, and where results are kept."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from threadpoolctl import threadpool_limits

RESULTS = Path(__file__).resolve().parent / "results"
RUNS = RESULTS / "runs.json"
LIBRARIES = ("torch", "numpy", "scipy", "scikit-learn", "numba", "highspy", "pandas")


def describe_machine() -> dict[str, str]:
    """Return what speed depends on, as this machine reports it."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "date": date.today().isoformat(),
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{memory:.0f} GiB",
        "system": f"{platform.system()} {platform.machine()}",
        "load at the end": f"{os.getloadavg()[0]:.1f}",
        "python": platform.python_version(),
        **{library: version(library) for library in LIBRARIES},
    }


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep PyTorch and the BLAS libraries to one thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(limits=1):
            yield
    finally:
        torch.set_num_threads(before)


def save(name: str, rows: list[dict[str, Any]], keys: list[str]) -> pd.DataFrame:
    """Keep rows of results in place of those with the same keys; note when and where.

    Returns
    -------
    The whole table as it is now kept.
    """
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.csv"
    table = pd.DataFrame(rows)
    if path.exists():
        kept = pd.read_csv(path)
        outdated = pd.MultiIndex.from_frame(kept[keys]).isin(pd.MultiIndex.from_frame(table[keys]))
        table = pd.concat([kept[~outdated], table]) if not outdated.all() else table
    table = table.sort_values(keys, kind="stable")
    table.to_csv(path, index=False, float_format="%.6g")
    runs = json.loads(RUNS.read_text(encoding="utf-8")) if RUNS.exists() else {}
    runs[name] = describe_machine()
    RUNS.write_text(json.dumps(runs, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return table
