"""Groups of people: who is let down, in words and on the page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import pandas as pd

from changeproof.evaluation.metrics import METRICS, Metric
from changeproof.report.charts import Axis, Chart, Layer, Mark, Panel, Shown, tall
from changeproof.report.page.parts import NOT_YET, Part, Source, chart, choice, nothing, text
from changeproof.report.scores import ranked
from changeproof.tables.display import Tables, fixed, listed, number, numbers
from changeproof.tables.people import GROUPS, by_group_of

Row = Mapping[Any, Any]
NUMBERS = ("value", "low", "high")


def group_section(source: Source) -> list[Part] | None:
    """Return every metric by group, and what that says; None where nobody asked."""
    plan, tables, shown = source.plan, source.tables, source.shown
    if not plan.by:
        return None
    datasets = [d for d in source.present if _of(tables, "groups_left_out", dataset=d)]
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
    best = ranked(source.scores.row(datasets[0], plan.methods))
    return [choice(options, views, (0, 0, best[0] if best else 0))]


def _view(tables: Tables, dataset: str, by: str, method: str, shown: Shown) -> list[Part]:
    rows = _of(tables, "groups", dataset=dataset, by=by, method=method)
    apart = _of(tables, "group_differences", dataset=dataset, by=by, method=method)
    (small,) = _of(tables, "groups_left_out", dataset=dataset, by=by)
    left_out = not_shown(int(small["groups"]), int(small["people"]), int(small["smallest_group"]))
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
        [[dataset, method, by, row["group"], row["metric"], *_numbers(row)] for row in rows],
        texts=5,
    )
    said = [text(difference_words(apart, values), "sentence")]
    if left_out:
        said.append(text(left_out[:1].upper() + left_out[1:], "muted", "groups-left-out"))
    return [*said, chart(picture)]


def _panel(rows: Sequence[Row], metric: Metric) -> list[Panel]:
    """Return the panel of a metric, if it is known of any group."""
    known = [row for row in rows if row["metric"] == metric.name and not math.isnan(row["value"])]
    if not known:
        return []
    digits, places = 1 if metric.rate else 2, list(range(len(known)))
    value, low, high = (numbers([row[name] for row in known]) for name in NUMBERS)
    ends = [end for end in (*low, *high) if end is not None]
    room = 0.06 * (max(ends, default=0.0) - min(ends, default=0.0)) or 1.0
    mark = Mark("series-0", "circle")
    spans = Layer(
        "line",
        [end for pair in zip(low, high, strict=True) for end in (*pair, None)],
        [place for n in places for place in (n, n, None)],
        Mark("series-0", ""),
        width=3,
    )
    hover = [
        f"{row['group']}\n{fixed(row['value'], digits)} (95 % interval "
        f"{fixed(row['low'], digits)} to {fixed(row['high'], digits)})\n{row['people']} people"
        for row in known
    ]
    unit = " %" if metric.rate else ""
    return [
        Panel(
            [spans, Layer("points", value, places, mark, 11, hover=hover)],
            Axis("", unit, min(ends, default=0.0) - room, max(ends, default=1.0) + room),
            Axis(names=[str(row["group"]) for row in known]),
            metric.words.capitalize() + (" (%)" if metric.rate else ""),
            tall(len(known), 34, 60),
        )
    ]


def _of(tables: Tables, name: str, **where: str) -> list[dict[Any, Any]]:
    """Return the rows of a table with some values; none of a table that is not there."""
    table = tables.get(name, pd.DataFrame(columns=list(where)))
    chosen = pd.Series(True, index=table.index)
    for column, value in where.items():
        chosen &= table[column] == value
    return table[chosen].to_dict("records")


def _numbers(row: Row) -> list[float | None]:
    return [*(number(row[name]) for name in NUMBERS), int(row["people"])]


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
