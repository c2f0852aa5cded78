"""What else people ask of advice: few changes, inside the data, plausible, and feasible."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from changeproof.datasets.task import Task
from changeproof.evaluation.other_units import OtherUnits
from changeproof.feasible.rules import WAYS
from changeproof.methods.answers import Counterfactuals
from changeproof.methods.shared.nearest_rows import nearest_rows
from changeproof.model import Booleans, Floats

NEIGHBOURS = 5
# The usual distance to neighbours is measured on so many rows at most.
MOST_MEASURED = 4_000
# How far outside the range of the training rows counts as rounding.
SLACK = 1e-9


class Advice(NamedTuple):
    """What a method's answers ask of people under one base model; rates in percent.

    The first three and the last three are of answers that the base model accepts, and undefined
    (NaN) without any.

    Attributes
    ----------
    features_changed
        How many features change.
    inside_data
        Answers with every value inside the range of the training rows.
    plausibility
        Distance to the nearest favourable training rows; 1 is usual among these themselves.
    without_answer
        Requests without a feasible answer.
    raw_broken
        Of the method's own answers, those that break a rule.
    raw_base_validity
        Of the method's own answers, those that the base model accepts.
    validity_change
        By how many points more feasible rows than proposals are accepted (less than 0: fewer); NaN
        where answers are as published.
    distance_change
        By how much feasible rows are farther than the proposals (less than 0: nearer), where the
        base model accepts both.
    lof
        Local outlier factor among favourable training rows, of columns from 0 to 1.
    l1_min_max, l2_min_max
        Mean absolute change of a column, and Euclidean distance, of columns from 0 to 1.
    """

    features_changed: float
    inside_data: float
    plausibility: float
    without_answer: float
    raw_broken: float
    raw_base_validity: float
    validity_change: float
    distance_change: float
    lof: float
    l1_min_max: float
    l2_min_max: float


QUALITIES = Advice._fields


class Plausibility:
    """How near rows are to the favourable training rows of a task.

    The mean distance to the five nearest rows that really had the favourable outcome, over the
    median of the same among those rows themselves. Of more than 4,000, the median is that of 4,000
    of them, evenly spread over the table; their neighbours are looked for among all.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        favourable = task.rows("train")[task.labels_of("train") == 1]
        self._rows = favourable / task.distance_scale
        self._nearest = min(NEIGHBOURS, max(1, len(favourable) - 1))
        count = len(favourable)
        some = np.linspace(0, count - 1, min(count, MOST_MEASURED)).astype(np.int64)
        among = self._distances(self._rows[some], skipped=1)
        self.usual = float(np.median(among)) if len(among) else np.nan

    def of(self, rows: Floats) -> Floats:
        distances = self._distances(rows / self._task.distance_scale, skipped=0)
        return distances / self.usual if self.usual > 0.0 else np.full(len(rows), np.nan)

    def _distances(self, rows: Floats, skipped: int) -> Floats:
        """Return the mean distance to the nearest rows, after some that are skipped."""
        if len(self._rows) <= skipped:
            return np.full(len(rows), np.nan)
        nearest = nearest_rows(rows, self._rows, skipped + self._nearest).distances
        return np.asarray(nearest[:, skipped:].mean(axis=1))


class _Proposals(NamedTuple):
    """A method's own answers, before the base class looked for feasible rows.

    `given` says who has one, `breach` the gravest rule that it breaks ("" for none).
    """

    given: Booleans
    breach: npt.NDArray[np.object_]
    accepted: Booleans
    distance: Floats


def _proposals(task: Task, answers: Counterfactuals) -> _Proposals:
    raw = answers.realisation
    if raw is not None:
        given = np.isfinite(raw.raw_distance)
        return _Proposals(given, raw.raw_breach, raw.raw_base_valid, raw.raw_distance)
    found = answers.found
    breach = np.full(len(answers), "", dtype=object)
    actions = task.actions_for(answers.row_ids[found])
    breach[found] = actions.breaches(answers.factuals[found], answers.rows[found]).first
    distance = task.distances(answers.factuals, answers.rows)
    return _Proposals(found, breach, answers.base_valid, distance)


def measure_advice(
    task: Task, answers: Counterfactuals, plausibility: Plausibility, units: OtherUnits
) -> Advice:
    valid = answers.base_valid
    people, rows = answers.factuals[valid], answers.rows[valid]
    given, breach, accepted, distance = _proposals(task, answers)
    broken = breach != ""
    usable, validity_change, distance_change = answers.found & ~broken, np.nan, np.nan
    if answers.realisation is not None:
        usable = answers.found
        validity_change = 100.0 * (_mean(valid[given]) - _mean(accepted[given]))
        both = given & accepted & valid
        final = task.distances(answers.factuals[both], answers.rows[both])
        distance_change = _mean(final - distance[both])
    return Advice(
        features_changed=_mean(task.actions.changed(people, rows).sum(axis=1)),
        inside_data=100.0 * _mean(inside_data(task, rows)),
        plausibility=_mean(plausibility.of(rows)),
        without_answer=100.0 * _mean(~usable),
        raw_broken=100.0 * _mean(broken[given]),
        raw_base_validity=100.0 * _mean(accepted[given]),
        validity_change=validity_change,
        distance_change=distance_change,
        lof=_mean(units.lof(rows)),
        l1_min_max=_mean(units.l1(people, rows)),
        l2_min_max=_mean(units.l2(people, rows)),
    )


def inside_data(task: Task, rows: Floats) -> Booleans:
    """Return which rows have every value inside the range of the training rows."""
    low, high = task.training_range
    return np.asarray(((rows >= low - SLACK) & (rows <= high + SLACK)).all(axis=1))


def breach_shares(task: Task, answers: Counterfactuals) -> dict[str, float]:
    """Return the share (%) of a method's own answers that break a rule, by the gravest one."""
    given, breach, *_ = _proposals(task, answers)
    return {way: 100.0 * _mean(breach[given] == way) for way in WAYS}


def _mean(values: npt.NDArray[Any]) -> float:
    numbers = np.asarray(values, dtype=np.float64)
    return float(numbers.mean()) if len(numbers) else np.nan
