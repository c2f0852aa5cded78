"""Groups of people on the page: who is let down?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from changeproof.evaluation.metrics import METRICS
from changeproof.report.group_tables import difference_words, not_shown
from changeproof.report.numbers import number
from changeproof.runs.plan import Plan

Tables = Mapping[str, pd.DataFrame]
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
    return [row["group"], METRICS.index(row["metric"]), *values, int(row["people"])]


def _sizes(rows: list[dict[Any, Any]]) -> str:
    sizes = [int(row["people"]) for row in rows if row["metric"] == "coverage"]
    if not sizes:
        return "No group has enough people."
    if len(sizes) == 1:
        return f"One group of {sizes[0]} people is shown."
    span = f"{min(sizes)} to {max(sizes)}" if min(sizes) < max(sizes) else f"{sizes[0]}"
    return f"{len(sizes)} groups of {span} people are shown."
