"""Every metric of every method: its spread, who is ahead, and the frontier."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from changeproof.evaluation.metrics import METRICS
from changeproof.runs.results import ALL_FAMILIES
from changeproof.tables.display import Tables, number
from changeproof.tables.people import INTERVALS


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
        if self.low is None or self.high is None:
            return f"{both}{unit}"
        ends = f"{self.low:.{digits}f} to {self.high:.{digits}f}"
        return f"{both}{unit} (95 % interval over {over}: {ends})"


# The metrics of one method under one family.
Score = Mapping[str, Spread]
UNKNOWN: Score = {name: Spread() for name in METRICS}


class Scores:
    """Every metric with its spread, by dataset, method and family.

    Parameters
    ----------
    tables
        The tables of a run: its results with means and standard deviations, and the intervals
        over people, if they are there.
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

    def get(self, dataset: str, method: str, family: str = ALL_FAMILIES) -> Score | None:
        """Return the score of a method; None where nothing is finished."""
        return self._found.get((dataset, method, family))

    def of(self, metric: str, dataset: str, method: str, family: str = ALL_FAMILIES) -> Spread:
        """Return a metric of a method, undefined where nothing is finished."""
        return (self.get(dataset, method, family) or UNKNOWN)[metric]

    def row(
        self, dataset: str, methods: Sequence[str], family: str = ALL_FAMILIES
    ) -> list[Score | None]:
        """Return the scores of some methods."""
        return [self.get(dataset, method, family) for method in methods]


def ranked(row: Sequence[Score | None]) -> list[int]:
    """Return the methods by end-to-end robustness, then by distance."""
    keys = {
        place: (-_or(score["end_to_end_robustness"].mean, -1.0), _or(score["distance"].mean))
        for place, score in enumerate(row)
        if score is not None
    }
    return sorted(keys, key=lambda place: keys[place])


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


def _or(value: float | None, otherwise: float = math.inf) -> float:
    return otherwise if value is None else value
