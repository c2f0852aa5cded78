"""What else people ask of advice: few changes, inside the data, plausible, and feasible."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from changeproof.datasets.task import Task
from changeproof.feasible.rules import WAYS
from changeproof.methods.answers import Counterfactuals
from changeproof.methods.shared.nearest_rows import nearest_rows
from changeproof.model import Booleans, Floats

NEIGHBOURS = 5
# Of how many rows it is measured how far others usually are: all, unless there are more.
MOST_MEASURED = 4_000
# How far outside the range of the training rows counts as rounding.
SLACK = 1e-9
QUALITIES = (
    "features_changed",
    "inside_data",
    "plausibility",
    "without_answer",
    "raw_broken",
    "raw_base_validity",
    "validity_change",
    "distance_change",
)


@dataclass(frozen=True)
class Advice:
    """What a method's answers ask of people under one base model; rates in percent.

    The first three are of answers that the base model accepts, and undefined (NaN) without any.

    Attributes
    ----------
    features_changed
        How many features change.
    inside_data
        Answers with every value inside the range of the training rows.
    plausibility
        Distance to the nearest favourable training rows, where 1 is what is usual among them.
    without_answer
        Requests without an answer that the person can be told.
    raw_broken
        Of the method's own answers, those that people could not be told as they were.
    raw_base_validity
        Of the method's own answers, those that the base model accepts.
    validity_change
        By how many points more of the told rows than of the proposals are accepted (less than 0:
        fewer); NaN where answers are as published.
    distance_change
        By how much the told rows are farther than the proposals (less than 0: nearer), where the
        base model accepts both.
    """

    features_changed: float
    inside_data: float
    plausibility: float
    without_answer: float
    raw_broken: float
    raw_base_validity: float
    validity_change: float
    distance_change: float

    def as_dict(self) -> dict[str, float]:
        """Return the values by name."""
        return asdict(self)


class Plausibility:
    """How near rows are to the favourable training rows of a task.

    The mean distance to the five nearest rows that really had the favourable outcome, over the
    median of the same among those rows themselves. Where these are more than 4,000, the median is
    that of 4,000 of them, evenly spread over the table; their neighbours are looked for among all.

    Parameters
    ----------
    task
        The task that rows belong to.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        favourable = task.rows("train")[task.labels_of("train") == 1]
        self._rows = favourable / task.distance_scale
        self._nearest = min(NEIGHBOURS, max(1, len(favourable) - 1))
        among = self._distances(_evenly_spread(self._rows, MOST_MEASURED), skipped=1)
        self.usual = float(np.median(among)) if len(among) else np.nan

    def of(self, rows: Floats) -> Floats:
        """Return how far rows are; 1 is usual, and more is less plausible."""
        distances = self._distances(rows / self._task.distance_scale, skipped=0)
        return distances / self.usual if self.usual > 0.0 else np.full(len(rows), np.nan)

    def _distances(self, rows: Floats, skipped: int) -> Floats:
        """Return the mean distance to the nearest rows, without the first ones of them."""
        if len(self._rows) <= skipped:
            return np.full(len(rows), np.nan)
        nearest = nearest_rows(rows, self._rows, skipped + self._nearest).distances
        return np.asarray(nearest[:, skipped:].mean(axis=1))


def measure_advice(task: Task, answers: Counterfactuals, plausibility: Plausibility) -> Advice:
    """Measure what a method's answers ask of people."""
    valid, found = answers.base_valid, answers.found
    people, rows = answers.factuals[valid], answers.rows[valid]
    changed = task.actions.changed(people, rows).sum(axis=1)
    own, broken, accepted, distance = _own(task, answers)
    told = found & ~broken if answers.realisation is None else found
    validity_change = distance_change = np.nan
    if answers.realisation is not None:
        validity_change = 100.0 * (_mean(valid[own]) - _mean(accepted[own]))
        both = own & accepted & valid
        as_told = task.distances(answers.factuals[both], answers.rows[both])
        distance_change = _mean(as_told - distance[both])
    return Advice(
        features_changed=_mean(changed),
        inside_data=100.0 * _mean(inside_data(task, rows)),
        plausibility=_mean(plausibility.of(rows)),
        without_answer=100.0 * _mean(~told),
        raw_broken=100.0 * _mean(broken[own]),
        raw_base_validity=100.0 * _mean(accepted[own]),
        validity_change=validity_change,
        distance_change=distance_change,
    )


def inside_data(task: Task, rows: Floats) -> Booleans:
    """Return which rows have every value inside the range of the training rows."""
    low, high = task.training_range
    return np.asarray(((rows >= low - SLACK) & (rows <= high + SLACK)).all(axis=1))


def breach_shares(task: Task, answers: Counterfactuals) -> dict[str, float]:
    """Return the share (%) of a method's own answers that break a rule, by the gravest one."""
    if answers.realisation is None:
        found = answers.found
        first = task.actions.breaches(answers.factuals[found], answers.rows[found]).first
    else:
        own = np.isfinite(answers.realisation.raw_distance)
        first = answers.realisation.raw_breach[own].tolist()
    return {way: 100.0 * _mean([each == way for each in first]) for way in WAYS}


def _own(task: Task, answers: Counterfactuals) -> tuple[Booleans, Booleans, Booleans, Floats]:
    """Return which answers a method gave itself; which are broken, accepted, and how far."""
    if answers.realisation is not None:
        raw = answers.realisation
        own = np.isfinite(raw.raw_distance)
        return own, np.asarray(raw.raw_breach != ""), raw.raw_base_valid, raw.raw_distance
    found = answers.found
    broken = np.zeros(len(answers), dtype=np.bool_)
    people, rows = answers.factuals[found], answers.rows[found]
    broken[found] = task.actions.breaches(people, rows).any
    return found, broken, answers.base_valid, task.distances(answers.factuals, answers.rows)


def _evenly_spread(rows: Floats, most: int) -> Floats:
    return rows[np.linspace(0, len(rows) - 1, most).astype(np.int64)] if len(rows) > most else rows


def _mean(values: object) -> float:
    numbers = np.asarray(values, dtype=np.float64)
    return float(numbers.mean()) if len(numbers) else np.nan
