"""Two runs side by side, in the terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from rich.console import Console

from changeproof.evaluation.differences import Verdict
from changeproof.report.group_tables import SHORT_NAMES, with_interval
from changeproof.report.names import dataset_name, family_name, method_name
from changeproof.report.numbers import UNDEFINED
from changeproof.report.table import METRICS
from changeproof.report.terminal.tables import escape, say, titled_grid
from changeproof.runs.compare import Line, RunComparison
from changeproof.runs.results import ALL_FAMILIES

STYLES = {Verdict.BETTER: "green", Verdict.WORSE: "bold red"}


def print_run_comparison(
    comparison: RunComparison, *, everything: bool = False, console: Console | None = None
) -> None:
    """Print what became of every metric over all families, and what is clear under one.

    With `everything`, all that was compared under each family as well.
    """
    console = console if console is not None else Console(emoji=False)
    say(console, f"Before: {comparison.before}. After: {comparison.after}.")
    say(console, f"Families of change in both: {', '.join(comparison.families)}.")
    for dataset, lines in groupby(comparison.lines, key=lambda line: line.dataset):
        of_one = list(lines)
        say(console, f"{dataset_name(dataset)}: {_who(of_one)}")
        overall = [line for line in of_one if line.family == ALL_FAMILIES]
        _print_lines(console, f"{dataset_name(dataset)}, over the families in common", overall)
        under = [line for line in of_one if line.family != ALL_FAMILIES]
        shown = under if everything else [line for line in under if line in comparison.clear]
        if shown:
            what = "under each family" if everything else "clear under one family"
            _print_lines(console, f"{dataset_name(dataset)}, {what}", shown)
    for kind, only in (("before", comparison.only_before), ("after", comparison.only_after)):
        for what, names in only.items():
            say(console, f"Only {kind}: {what} {', '.join(names)}.")
    for note in comparison.notes:
        say(console, f"Note: {note}")
    for sentence in conclusion(comparison):
        say(console, sentence)


def conclusion(comparison: RunComparison) -> list[str]:
    """Say how much became better or worse, and how much of that chance would do."""
    counts = comparison.counts()
    number, clear = len(comparison.judged), len(comparison.clear)
    said = [
        f"{number} differences: {counts[Verdict.BETTER]} better, {counts[Verdict.WORSE]} worse, "
        f"{counts[Verdict.UNCLEAR]} without a clear difference (the interval covers 0)."
    ]
    if clear:
        said.append(
            f"Of {number} such intervals, about {comparison.by_chance:.1f} (5 %) would exclude 0 "
            "by chance, had nothing changed."
        )
    return said


def _who(lines: Sequence[Line]) -> str:
    """Say who was compared; methods may have answered different people."""
    said = dict.fromkeys(
        f"the same {line.people_before} people in both runs, compared one by one."
        if line.paired
        else f"{line.people_before} people before and {line.people_after} after, too few of them "
        "the same to compare them one by one."
        for line in lines
    )
    return " ".join(said)


def _print_lines(console: Console, title: str, lines: Sequence[Line]) -> None:
    grid = titled_grid(title)
    families = any(line.family != ALL_FAMILIES for line in lines)
    headings = ["Method", *(["Family"] if families else []), "Metric"]
    for heading in headings:
        grid.add_column(heading, overflow="fold")
    for heading in ("Before", "After", "Difference (95 % interval)"):
        grid.add_column(heading, justify="right", no_wrap=True)
    grid.add_column("Verdict")
    for line in lines:
        same = line.method == line.method_after
        name = method_name(line.method)
        cells = [name if same else f"{name} → {method_name(line.method_after)}"]
        cells += [family_name(line.family)] if families else []
        cells += [SHORT_NAMES[line.metric], *_numbers(line), line.verdict]
        grid.add_row(*map(escape, cells), style=STYLES.get(line.verdict))
    console.print(grid, "")


def _numbers(line: Line) -> list[str]:
    digits = METRICS[line.metric][1]
    values = [
        UNDEFINED if math.isnan(value) else f"{value:.{digits}f}"
        for value in (line.before, line.after)
    ]
    if math.isnan(line.difference):
        return [*values, ""]
    return [*values, with_interval(line.metric, line.difference, line.low, line.high)]
