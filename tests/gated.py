"""Outcome runs with known numbers, for tests of the gate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from changeproof import Plan
from changeproof.runs.published import origin_of, publish
from changeproof.tables.people import INTERVAL_COLUMNS
from planned import write_plan

# Somebody's own, which are nowhere on this machine.
OWN_METHOD, OWN_FAMILY = "absent.module:Kind", "absent.module:Shift"
FAMILIES = ("bootstrap", OWN_FAMILY)
# dataset, method, family, metric, value, low, high
Row = tuple[str, str, str, str, float, float, float]


def write_gated(
    folder: Path,
    rows: Sequence[Row],
    more: dict[str, pd.DataFrame] | None = None,
    people: int = 100,
    **plan: Any,
) -> Path:
    """Write a finished run with a kdtree, a method of one's own and given letters."""
    values = {
        "datasets": ("diabetes", "data/loans.task.parquet"),
        "methods": ("kdtree", OWN_METHOD),
        "families": FAMILIES,
        "model": "python:absent.module:model",
        "counterfactuals": {"letters": "data/letters.counterfactuals.parquet"},
        "left_out": {"wachter": "needs gradients", "parameter-perturbation": "no parameters"},
        **plan,
    }
    known = Plan.checked(values, record=True)
    write_plan(folder, known, {"diabetes": "0", "loans": "1"})
    intervals = pd.DataFrame([(*row, people, 1) for row in rows], columns=INTERVAL_COLUMNS)
    tables = {"people_intervals": intervals, **(more or {})}
    files = {f"{name}.csv": table.to_csv(index=False).encode() for name, table in tables.items()}
    publish(folder / "tables", files, origin_of(folder))
    return folder


def rows_of(metric: str, **values: tuple[float, float, float]) -> list[Row]:
    """Return the numbers of each method, the same on both datasets and under all families."""
    methods = {"kdtree": "kdtree", "own": OWN_METHOD, "letters": "letters"}
    return [
        (dataset, methods[name], family, metric, *value)
        for name, value in values.items()
        for dataset in ("diabetes", "loans")
        for family in ("all", *FAMILIES)
    ]
