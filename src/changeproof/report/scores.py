"""Every metric of every method: its spread, who is ahead, and the frontier."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import pandas as pd

from changeproof.runs.plan import Plan
from changeproof.runs.results import ALL_FAMILIES
from changeproof.tables.display import number


class Spread(NamedTuple):
    """A metric over base models: mean, standard deviation and both ends of its 95 % interval.

    All are None where the metric is undefined. With one base model there is no standard deviation.
    The interval is over people and, where there are several, base models, if that is known.
    """

    mean: float | None = None
    sd: float | None = None
    low: float | None = None
    high: float | None = None


class Score(NamedTuple):
    """The metrics of one method under one family; JSON has them as lists in this order."""

    coverage: Spread = Spread()
    base_validity: Spread = Spread()
    empirical_robustness: Spread = Spread()
    end_to_end_robustness: Spread = Spread()
    distance: Spread = Spread()


# [dataset][family, the first being all of them][method]; None where nothing is finished.
Scores = list[list[list[Score | None]]]


def scores(intervals: pd.DataFrame, plan: Plan, people: pd.DataFrame | None = None) -> Scores:
    """Return every metric with its spread, by position in the plan.

    Parameters
    ----------
    intervals
        The table of means over base models.
    plan
        What was run.
    people
        The table of 95 % intervals. That of the means has the paper's bootstrap, which covers less.
    """
    found: dict[tuple[str, str, str], Score] = {}
    for row in intervals.to_dict("records"):
        key = (row["dataset"], row["family"], row["method"])
        spread = Spread(number(row["mean"]), number(row["std"]))
        found[key] = found.get(key, Score())._replace(**{row["metric"]: spread})
    for row in [] if people is None else people.to_dict("records"):
        key = (row["dataset"], row["family"], row["method"])
        if key in found and (spread := getattr(found[key], row["metric"])).mean is not None:
            ends = {end: number(row[end]) for end in ("low", "high")}
            found[key] = found[key]._replace(**{row["metric"]: spread._replace(**ends)})
    return [
        [
            [found.get((dataset, family, method)) for method in plan.methods]
            for family in (ALL_FAMILIES, *plan.families)
        ]
        for dataset in plan.datasets
    ]


def ranked(row: list[Score | None]) -> list[int]:
    """Return the methods by end-to-end robustness, then by distance."""
    keys = {
        place: (-_or(score.end_to_end_robustness.mean, -1.0), _or(score.distance.mean, math.inf))
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


def frontier_of(row: list[Score | None], metric: str) -> list[int]:
    """Return the methods on the frontier of a metric against distance."""
    each = [Score() if score is None else score for score in row]
    return frontier((getattr(score, metric).mean, score.distance.mean) for score in each)


def _or(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value
