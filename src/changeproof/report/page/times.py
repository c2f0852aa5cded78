"""Time, and the published numbers beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from changeproof.paper.comparison import compare_tables, reason_against
from changeproof.paper.lines import Line, Verdict
from changeproof.paper.tables import PAPER_MACHINE
from changeproof.runs.plan import Plan
from changeproof.tables.display import number, numbers
from changeproof.tables.names import family_name, method_name

STATISTICS = ("median_seconds", "mean_seconds", "p90_seconds")
Tables = Mapping[str, pd.DataFrame]


def generation(table: pd.DataFrame) -> dict[str, Any]:
    """Return milliseconds per request: median, mean and the 90 % quantile of every method."""
    if table.empty:
        return {"nothing": "No method is finished yet."}
    table = table.dropna(subset=list(STATISTICS))
    if table.empty:
        return {"nothing": "The time of single requests was not recorded in this run."}
    values = 1e3 * table[list(STATISTICS)].to_numpy(dtype=float)
    slow, fast = values[:, 0].argmax(), values[:, 0].argmin()
    methods = table["method"].tolist()
    names = [method_name(method) for method in methods]
    words = f"The median request takes {values[slow, 0]:.3g} ms with {names[slow]}"
    if len(names) > 1:
        words += f", the slowest, and {values[fast, 0]:.3g} ms with {names[fast]}, the fastest"
    return {
        "methods": methods,
        "milliseconds": numbers(values),
        "budget_exhausted": [int(count) for count in table["timeouts"]],
        "words": f"{words}.",
    }


def stages(tables: Tables) -> dict[str, Any]:
    """Return where the time of the whole run went, if it was recorded."""
    table = tables.get("timings", pd.DataFrame())
    if table.empty:
        return {"nothing": "The time of single pieces was not recorded in this run."}
    longest = table.iloc[int(table["seconds"].to_numpy().argmax())]
    # The first two columns say what took the time: the stage, and the method or family, if any.
    part = " ".join(method_name(family_name(name)) for name in longest.iloc[:2].dropna())
    return {
        "columns": [str(column) for column in table.columns],
        "rows": [
            [each if isinstance(each, str) else number(each) for each in row]
            for row in table.fillna("").itertuples(index=False)
        ],
        "words": (
            f"All pieces together took {table['seconds'].sum():.0f} s of work. The longest part "
            f"was {part} with {longest['seconds']:.0f} s."
        ),
    }


def published(plan: Plan, tables: Tables, complete: bool) -> dict[str, Any] | None:
    """Return every published number beside ours; None for a run of none of the paper's data."""
    if not set(plan.datasets) & set(Plan.preset("paper").datasets):
        return None
    if reason := reason_against(plan):
        return {"nothing": f"This run cannot be compared with the paper: {reason}."}
    if not complete:
        return {"nothing": "The published numbers are shown beside ours once the run is finished."}
    comparison = compare_tables(tables)
    lines = [line for line in comparison.compared if line.ours is not None]
    if not lines:
        return {"nothing": "The paper has none of this run's datasets and methods."}
    tally = {verdict: sum(line.verdict is verdict for line in lines) for verdict in Verdict}
    return {
        "lines": [_line(line) for line in lines],
        "words": (
            f"This run has {len(lines)} of the published numbers. {tally[Verdict.WITHIN]} are "
            f"within tolerance, {tally[Verdict.EXPLAINED]} differ for a documented reason, and "
            f"{tally[Verdict.OUTSIDE]} differ without one. {tally[Verdict.NOT_JUDGED]} are shown "
            f"but not judged (times: the published ones were measured on an {PAPER_MACHINE})."
        ),
        "warnings": list(comparison.warnings),
    }


def _line(line: Line) -> list[Any]:
    where = [line.table, line.dataset, line.method_or_family, line.metric]
    values = [line.published, line.published_sd, line.ours, line.ours_sd, line.difference]
    return [*where, *numbers(values), line.verdict.value, line.explanation]
