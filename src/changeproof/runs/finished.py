"""The tables of a run that has ended."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from changeproof.errors import InputError
from changeproof.runs.directory import read_plan
from changeproof.runs.plan import Plan
from changeproof.runs.tables import read_tables


def read_finished(folder: Path) -> tuple[Plan, dict[str, pd.DataFrame]]:
    """Return plan and tables of a finished run; refuse one that is not."""
    plan = read_plan(folder)
    tables = read_tables(folder)
    if not tables:
        raise InputError(
            f"the run in {folder} is not finished; go on with: changeproof run --out {folder}"
        )
    return plan, tables
