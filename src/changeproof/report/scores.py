"""Every metric of every method: its spread, who is ahead, the frontier, and what that says."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from changeproof.evaluation.metrics import METRICS
from changeproof.runs.plan import Plan
from changeproof.runs.results import ALL_FAMILIES
from changeproof.tables.display import BASES, DRAWS, Tables, number, percent, same_bases
from changeproof.tables.names import method_name
from changeproof.tables.people import ABOVE_BAR, INTERVALS


class Spread(NamedTuple):
    """A metric over base models: mean, standard deviation and both ends of its 95 % interval.

    All are None where the metric is undefined. With one base model there is no standard deviation.
    The interval is over people and, where there are several, base models, if that is known.
    """

    mean: float | None = None
    sd: float | None = None
    low: float | None = None
    high: float | None = None

    def text(self, digits: int, over: str = "", unit: str = "") -> str:
        """Return it in words; the interval is `over` some things."""
        if self.mean is None:
            return "undefined"
        both = f"{self.mean:.{digits}f}"
        if self.sd is not None:
            both += f" ± {self.sd:.{digits}f}"
        ends = self.ends(digits)
        return f"{both}{unit}" + (f" (95 % interval over {over}: {ends})" if ends else "")

    def ends(self, digits: int) -> str:
        """Return both ends of the interval, "50.3 to 74.0"; nothing where they are not known."""
        known = self.low is not None and self.high is not None
        return f"{self.low:.{digits}f} to {self.high:.{digits}f}" if known else ""


class Bar(NamedTuple):
    """How many people get advice that holds often enough; summed over base models.

    So many ask (`people`), get advice that today's model accepts (`accepted`), that holds in at
    least 95 % of the changed models as well (`above`), and surely so, by the 95 % interval over
    changed models (`sure`).
    """

    people: int
    accepted: int
    above: int
    sure: int


# The metrics of one method under one family.
Score = Mapping[str, Spread]
UNKNOWN: Score = {name: Spread() for name in METRICS}


class Scores:
    """Every metric with its spread, by dataset, method and family.

    Read from the tables of a run: results with means and standard deviations, and intervals over
    people, if they are there.
    """

    def __init__(self, tables: Tables) -> None:
        self._found: dict[tuple[str, str, str], dict[str, Spread]] = {}
        for name in ("full_results", "family_results"):
            for row in tables.get(name, pd.DataFrame()).to_dict("records"):
                key = (row["dataset"], row["method"], row.get("family", ALL_FAMILIES))
                self._found[key] = {
                    metric: Spread(number(row[f"{metric}_mean"]), number(row[f"{metric}_std"]))
                    for metric in METRICS
                    if f"{metric}_mean" in row
                }
        for row in tables.get(INTERVALS, pd.DataFrame()).to_dict("records"):
            score = self._found.get((row["dataset"], row["method"], row["family"]), {})
            spread = score.get(row["metric"], Spread())
            if spread.mean is not None:
                ends = {end: number(row[end]) for end in ("low", "high")}
                score[row["metric"]] = spread._replace(**ends)
        self._bars: dict[str, dict[str, Bar]] = {}
        columns = ["dataset", "method", *Bar._fields]
        counts = tables.get(ABOVE_BAR, pd.DataFrame(columns=columns))[columns]
        for row in counts.groupby(columns[:2], sort=False).sum().reset_index().to_dict("records"):
            bar = Bar(*(int(row[name]) for name in Bar._fields))
            self._bars.setdefault(row["dataset"], {})[row["method"]] = bar

    def get(self, dataset: str, method: str, family: str = ALL_FAMILIES) -> Score | None:
        """Return the score of a method; None where nothing is finished."""
        return self._found.get((dataset, method, family))

    def present(self, datasets: Sequence[str]) -> list[str]:
        """Return the datasets that have something to show."""
        there = {dataset for dataset, *_ in self._found}
        return [dataset for dataset in datasets if dataset in there]

    def of(self, metric: str, dataset: str, method: str, family: str = ALL_FAMILIES) -> Spread:
        return (self.get(dataset, method, family) or UNKNOWN)[metric]

    def bars(self, dataset: str) -> Mapping[str, Bar]:
        """Return how many people get advice that holds, by method and for any of them."""
        return self._bars.get(dataset, {})

    def best_first(self, dataset: str, methods: Sequence[str]) -> list[int]:
        """Return the methods whose advice holds for the most people first, by place.

        It holds where it does so in at least 95 % of the changed models. Of equals the nearest is
        first. Where it holds for nobody, methods are `ranked` by what they reach on average.
        """
        row, bars = self.row(dataset, methods), self.bars(dataset)
        above = [bars[method].above if method in bars else 0 for method in methods]
        order = ranked(row)
        if not any(above):
            return order
        return sorted(order, key=lambda place: (-above[place], _far(row[place])))

    def row(
        self, dataset: str, methods: Sequence[str], family: str = ALL_FAMILIES
    ) -> list[Score | None]:
        return [self.get(dataset, method, family) for method in methods]


def rows_of(tables: Tables, name: str, **where: str) -> list[dict[Any, Any]]:
    """Return the rows of a table with some values; none of a table that is not there."""
    table = tables.get(name, pd.DataFrame(columns=list(where)))
    return table[(table[list(where)] == list(where.values())).all(axis=1)].to_dict("records")


def ranked(row: Sequence[Score | None]) -> list[int]:
    """Return the methods by end-to-end robustness, then by distance."""
    keys = []
    for place, score in enumerate(row):
        if score is not None:
            robust = score["end_to_end_robustness"].mean
            keys.append((1.0 if robust is None else -robust, _far(score), place))
    return [place for *_, place in sorted(keys)]


def _far(score: Score | None) -> float:
    distance = None if score is None else score["distance"].mean
    return math.inf if distance is None else distance


def move_words(distance: float) -> str:
    """Return what advice asks of people, wherever it is told: "move 0.16 typical deviations"."""
    return f"move {distance:.2f} typical deviations per feature"


def frontier(points: Iterable[tuple[float | None, float | None]]) -> list[int]:
    """Return which (robustness, distance) no other beats, the nearest first.

    A point is beaten by one that is at least as good in both and better in one. What is
    undefined (None or NaN) beats nothing and is never on the frontier.
    """
    known = [
        (distance, -robustness, place)
        for place, (robustness, distance) in enumerate(points)
        if robustness is not None and distance is not None
        if not math.isnan(robustness) and not math.isnan(distance)
    ]
    kept: list[tuple[float, float, int]] = []
    for point in sorted(known):
        if not kept or point[1] < kept[-1][1] or point[:2] == kept[-1][:2]:
            kept.append(point)
    return [place for _, _, place in kept]


def frontier_of(row: Sequence[Score | None], metric: str) -> list[int]:
    """Return the methods on the frontier of a metric against distance."""
    each = [score or UNKNOWN for score in row]
    return frontier((score[metric].mean, score["distance"].mean) for score in each)


# How a sentence begins about models that are as they were.
AS_IT_WAS = "The changed models are the same as today's, so this is no test: in them"


def after(summary: str | None, families: int = 0, *, sequences: bool = False) -> str:
    """Return how a sentence about a family of this summary begins; None is "don't know".

    Averages are over some families, which are all sequences of updates or all none.
    """
    if summary is None and sequences:
        return "Averaged over all updates" + (f" of {families} sequences" * (families > 1))
    if summary is None and families == 1:
        return "Under the one kind of change that counts in averages"
    if summary is None:
        return f"Averaged over all {families} kinds of change"
    if summary.startswith("retraining after "):
        return f"After {summary.removeprefix('retraining after ')} and the model was retrained"
    if summary.startswith("retraining"):
        return f"After {summary}"
    return f"After a change of the model ({summary})"


def sentence(change: str, method: str, score: Score, over: str) -> str:
    """Say in plain words what a score means; its interval is `over` some things."""
    spread = score["empirical_robustness"]
    robustness, ends = spread.mean, spread.ends(1) if spread.low != spread.high else ""
    distance, end_to_end = score["distance"].mean, score["end_to_end_robustness"].mean
    name = method_name(method)
    if robustness is None or distance is None or end_to_end is None:
        return f"{name} gave nobody a CFE that today's model accepts. So none can still hold."
    interval = f" (95 % interval over {over}: {ends})" if ends else ""
    text = (
        f"{change}, {percent(robustness)} of the CFEs by {name} still hold{interval}. They ask "
        f"people to {move_words(distance)}."
    )
    served = (score["coverage"].mean or 0.0) * (score["base_validity"].mean or 0.0) / 100.0
    if served < 99.5:
        text += (
            f" But only {percent(served)} of people get a CFE that today's model accepts. In all, "
            f"{percent(end_to_end)} get one that still holds."
        )
    return text


class Covered(NamedTuple):
    """What the spread of a dataset's scores covers."""

    # What 95 % intervals are over: "people", or "people and base models".
    intervals: str
    # What standard deviations are over: "base models" or, if these are all the same, draws.
    repeated: str
    # What is said of both beside numbers.
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
