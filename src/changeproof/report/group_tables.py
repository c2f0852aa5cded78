"""Groups of people in words, and as tables for screens and print."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from changeproof.report.names import dataset_name, method_name
from changeproof.report.table import METRICS, Cell, Heading, Table
from changeproof.report.words import listed

METRIC_NAMES = {
    "coverage": "coverage",
    "base_validity": "base validity",
    "empirical_robustness": "empirical robustness",
    "end_to_end_robustness": "end-to-end robustness",
    "distance": "distance",
}
ALIKE, TOO_FEW = "all alike", "too few people"
SHORT_NAMES = {metric: head.on_screen.lower() for metric, (head, _) in METRICS.items()}
DIFFERENCES_CAPTION = (
    "The largest difference between two groups of people, in points and for distance in typical "
    "deviations, with its 95 % interval over people. The two groups were picked after all were "
    "seen, and the interval is wide enough to allow for that."
)
GROUPS_CAPTION = (
    "Every metric by group of people, rates in percent, with 95 % intervals over people. Behind "
    "empirical robustness and distance are the people whose advice the base model accepts."
)
Tables = Mapping[str, pd.DataFrame]
Row = Mapping[Any, Any]


def difference_table(tables: Tables, metrics: Mapping[str, str] = METRIC_NAMES) -> list[Table]:
    """Return the largest differences as a table to read; none where nobody asked for groups.

    Parameters
    ----------
    tables
        The tables of a run.
    metrics
        What to call the metrics.
    """
    headings = ("Method", "Metric", "Highest", "Lowest")
    return _table(
        tables,
        "group_differences",
        (
            "The largest difference between groups",
            DIFFERENCES_CAPTION,
        ),
        (*(Heading(name, left=True) for name in headings), Heading("Difference (95 % interval)")),
        lambda row: [
            method_name(row["method"]),
            metrics[row["metric"]],
            *([row["highest"], row["lowest"]] if row["difference"] else [ALIKE, ""]),
            with_interval(row["metric"], row["difference"], row["low"], row["high"]),
        ],
    )


def group_table(tables: Tables) -> list[Table]:
    """Return every metric by group as a table to read; none where nobody asked for groups."""
    return _table(
        tables,
        "groups",
        ("Who is let down?", GROUPS_CAPTION),
        (
            *(Heading(name, left=True) for name in ("Method", "Group", "Metric")),
            Heading("Value (95 % interval)"),
            Heading("People"),
        ),
        lambda row: [
            method_name(row["method"]),
            row["group"],
            METRIC_NAMES[row["metric"]],
            with_interval(row["metric"], row["value"], row["low"], row["high"]),
            int(row["people"]),
        ],
    )


def _table(
    tables: Tables, name: str, titles: tuple[str, str], headings: tuple[Heading, ...], cells: Any
) -> list[Table]:
    sections: dict[str, list[list[Cell]]] = {}
    for row in tables.get(name, pd.DataFrame()).to_dict("records"):
        if not math.isnan(row.get("difference", 0.0)):
            sections.setdefault(_where(row), []).append(cells(row))
    if not sections:
        return []
    return [Table(name, *titles, headings, list(sections.items()), "Groups", compact=False)]


def _where(row: Row) -> str:
    return f"{dataset_name(row['dataset'])} by {row['by']}"


def left_out_words(tables: Tables) -> list[str]:
    """Say which groups are not shown because they are small, a line each."""
    frame = tables.get("groups_left_out", pd.DataFrame())
    return [
        f"{_where(row)}: {said}"
        for row in frame.to_dict("records")
        if (said := not_shown(int(row["groups"]), int(row["people"]), int(row["smallest_group"])))
    ]


def not_shown(groups: int, people: int, smallest: int) -> str:
    """Say how many groups and people are not shown; nothing where all are."""
    if not groups:
        return ""
    if groups == 1:
        return f"one group of {_people(people)} is not shown; a group needs {smallest}."
    return f"{groups} groups are not shown, {_people(people)} in all; a group needs {smallest}."


def difference_words(rows: Sequence[Row], values: Mapping[tuple[str, str], float]) -> str:
    """Say how far groups are apart; what may be chance is said to be no clear difference."""
    rows = [row for row in rows if not math.isnan(row["difference"])]
    if not rows:
        return "There are no two groups with enough people, so there is nothing to compare."
    said, alike = [], []
    for row in _different(rows):
        metric = row["metric"]
        if row["low"] <= 0.0:
            alike.append(METRIC_NAMES[metric])
            continue
        ends = [
            f"{group} ({_value(metric, values[metric, group])})"
            for group in (row["highest"], row["lowest"])
        ]
        said.append(
            f"{METRIC_NAMES[metric].capitalize()} is highest for {ends[0]} and lowest for "
            f"{ends[1]}: {_apart(metric, row)}."
        )
    if alike:
        verb = (
            "interval of its largest difference covers"
            if len(alike) == 1
            else ("intervals of their largest differences cover")
        )
        said.append(f"No clear difference in {listed(alike)}: the {verb} 0.")
    return " ".join(said)


def _different(rows: Sequence[Row]) -> list[Row]:
    """Return the rows without robustness where end-to-end robustness says the same."""
    said = ("difference", "low", "high", "highest", "lowest")
    found = {row["metric"]: [row[name] for name in said] for row in rows}
    repeated = found.get("empirical_robustness") == found.get("end_to_end_robustness")
    return [row for row in rows if not repeated or row["metric"] != "empirical_robustness"]


def _apart(metric: str, row: Row) -> str:
    """Return "9.7 points apart (95 % interval 2.5 to 15.9)"."""
    digits, points = _digits(metric), "" if metric == "distance" else " points"
    return (
        f"{row['difference']:.{digits}f}{points} apart (95 % interval "
        f"{row['low']:z.{digits}f} to {row['high']:z.{digits}f})"
    )


def with_interval(metric: str, value: float, low: float, high: float) -> str:
    """Return a value with its interval."""
    if math.isnan(value):
        return TOO_FEW
    digits = _digits(metric)
    return f"{value:.{digits}f} ({low:z.{digits}f} to {high:z.{digits}f})"


def _value(metric: str, value: float) -> str:
    return f"{value:.{_digits(metric)}f}{'' if metric == 'distance' else ' %'}"


def _digits(metric: str) -> int:
    return 3 if metric == "distance" else 1


def _people(number: int) -> str:
    return "1 person" if number == 1 else f"{number} people"
