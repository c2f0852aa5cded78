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

import numpy as np
import pandas as pd
import torch
from threadpoolctl import threadpool_limits

RESULTS = Path(__file__).resolve().parent / "results"
LIBRARIES = ("torch", "numpy", "scipy", "scikit-learn", "numba", "highspy", "pandas")
PASSING = ("date", "load at the end")  # what does not tell one machine from another


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

    Rows that were measured on another machine or with other versions are dropped.

    Returns
    -------
    The whole table as it is now kept.
    """
    RESULTS.mkdir(exist_ok=True)
    path, runs_path = RESULTS / f"{name}.csv", RESULTS / "runs.json"
    now = describe_machine()
    runs = json.loads(runs_path.read_text(encoding="utf-8")) if runs_path.exists() else {}
    table = pd.DataFrame(rows).assign(date=now["date"])
    if path.exists() and _same_machine(now, runs.get(name, now)):
        kept = pd.read_csv(path)
        now_measured = set(_keys(table[keys]))
        outdated = np.array([key in now_measured for key in _keys(kept[keys])])
        table = table if outdated.all() else pd.concat([kept[~outdated], table])
    table = table.sort_values(keys, kind="stable")
    table.to_csv(path, index=False, float_format="%.6g")
    runs[name] = now
    runs_path.write_text(json.dumps(runs, indent=1) + "\n", encoding="utf-8")
    return table


def _keys(table: pd.DataFrame) -> list[tuple[Any, ...]]:
    """Return the keys of rows; what is nobody's is read as NaN, which would equal nothing."""
    rows = table.itertuples(index=False)
    return [tuple("" if pd.isna(value) else value for value in row) for row in rows]


def _same_machine(one: dict[str, str], other: dict[str, str]) -> bool:
    return {k: v for k, v in one.items() if k not in PASSING} == {
        k: v for k, v in other.items() if k not in PASSING
    }
