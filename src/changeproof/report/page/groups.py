"""Groups of people: who is let down, in words and on the page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import pandas as pd

from changeproof.evaluation.metrics import METRICS, Metric
from changeproof.report.charts import Axis, Chart, Layer, Mark, Panel, Shown
from changeproof.report.page.parts import (
    NOT_YET,
    Part,
    Source,
    chart,
    choice,
    named_panel,
    nothing,
    spans,
    text,
)
from changeproof.report.scores import rows_of
from changeproof.tables.display import Tables, fixed, listed, number, numbers
from changeproof.tables.people import GROUPS, by_group_of

Row = Mapping[Any, Any]
NUMBERS = ("value", "low", "high")


def group_section(source: Source) -> list[Part] | None:
    """Return every metric by group, and what that says; None where nobody asked."""
    plan, tables, shown = source.plan, source.tables, source.shown
    if not plan.by:
        return None
    datasets = [d for d in source.present if rows_of(tables, "groups_left_out", dataset=d)]
    if not datasets:
        return nothing(NOT_YET)
    views = [
        _view(tables, dataset, by, method, shown)
        for dataset, by, method in product(datasets, plan.by, plan.methods)
    ]
    options = {
        "Data": shown.called(datasets),
        "Groups": plan.by,
        "Method": shown.called(plan.methods),
    }
    best = source.scores.best_first(datasets[0], plan.methods)
    return [choice(options, views, (0, 0, best[0] if best else 0))]


def _view(tables: Tables, dataset: str, by: str, method: str, shown: Shown) -> list[Part]:
    rows = rows_of(tables, "groups", dataset=dataset, by=by, method=method)
    apart = rows_of(tables, "group_differences", dataset=dataset, by=by, method=method)
    left_out = not_shown(*rows_of(tables, "groups_left_out", dataset=dataset, by=by))
    values = {(row["metric"], row["group"]): float(row["value"]) for row in rows}
    picture = Chart(
        "groups",
        "Every metric by group of people",
        "Dots are the values, lines their 95 % intervals over people. The two groups that are "
        "farthest apart were picked after all were seen, and the interval of their difference "
        "allows for that. With many metrics and methods looked at, a few clear differences come "
        "about by chance.",
        _sizes(rows),
        [panel for metric in METRICS.values() for panel in _panel(rows, metric)],
        GROUPS,
        [
            [dataset, method, by, row["group"], row["metric"]]
            + [number(row[name]) for name in NUMBERS]
            + [int(row["people"])]
            for row in rows
        ],
        texts=5,
    )
    words = [text(difference_words(apart, values), "sentence")]
    if left_out:
        words.append(text(left_out[:1].upper() + left_out[1:], "muted", "groups-left-out"))
    return [*words, chart(picture)]


def _panel(rows: Sequence[Row], metric: Metric) -> list[Panel]:
    """Return the panel of a metric, if it is known of any group."""
    known = [row for row in rows if row["metric"] == metric.name and not math.isnan(row["value"])]
    if not known:
        return []
    digits = 1 if metric.rate else 2
    value, low, high = (numbers([row[name] for row in known]) for name in NUMBERS)
    ends = [end for end in (*low, *high) if end is not None]
    room = 0.06 * (max(ends, default=0.0) - min(ends, default=0.0)) or 1.0
    texts = [
        f"{fixed(row['value'], digits)} (95 % interval {fixed(row['low'], digits)} to "
        f"{fixed(row['high'], digits)})\n{row['people']} people"
        for row in known
    ]
    across = Axis(
        unit=" %" if metric.rate else "",
        low=min(ends, default=0.0) - room,
        high=max(ends, default=1.0) + room,
    )
    layers = [
        spans(list(zip(low, high, strict=True)), Mark("series-0", ""), 3),
        Layer("points", value, mark=Mark("series-0", "circle"), size=11, hover=texts),
    ]
    title = metric.words.capitalize() + (" (%)" if metric.rate else "")
    names = [str(row["group"]) for row in known]
    return [named_panel(names, across, layers, title, each=34, rest=60)]


def _sizes(rows: Sequence[Row]) -> str:
    sizes = [int(row["people"]) for row in rows if row["metric"] == "coverage"]
    if not sizes:
        return "No group has enough people."
    if len(sizes) == 1:
        return f"One group of {sizes[0]} people is shown."
    span = f"{min(sizes)} to {max(sizes)}" if min(sizes) < max(sizes) else f"{sizes[0]}"
    return f"{len(sizes)} groups of {span} people are shown."


def left_out_words(tables: Tables) -> list[str]:
    """Say which groups are not shown because they are small, a line each."""
    rows = tables.get("groups_left_out", pd.DataFrame()).to_dict("records")
    return [f"{by_group_of(row)}: {words}" for row in rows if (words := not_shown(row))]


def not_shown(row: Row) -> str:
    """Say how many groups and people are not shown; nothing where all are."""
    groups, people, smallest = (int(row[name]) for name in ("groups", "people", "smallest_group"))
    who = "1 person" if people == 1 else f"{people} people"
    if groups == 1:
        return f"one group of {who} is not shown; a group needs {smallest}."
    if groups:
        return f"{groups} groups are not shown, {who} in all; a group needs {smallest}."
    return ""


def difference_words(rows: Sequence[Row], values: Mapping[tuple[str, str], float]) -> str:
    """Say how far groups are apart; what may be chance is said to be no clear difference."""
    found = {row["metric"]: row for row in rows if not math.isnan(row["difference"])}
    if not found:
        return "There are no two groups with enough people, so there is nothing to compare."
    compared = ("difference", "low", "high", "highest", "lowest")
    robust, whole = (
        [found.get(f"{each}_robustness", {}).get(name) for name in compared]
        for each in ("empirical", "end_to_end")
    )
    if robust == whole:
        # It says the same.
        found.pop("empirical_robustness", None)
    words, alike = [], []
    for name, row in found.items():
        metric = METRICS[name]
        digits, unit, points = metric.digits, *((" %", " points") if metric.rate else ("", ""))
        if row["low"] <= 0.0:
            alike.append(metric.words)
            continue
        highest, lowest = (
            f"{group} ({fixed(values[name, group], digits)}{unit})"
            for group in (row["highest"], row["lowest"])
        )
        words.append(
            f"{metric.words.capitalize()} is highest for {highest} and lowest for {lowest}: "
            f"{row['difference']:.{digits}f}{points} apart (95 % interval "
            f"{row['low']:z.{digits}f} to {row['high']:z.{digits}f})."
        )
    if alike:
        one = "interval of its largest difference covers"
        several = "intervals of their largest differences cover"
        verb = one if len(alike) == 1 else several
        words.append(f"No clear difference in {listed(alike)}: the {verb} 0.")
    return " ".join(words)
