"""The paper beside a run, and two runs side by side, in the terminal."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from changeproof.changes import published_family_names
from changeproof.evaluation.metrics import METRICS
from changeproof.evaluation.people import Verdict as Became
from changeproof.paper.comparison import (
    ALL_DATASETS,
    PAPER_MACHINE,
    Line,
    PaperComparison,
    Rule,
    Verdict,
)
from changeproof.report.terminal.grid import escape, print_table, say, terminal, titled_grid
from changeproof.runs.compare import Line as RunLine
from changeproof.runs.compare import RunComparison
from changeproof.runs.results import ALL_FAMILIES
from changeproof.tables.display import UNDEFINED, Measured, fixed, interval_text
from changeproof.tables.names import dataset_name, family_name, method_name, short_family

TITLES = {
    "full_results": "Results (rates in %, mean ± sd over base networks)",
    "dataset_summary": "Datasets and base networks",
    "change_magnitude": "How big the changes were",
    "generation_seconds": f"Seconds per request (published: {PAPER_MACHINE})",
    "text": "Claims of the text",
}
SHORT_NAMES = {
    **{name: metric.short.lower() for name, metric in METRICS.items()},
    "hard_disagreement_percent": "disagree (%)",
    "probability_mae": "prob. MAE",
}
SIGNS = {Rule.ABOVE: "> ", Rule.AT_LEAST: "≥ ", Rule.AT_MOST: "≤ "}
PAPER_STYLES = {
    Verdict.OUTSIDE: "bold red",
    Verdict.EXPLAINED: "yellow",
    Verdict.NOT_COVERED: "dim",
}
DIGITS = {
    "balanced_accuracy": 3,
    "distance": 3,
    "probability_mae": 3,
    "threshold": 3,
    "hard_disagreement": 2,
    "seconds": 5,
    "radius": 6,
}
RUN_STYLES = {Became.BETTER: "green", Became.WORSE: "bold red"}
# With as many digits as this there is no room for a standard deviation.
NO_ROOM = 5


def print_comparison(
    comparison: PaperComparison, *, everything: bool = False, console: Console | None = None
) -> None:
    """Print what differs, or everything, a count for each table, and the conclusion.

    Between them: picks of tuning that could easily have been others, and warnings.
    """
    console = console or terminal()
    for table, lines in groupby(comparison.compared, key=lambda line: line.table):
        shown: dict[str, list[Line]] = {}
        for line in lines:
            if everything or line.explanation or line.verdict is Verdict.OUTSIDE:
                shown.setdefault(line.dataset, []).append(line)
        for dataset, part in shown.items():
            where = "" if dataset == ALL_DATASETS else f": {dataset_name(dataset)}"
            _print_paper_lines(console, f"{TITLES[table]}{where}", part)
    counts = {table: comparison.counts(table) for table in TITLES}
    rows = [{"table": table, **{v.value: counts[table][v] for v in Verdict}} for table in TITLES]
    print_table("Numbers of the paper beside this run", rows, console)
    if comparison.fragile:
        say(console, "Choices of tuning that one validation row, or none, decided:")
        for sentence in comparison.fragile:
            say(console, f"  {sentence}")
    for warning in comparison.warnings:
        say(console, f"Warning: {warning}.")
    for kind, names in comparison.missing.items():
        if names:
            say(console, f"Not in this run: {kind} {', '.join(names)}.")
    say(console, _paper_conclusion(comparison))


def _print_paper_lines(console: Console, title: str, lines: list[Line]) -> None:
    first = {"dataset_summary": "", "change_magnitude": "family"}.get(lines[0].table, "method")
    numeric = ("published", "ours", "difference")
    headings = (first, "metric", *numeric, "verdict")
    grid = titled_grid(title, [(each, each not in numeric) for each in headings])
    reasons: dict[str, dict[str, None]] = {}
    for line in lines:
        name_of = short_family if line.table == "change_magnitude" else method_name
        names = (name_of(line.method_or_family), _metric(line))
        cells = [*map(escape, names), *_paper_numbers(line), line.verdict.value]
        grid.add_row(*cells, style=PAPER_STYLES.get(line.verdict))
        if line.explanation:
            reasons.setdefault(line.explanation, {})[" ".join(names)] = None
    console.print(grid)
    for reason, explained in reasons.items():
        text = Text(f"{'; '.join(explained)}: {reason}", style="yellow")
        console.print(Padding(text, (0, 0, 0, 2)))
    console.print()


def _metric(line: Line) -> str:
    # Short enough for a narrow terminal.
    if line.metric in SHORT_NAMES:
        return SHORT_NAMES[line.metric]
    name = line.metric.removesuffix(f" ({line.rule})").removesuffix(" of all families")
    name = name.replace("empirical_robustness", "robust").replace(" under ", ", ")
    for family in published_family_names():
        name = name.replace(family, short_family(family))
    return name.removesuffix("_seconds").replace("_", " ")


def _paper_numbers(line: Line) -> tuple[str, str, str]:
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


def _paper_conclusion(comparison: PaperComparison) -> str:
    counts = Counter(line.verdict for line in comparison.lines)
    outside = counts[Verdict.OUTSIDE]
    judged = outside + counts[Verdict.WITHIN] + counts[Verdict.EXPLAINED]
    if outside:
        return f"{outside} of {judged} judged numbers are outside their tolerance, unexplained."
    return f"All {judged} judged numbers are within their tolerance or explained."


def print_run_comparison(
    comparison: RunComparison, *, everything: bool = False, console: Console | None = None
) -> None:
    """Print what became of every metric over all families, and what is clear under one.

    With `everything`, all that was compared under each family as well.
    """
    console = console or terminal()
    say(console, f"Before: {comparison.before}. After: {comparison.after}.")
    say(console, f"Families of change in both: {', '.join(comparison.families)}.")
    for dataset, lines in groupby(comparison.lines, key=lambda line: line.dataset):
        name, mine = dataset_name(dataset), list(lines)
        say(console, f"{name}: {_who(mine)}")
        overall = [line for line in mine if line.family == ALL_FAMILIES]
        _print_run_lines(console, f"{name}, over the families in common", overall)
        under = [line for line in mine if line.family != ALL_FAMILIES]
        shown = under if everything else [line for line in under if line in comparison.clear]
        if shown:
            what = "under each family" if everything else "clear under one family"
            _print_run_lines(console, f"{name}, {what}", shown)
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
    sentences = [
        f"{number} differences: {counts[Became.BETTER]} better, {counts[Became.WORSE]} worse, "
        f"{counts[Became.UNCLEAR]} without a clear difference (the interval covers 0)."
    ]
    if clear:
        sentences.append(
            f"Of {number} such intervals, about {comparison.by_chance:.1f} (5 %) would exclude 0 "
            "by chance, had nothing changed."
        )
    return sentences


def _who(lines: Sequence[RunLine]) -> str:
    """Say who was compared; methods may have answered different people."""
    sentences = dict.fromkeys(
        f"the same {line.people_before} people in both runs, compared one by one."
        if line.paired
        else f"{line.people_before} people before and {line.people_after} after, too few of them "
        "the same to compare them one by one."
        for line in lines
    )
    return " ".join(sentences)


def _print_run_lines(console: Console, title: str, lines: Sequence[RunLine]) -> None:
    families = any(line.family != ALL_FAMILIES for line in lines)
    names = ["Method", *(["Family"] if families else []), "Metric"]
    numeric = ["Before", "After", "Difference (95 % interval)"]
    headings = [*names, *numeric, "Verdict"]
    grid = titled_grid(title, [(each, each not in numeric) for each in headings])
    for line in lines:
        same = line.method == line.method_after
        name = method_name(line.method)
        cells = [name if same else f"{name} → {method_name(line.method_after)}"]
        cells += [family_name(line.family)] if families else []
        cells += [METRICS[line.metric].short.lower(), *_run_numbers(line), line.verdict]
        grid.add_row(*map(escape, cells), style=RUN_STYLES.get(line.verdict))
    console.print(grid, "")


def _run_numbers(line: RunLine) -> list[str]:
    digits = METRICS[line.metric].digits
    values = [fixed(value, digits) for value in (line.before, line.after)]
    if math.isnan(line.difference):
        return [*values, ""]
    return [*values, interval_text(line.difference, line.low, line.high, digits)]
