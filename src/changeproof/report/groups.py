"""Groups of people: who is let down, in words and on the page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from changeproof.evaluation.metrics import METRICS
from changeproof.runs.plan import Plan
from changeproof.tables.display import Tables, fixed, listed, number
from changeproof.tables.people import by_group_of

Row = Mapping[Any, Any]
NUMBERS = ("value", "low", "high")


def groups(tables: Tables, plan: Plan) -> dict[str, Any] | None:
    """Return every metric by group, and what that says; None where nobody asked.

    `views` are by dataset, grouping and method; each has rows of group, position of the metric,
    value, both ends of its interval, and people.
    """
    if not plan.by:
        return None
    views = [
        {"where": [place, which, whose], **_view(tables, dataset, by, method)}
        for place, dataset in enumerate(plan.datasets)
        for which, by in enumerate(plan.by)
        for whose, method in enumerate(plan.methods)
        if _of(tables, "groups_left_out", dataset=dataset, by=by)
    ]
    return {"by": list(plan.by), "views": views}


def _view(tables: Tables, dataset: str, by: str, method: str) -> dict[str, Any]:
    rows = _of(tables, "groups", dataset=dataset, by=by, method=method)
    apart = _of(tables, "group_differences", dataset=dataset, by=by, method=method)
    (small,) = _of(tables, "groups_left_out", dataset=dataset, by=by)
    left_out = not_shown(int(small["groups"]), int(small["people"]), int(small["smallest_group"]))
    values = {(row["metric"], row["group"]): float(row["value"]) for row in rows}
    return {
        "rows": [_row(row) for row in rows],
        "sentence": difference_words(apart, values),
        "words": _sizes(rows),
        "left_out": left_out[:1].upper() + left_out[1:],
    }


def _of(tables: Tables, name: str, **where: str) -> list[dict[Any, Any]]:
    """Return the rows of a table with some values; none of a table that is not there."""
    table = tables.get(name, pd.DataFrame(columns=list(where)))
    chosen = pd.Series(True, index=table.index)
    for column, value in where.items():
        chosen &= table[column] == value
    return table[chosen].to_dict("records")


def _row(row: Mapping[Any, Any]) -> list[Any]:
    values = [number(row[name]) for name in NUMBERS]
    return [row["group"], list(METRICS).index(row["metric"]), *values, int(row["people"])]


def _sizes(rows: list[dict[Any, Any]]) -> str:
    sizes = [int(row["people"]) for row in rows if row["metric"] == "coverage"]
    if not sizes:
        return "No group has enough people."
    if len(sizes) == 1:
        return f"One group of {sizes[0]} people is shown."
    span = f"{min(sizes)} to {max(sizes)}" if min(sizes) < max(sizes) else f"{sizes[0]}"
    return f"{len(sizes)} groups of {span} people are shown."


def left_out_words(tables: Tables) -> list[str]:
    """Say which groups are not shown because they are small, a line each."""
    frame = tables.get("groups_left_out", pd.DataFrame())
    return [
        f"{by_group_of(row)}: {said}"
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
            alike.append(METRICS[metric].words)
            continue
        ends = [
            f"{group} ({_value(metric, values[metric, group])})"
            for group in (row["highest"], row["lowest"])
        ]
        said.append(
            f"{METRICS[metric].words.capitalize()} is highest for {ends[0]} and lowest for "
            f"{ends[1]}: {_apart(metric, row)}."
        )
    if alike:
        one = len(alike) == 1
        verb = "interval of its largest difference covers"
        verb = verb if one else "intervals of their largest differences cover"
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
    digits, points = METRICS[metric].digits, " points" if METRICS[metric].rate else ""
    return (
        f"{row['difference']:.{digits}f}{points} apart (95 % interval "
        f"{row['low']:z.{digits}f} to {row['high']:z.{digits}f})"
    )


def _value(metric: str, value: float) -> str:
    return fixed(value, METRICS[metric].digits) + (" %" if METRICS[metric].rate else "")


def _people(number: int) -> str:
    return "1 person" if number == 1 else f"{number} people"
