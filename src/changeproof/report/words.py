"""What the scores say, in sentences, and what their spread covers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from changeproof.report.scores import Score, Scores, frontier_of
from changeproof.runs.plan import Plan
from changeproof.tables.display import BASES, DRAWS, Tables, percent, same_bases
from changeproof.tables.names import dataset_name, family_name, method_name

# How a sentence begins about models that are as they were.
AS_IT_WAS = "Nothing has changed about the model, so this says nothing: in models as today's"


def after(summary: str | None, families: int = 0, *, sequences: bool = False) -> str:
    """Return how a sentence about a family of this summary begins; None is "don't know".

    Averages are over some families, which are all sequences of updates or all none.
    """
    if summary is None and sequences:
        return "Averaged over all updates" + (f" of {families} sequences" * (families > 1))
    if summary is None and families == 1:
        return "Under the one kind of change that averages are about"
    if summary is None:
        return f"Averaged over all {families} kinds of change"
    if summary.startswith("retraining"):
        return f"After {summary}"
    return f"After a change of the model ({summary})"


def sentence(change: str, method: str, score: Score, over: str) -> str:
    """Say in plain words what a score means; its interval is `over` some things."""
    robustness, _, low, high = score.empirical_robustness
    distance, end_to_end = score.distance.mean, score.end_to_end_robustness.mean
    name = method_name(method)
    if robustness is None or distance is None or end_to_end is None:
        return f"{name} gave nobody a CFE that today's model accepts. So none can still hold."
    narrow = low is None or high is None or low == high
    interval = "" if narrow else f" (95 % interval over {over}: {low:.1f} to {high:.1f})"
    text = (
        f"{change}, {percent(robustness)} of the CFEs by {name} still hold{interval}. They ask "
        f"people to move {distance:.1f} typical deviations per feature."
    )
    served = (score.coverage.mean or 0.0) * (score.base_validity.mean or 0.0) / 100.0
    if served < 99.5:
        text += (
            f" But only {percent(served)} of people get a CFE that today's model accepts. In all, "
            f"{percent(end_to_end)} get one that still holds."
        )
    return text


def heat_map_words(table: Scores, plan: Plan, unchanged: Sequence[str] = ()) -> str:
    """Say what the heat map shows of the families that change anything."""
    cells = [
        (value, method, dataset, family)
        for dataset, families in zip(plan.datasets, table, strict=True)
        for family, row in zip(plan.families, families[1:], strict=True)
        for method, score in _finished(plan, row)
        if family not in unchanged and (value := score.empirical_robustness.mean) is not None
    ]
    if unchanged and not cells:
        return "Nothing was tested: no changed model differs from today's."
    if not cells:
        return "No cell is defined: no method gave a CFE that the base model accepts."
    value, method, dataset, family = min(cells)
    high = sum(cell[0] >= 95.0 for cell in cells)
    return (
        f"{high} of {len(cells)} cells are at 95 % or more. The lowest is {percent(value)}: "
        f"{method_name(method)} on {dataset_name(dataset)} under {family_name(family)}."
    )


def hidden_words(table: Scores, plan: Plan) -> str:
    """Say where empirical robustness looks better than what people get."""
    gaps = [
        (robust - whole, method, dataset)
        for dataset, families in zip(plan.datasets, table, strict=True)
        for method, score in _finished(plan, families[0])
        if (robust := score.empirical_robustness.mean) is not None
        and (whole := score.end_to_end_robustness.mean) is not None
    ]
    if not gaps:
        return "Robustness is undefined everywhere: the base model accepts no CFE."
    gap, method, dataset = max(gaps)
    if gap < 0.05:
        return "There is no gap: every request got a CFE that the base model accepts."
    wide = sum(each[0] >= 1.0 for each in gaps)
    return (
        f"The gap between empirical and end-to-end robustness is 1 point or more in {wide} of "
        f"{len(gaps)} rows. It is widest for {method_name(method)} on {dataset_name(dataset)}: "
        f"{gap:.1f} points."
    )


def price_words(table: Scores, plan: Plan) -> str:
    """Name the methods on every dataset's frontier."""
    parts = []
    for dataset, families in zip(plan.datasets, table, strict=True):
        kept = frontier_of(families[0], "empirical_robustness")
        names = ", ".join(method_name(plan.methods[place]) for place in kept)
        parts.append(f"{dataset_name(dataset)}: {names or 'nothing defined'}")
    return "On the frontier, from near to far: " + "; ".join(parts) + "."


def _finished(plan: Plan, row: list[Score | None]) -> Iterator[tuple[str, Score]]:
    for method, score in zip(plan.methods, row, strict=True):
        if score is not None:
            yield method, score


class Covered(NamedTuple):
    """What the spread of a dataset's scores covers.

    Attributes
    ----------
    intervals
        What 95 % intervals are over: "people", or "people and base models".
    repeated
        What standard deviations are over: "base models" or, if these are all the same, draws.
    meaning
        What is said of both beside numbers.
    """

    intervals: str
    repeated: str
    meaning: str


ONE_BASE = Covered(
    "people",
    BASES,
    "95 % intervals are over people: what as many other people would show, with this base model "
    "and these changed models. They say nothing about other base models.",
)
SAME_BASE = Covered(
    "people",
    DRAWS,
    "All base models are the same. So ± is the standard deviation over draws of people and of "
    "changed models. 95 % intervals are over people and such draws, for this one base model.",
)
SEVERAL_BASES = Covered(
    f"people and {BASES}",
    BASES,
    "± is the standard deviation over base models. 95 % intervals are over people and base models: "
    "what as many others of both would show, with the same kinds of change.",
)


def covered(tables: Tables, plan: Plan) -> list[Covered]:
    """Return what the spread of scores covers, for every dataset of a plan."""
    same, several = same_bases(tables), len(plan.base_seeds) > 1
    return [
        (SAME_BASE if dataset in same else SEVERAL_BASES) if several else ONE_BASE
        for dataset in plan.datasets
    ]
