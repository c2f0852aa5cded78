"""Time, and the published numbers beside ours."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pandas as pd

from changeproof.datasets import paper_datasets
from changeproof.paper.comparison import (
    PAPER_MACHINE,
    Verdict,
    compare_tables,
    reason_against,
)
from changeproof.report.charts import Axis, Chart, Layer, Mark
from changeproof.report.page.parts import (
    NOT_YET,
    Part,
    Source,
    chart,
    choice,
    heading,
    muted,
    named_panel,
    nothing,
    table,
    text,
)
from changeproof.runs.plan import Plan
from changeproof.tables.display import Tables, number, numbers
from changeproof.tables.names import family_name, method_name

# The time of requests: what it is called, and how it is drawn.
STATISTICS = {
    "median_seconds": ("median", Mark("series-0", "diamond")),
    "mean_seconds": ("mean", Mark("series-1", "circle", open=True)),
    "p90_seconds": ("90 % quantile", Mark("series-6", "triangle-right")),
}
COLUMNS = (
    "table", "dataset", "method or family", "metric", "published", "sd", "ours", "sd",
    "difference", "verdict", "reason",
)  # fmt: skip


def time_section(source: Source) -> list[Part]:
    return [*_generation(source), *_stages(source)]


def _generation(source: Source) -> list[Part]:
    """Return milliseconds per request: median, mean and the 90 % quantile of every method."""
    found = source.tables["generation_seconds"]
    if found.empty:
        return nothing(NOT_YET)
    found = found.dropna(subset=list(STATISTICS))
    if found.empty:
        return nothing("The time of single requests was not recorded in this run.")
    methods = found["method"].tolist()
    names = source.shown.called(methods)
    values = 1e3 * found[list(STATISTICS)].to_numpy(dtype=float)
    slow, fast = values[:, 0].argmax(), values[:, 0].argmin()
    words = f"The median request takes {values[slow, 0]:.3g} ms with {names[slow]}"
    if len(names) > 1:
        words += f", the slowest, and {values[fast, 0]:.3g} ms with {names[fast]}, the fastest"
    layers = [
        Layer(
            "points",
            numbers(column),
            mark=mark,
            size=10,
            hover=[f"{title} {value:.3g} ms" for value in column],
        )
        for column, (title, mark) in zip(values.T, STATISTICS.values(), strict=True)
    ]
    panel = named_panel(names, Axis(unit=" ms", log=True), layers)
    rows = zip(methods, numbers(values), found["timeouts"], strict=True)
    drawn = Chart(
        "generation",
        "Milliseconds per request",
        "◆ median, ○ mean, ▶ 90 % quantile, over all datasets, on a logarithmic scale.",
        f"{words}.",
        [panel],
        ["method", "median_ms", "mean_ms", "p90_ms", "budget_exhausted"],
        [[method, *own, int(budget)] for method, own, budget in rows],
        single=True,
    )
    return [chart(drawn)]


def _stages(source: Source) -> list[Part]:
    """Return where the time of the whole run went, if it was recorded."""
    found = source.tables.get("timings", pd.DataFrame())
    if found.empty:
        return nothing("The time of single pieces was not recorded in this run.")
    order = found.sort_values("seconds", ascending=False, kind="stable")
    # The first two columns say what took the time: the stage, and the method or family, if any.
    named = [
        " ".join(source.shown.name(method_name(family_name(each))) for each in row if each == each)
        for row in order.iloc[:, :2].itertuples(index=False)
    ]
    seconds = numbers(order["seconds"])
    bars = Layer("bars", seconds, mark=Mark("bar", ""), hover=[f"{value} s" for value in seconds])
    drawn = Chart(
        "stages",
        "Where the time of the run went",
        "Seconds of work, summed over pieces.",
        f"All pieces took {found['seconds'].sum():.0f} s of work in total. The longest part was "
        f"{named[0]} with {order['seconds'].iloc[0]:.0f} s.",
        [named_panel(named, Axis(unit=" s"), [bars], each=22, rest=60)],
        [str(column) for column in found.columns],
        [
            [each if isinstance(each, str) else number(each) for each in row]
            for row in found.fillna("").itertuples(index=False)
        ],
        texts=2,
        single=True,
    )
    return [chart(drawn)]


def published_section(source: Source) -> list[Part] | None:
    return published(source.plan, source.tables, source.results.inventory.complete)


def published(plan: Plan, tables: Tables, complete: bool) -> list[Part] | None:
    """Return every published number beside ours; None for a run of none of the paper's data."""
    if not set(plan.datasets) & set(paper_datasets()):
        return None
    if reason := reason_against(plan):
        return nothing(f"This run cannot be compared with the paper: {reason}.")
    if not complete:
        return nothing("The published numbers are shown beside ours once the run is finished.")
    comparison = compare_tables(tables)
    compared = [line for line in comparison.compared if line.ours is not None]
    if not compared:
        return nothing("The paper has none of this run's datasets and methods.")
    tally = Counter(line.verdict for line in compared)
    lines: list[list[Any]] = []
    for line in compared:
        values = [line.published, line.published_sd, line.ours, line.ours_sd, line.difference]
        where = [line.table, line.dataset, line.method_or_family, line.metric]
        lines.append([*where, *numbers(values), line.verdict.value, line.explanation])
    parts = [
        text(
            f"This run has {len(lines)} of the published numbers. {tally[Verdict.WITHIN]} are "
            f"within tolerance, {tally[Verdict.EXPLAINED]} differ for a documented reason, and "
            f"{tally[Verdict.OUTSIDE]} differ without one. {tally[Verdict.NOT_JUDGED]} are shown "
            f"but not judged (times: the published ones were measured on an {PAPER_MACHINE})."
        ),
        *(muted(f"{warning}.") for warning in comparison.warnings),
    ]
    verdict = COLUMNS.index("verdict")
    if differs := [line for line in lines if line[verdict] in ("outside", "explained")]:
        parts += [heading("What differs"), _lines("What differs", differs)]
    names = list(dict.fromkeys(line[0] for line in lines))
    views = [[_lines(name, [line for line in lines if line[0] == name])] for name in names]
    return [
        *parts,
        heading("Number by number"),
        choice({"Table": [name.replace("_", " ") for name in names]}, views),
        {"file": "published", "button": "All as CSV", "columns": list(COLUMNS), "rows": lines},
    ]


def _lines(name: str, lines: list[list[Any]]) -> Part:
    """Return lines as a table; four digits are enough to compare by eye."""
    rows = [
        [float(f"{each:.4g}") if isinstance(each, float) else each for each in line[1:]]
        for line in lines
    ]
    return table(name, COLUMNS[1:], rows, texts=3, long=len(COLUMNS) - 2, tall=True)
