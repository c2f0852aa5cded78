"""Intervals over people as a table to read, for runs with one base model per dataset."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from changeproof.report.names import dataset_name, method_name
from changeproof.report.numbers import UNDEFINED
from changeproof.report.table import METRICS, Cell, Heading, Table
from changeproof.runs.people_tables import NAME
from changeproof.runs.results import ALL_FAMILIES

# What is shown, and with how many digits a terminal of 80 columns has room for; the file has all
# metrics, for every family of change.
SHOWN = {"empirical_robustness": 1, "end_to_end_robustness": 1, "distance": 2}
TITLE = "95 % intervals over {people} people (rates in %, one base model)"
CAPTION = (
    "Results over all families of change with 95 % intervals over people, rates in percent: what "
    "as many other people would show, with the same base model and the same changed models. The "
    "intervals say nothing about other base models."
)


def people_interval_table(tables: Mapping[str, pd.DataFrame]) -> list[Table]:
    """Return the table; none where spreads are over several base models, or nothing is known."""
    frame = tables.get(NAME, pd.DataFrame())
    if frame.empty or (frame["base_models"] > 1).any():
        return []
    frame = frame[(frame["family"] == ALL_FAMILIES) & frame["metric"].isin(SHOWN)]
    sections: dict[str, list[list[Cell]]] = {}
    for (dataset, method), rows in frame.groupby(["dataset", "method"], sort=False):
        known = rows.set_index("metric")
        cells: list[Cell] = [_cell(known.loc[[name]].iloc[0], d) for name, d in SHOWN.items()]
        sections.setdefault(str(dataset), []).append([method_name(str(method)), *cells])
    headings = (Heading("Method", left=True), *(METRICS[metric][0] for metric in SHOWN))
    least, most = int(frame["people"].min()), int(frame["people"].max())
    title = TITLE.format(people=least if least == most else f"{least} to {most}")
    named = [(dataset_name(dataset), rows) for dataset, rows in sections.items()]
    return [Table(NAME, title, CAPTION, headings, named, "Dataset", compact=False)]


def _cell(row: pd.Series[float], digits: int) -> str:
    if pd.isna(row["value"]):
        return UNDEFINED
    value, low, high = (f"{float(row[name]):.{digits}f}" for name in ("value", "low", "high"))
    return f"{value} ({low} to {high})"
