"""A whole run as one value that JSON can hold: what was run, what was found, and every table."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd

from changeproof import __version__
from changeproof.report.page.letters import letter_lines
from changeproof.report.page.provenance import provenance
from changeproof.report.page.state import state
from changeproof.report.page.write import FILE
from changeproof.report.verdict import verdict
from changeproof.runs.directory import REPORT, TABLES
from changeproof.runs.results import StoredResults
from changeproof.tables.display import Tables


def document(results: StoredResults, tables: Tables) -> dict[str, Any]:
    """Return everything that there is to say of a run, finished or not, for programs.

    `judged` says which model it is about. `plan` is what was asked, and `run` what is needed to
    repeat it. `verdict` has the `lines` of the terminal, and the findings that they say. `left_out`
    has what does not fit the model, with the reason. `tables` are lists of records; what is
    undefined is None, and what is infinite is the text "inf". `files` are those that the run has
    written.
    """
    found, condition = verdict(results, tables), state(results, tables)
    return {
        "judged": found.judged,
        "changeproof": __version__,
        "complete": condition["complete"],
        "verdict": {"lines": found.lines, **found.as_dict()},
        "letters": list(letter_lines(tables)),
        "left_out": dict(results.plan.left_out),
        "notes": condition["notes"],
        "missing": condition["missing"],
        "plan": json.loads(results.plan.model_dump_json()),
        "run": provenance(results),
        "tables": {name: records(table) for name, table in tables.items()},
        "files": _files(results.folder, tables),
    }


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table by column, as plain values."""
    columns = [[plain(value) for value in table.iloc[:, n].tolist()] for n in range(table.shape[1])]
    names = [str(name) for name in table.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def plain(value: Any) -> str | float | bool | None:
    """Return a value of a table as JSON holds it."""
    if isinstance(value, float):
        return value if math.isfinite(value) else (None if math.isnan(value) else str(value))
    if isinstance(value, str | int):
        return value
    return None if value is None or value is pd.NA or value is pd.NaT else str(value)


def _files(folder: Path, tables: Tables) -> dict[str, Any]:
    """Return where tables and report are, of those that are written."""
    paths = {name: folder / TABLES / f"{name}.csv" for name in tables}
    page = folder / REPORT / FILE
    return {
        "directory": str(folder),
        "tables": {name: str(path) for name, path in paths.items() if path.exists()},
        "report": str(page) if page.exists() else None,
    }
