"""The paper beside a run, in the terminal."""

from __future__ import annotations

import math
from itertools import groupby

import pandas as pd
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from changeproof.changes import published_family_names
from changeproof.paper.comparison import PaperComparison
from changeproof.paper.lines import ALL_DATASETS, Line, Rule, Verdict
from changeproof.paper.tables import PAPER_MACHINE
from changeproof.report.names import dataset_name, method_name, short_family
from changeproof.report.numbers import UNDEFINED, Measured
from changeproof.report.table import METRICS
from changeproof.report.terminal.tables import escape, print_table, say, titled_grid

TITLES = {
    "full_results": "Results (rates in %, mean ± sd over base networks)",
    "dataset_summary": "Datasets and base networks",
    "change_magnitude": "How big the changes were",
    "generation_seconds": f"Seconds per request (published: {PAPER_MACHINE})",
    "text": "Claims of the text",
}
SHORT_NAMES = {
    **{metric: head.on_screen.lower() for metric, (head, _) in METRICS.items()},
    "hard_disagreement_percent": "disagree (%)",
    "probability_mae": "prob. MAE",
}
SIGNS = {Rule.ABOVE: "> ", Rule.AT_LEAST: "≥ ", Rule.AT_MOST: "≤ "}
STYLES = {Verdict.OUTSIDE: "bold red", Verdict.EXPLAINED: "yellow", Verdict.NOT_COVERED: "dim"}
DIGITS = {
    "balanced_accuracy": 3,
    "distance": 3,
    "probability_mae": 3,
    "threshold": 3,
    "hard_disagreement": 2,
    "seconds": 5,
    "radius": 6,
}
# With as many digits as this there is no room for a standard deviation.
NO_ROOM = 5


def print_comparison(
    comparison: PaperComparison, *, everything: bool = False, console: Console | None = None
) -> None:
    """Print what differs, or everything, a count for each table, and the conclusion.

    Between them: picks of tuning that could easily have been others, and warnings.
    """
    console = console if console is not None else Console(emoji=False)
    for table, lines in groupby(comparison.compared, key=lambda line: line.table):
        shown: dict[str, list[Line]] = {}
        for line in lines:
            if everything or line.explanation or line.verdict is Verdict.OUTSIDE:
                shown.setdefault(line.dataset, []).append(line)
        for dataset, part in shown.items():
            where = "" if dataset == ALL_DATASETS else f": {dataset_name(dataset)}"
            _print_lines(console, f"{TITLES[table]}{where}", part)
    counts = {table: comparison.counts(table) for table in TITLES}
    rows = [{"table": table, **{v.value: counts[table][v] for v in Verdict}} for table in TITLES]
    print_table("Numbers of the paper beside this run", pd.DataFrame(rows), console)
    if comparison.fragile:
        say(console, "Tuning picks that hang on one validation row, or on none:")
        for sentence in comparison.fragile:
            say(console, f"  {sentence}")
    for warning in comparison.warnings:
        say(console, f"Warning: {warning}.")
    for kind, names in comparison.missing.items():
        if names:
            say(console, f"Not in this run: {kind} {', '.join(names)}.")
    say(console, _conclusion(comparison))


def _print_lines(console: Console, title: str, lines: list[Line]) -> None:
    grid = titled_grid(title)
    first = {"dataset_summary": "", "change_magnitude": "family"}.get(lines[0].table, "method")
    for heading in (first, "metric", "published", "ours", "difference", "verdict"):
        numeric = heading in ("published", "ours", "difference")
        grid.add_column(heading, justify="right" if numeric else "left")
    reasons: dict[str, dict[str, None]] = {}
    for line in lines:
        who = (_whose(line), _metric(line))
        grid.add_row(
            *map(escape, who), *_numbers(line), line.verdict.value, style=STYLES.get(line.verdict)
        )
        if line.explanation:
            reasons.setdefault(line.explanation, {})[" ".join(who)] = None
    console.print(grid)
    for reason, explained in reasons.items():
        text = Text(f"{'; '.join(explained)}: {reason}", style="yellow")
        console.print(Padding(text, (0, 0, 0, 2)))
    console.print()


def _whose(line: Line) -> str:
    """Return the method, or the family where the table is of families."""
    name_of = short_family if line.table == "change_magnitude" else method_name
    return name_of(line.method_or_family)


def _metric(line: Line) -> str:
    """Return a metric's name, short enough for a narrow terminal."""
    if line.metric in SHORT_NAMES:
        return SHORT_NAMES[line.metric]
    name = line.metric.removesuffix(f" ({line.rule})").removesuffix(" of all families")
    name = name.replace("empirical_robustness", "robust").replace(" under ", ", ")
    for family in published_family_names():
        name = name.replace(family, short_family(family))
    return name.removesuffix("_seconds").replace("_", " ")


def _numbers(line: Line) -> tuple[str, str, str]:
    """Return published, ours and the difference; no sd where there is no room for it."""
    whole = line.table == "dataset_summary" or line.metric == "timeouts"
    known = (digits for part, digits in DIGITS.items() if part in line.metric)
    digits = next(known, 0 if whole else 1)
    room = digits < NO_ROOM
    published = Measured(line.published, line.published_sd if room else math.nan, digits)
    shown = SIGNS.get(line.rule, "") + published.text()
    if line.ours is None:
        return shown, "", ""
    if math.isnan(line.ours):
        return shown, UNDEFINED, ""
    ours = Measured(line.ours, line.ours_sd if room else math.nan, digits)
    return shown, ours.text(), f"{line.difference:+z.{digits + 1 if digits else 0}f}"


def _conclusion(comparison: PaperComparison) -> str:
    verdicts = [line.verdict for line in comparison.lines]
    outside = verdicts.count(Verdict.OUTSIDE)
    judged = outside + verdicts.count(Verdict.WITHIN) + verdicts.count(Verdict.EXPLAINED)
    if outside:
        return f"{outside} of {judged} judged numbers are outside their tolerance, unexplained."
    return f"All {judged} judged numbers are within their tolerance or explained."
