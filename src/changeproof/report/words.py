"""What the scores say, in sentences, and what their spread covers."""

from __future__ import annotations

from typing import NamedTuple

from changeproof.report.scores import Score
from changeproof.runs.plan import Plan
from changeproof.tables.display import BASES, DRAWS, Tables, percent, same_bases
from changeproof.tables.names import method_name

# How a sentence begins about models that are as they were.
AS_IT_WAS = "The changed models are the same as today's, so this is no test: in them"


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
    robustness, _, low, high = score["empirical_robustness"]
    distance, end_to_end = score["distance"].mean, score["end_to_end_robustness"].mean
    name = method_name(method)
    if robustness is None or distance is None or end_to_end is None:
        return f"{name} gave nobody a CFE that today's model accepts. So none can still hold."
    narrow = low is None or high is None or low == high
    interval = "" if narrow else f" (95 % interval over {over}: {low:.1f} to {high:.1f})"
    text = (
        f"{change}, {percent(robustness)} of the CFEs by {name} still hold{interval}. They ask "
        f"people to move {distance:.1f} typical deviations per feature."
    )
    served = (score["coverage"].mean or 0.0) * (score["base_validity"].mean or 0.0) / 100.0
    if served < 99.5:
        text += (
            f" But only {percent(served)} of people get a CFE that today's model accepts. In all, "
            f"{percent(end_to_end)} get one that still holds."
        )
    return text


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
