"""Coverage, base validity, robustness and distance, kept apart.

A metric is an entry of `METRICS`, a field of `Metrics` with its formula, and what it is for each
person: a field of `People`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple, Self

import numpy as np

from changeproof.datasets.task import Task
from changeproof.methods.answers import Counterfactuals
from changeproof.model import Booleans, Floats, Integers


@dataclass(frozen=True)
class Metric:
    """What tables, page, terminal and gate need to know of a metric.

    Attributes
    ----------
    name
        Its name in files: a field of `Metrics`.
    heading, short
        What columns call it, in print and where there is less room.
    averaged, over
        What it is the mean of, and over whom: everybody who asks, those with an answer (`found`) or
        those with a valid one (`valid`). Both are fields of `People`.
    rate
        Whether it is a rate in percent, and more is better. If not, less is better.
    digits
        How many decimal places are shown.
    """

    name: str
    heading: str
    short: str
    averaged: str
    over: str | None = None
    rate: bool = True
    digits: int = 1

    @property
    def words(self) -> str:
        """What sentences call it."""
        return self.name.replace("end_to_end", "end-to-end").replace("_", " ")

    @property
    def title(self) -> str:
        """What the page calls it: in full, with its unit."""
        return self.words.capitalize() + (" (%)" if self.rate else "")


METRICS = {
    metric.name: metric
    for metric in (
        Metric("coverage", "Coverage", "Coverage", "found"),
        Metric("base_validity", "Base valid", "Valid", "valid", "found"),
        Metric("empirical_robustness", "Emp. robust.", "Robust", "held", "valid"),
        Metric("end_to_end_robustness", "E2E robust.", "End-to-end", "held"),
        Metric("distance", "Distance", "Distance", "distance", "valid", rate=False, digits=3),
    )
}
RATES = tuple(name for name, metric in METRICS.items() if metric.rate)


@dataclass(frozen=True)
class Metrics:
    """The metrics of one method under one base model; rates in percent.

    `base_validity` is undefined (NaN) where nothing was found; `empirical_robustness` and
    `distance` where nothing is base-valid. `end_to_end_robustness` is then 0: none of the
    requests got recourse that holds. Without requests all is undefined; without changed models
    the robustness of what is base-valid.
    """

    coverage: float
    base_validity: float
    empirical_robustness: float
    end_to_end_robustness: float
    distance: float

    def as_dict(self) -> dict[str, float]:
        """Return the metrics by name."""
        return asdict(self)


def measure(
    task: Task,
    answers: Counterfactuals,
    survived: Booleans,
    families: Sequence[str] | None = None,
) -> Metrics:
    """Measure a method's answers under the models that `survived` [requests, models] spans.

    Where `families` says of which family each model is, every family counts the same, however
    many models it has. Whoever the base model favours already is no request.
    """
    return Requests(task, answers).under(survived, families)


class Requests:
    """A method's answers, of which only robustness depends on the changed models."""

    def __init__(self, task: Task, answers: Counterfactuals) -> None:
        requests, found, valid = answers.asking, answers.found, answers.base_valid
        self._valid = valid
        self._coverage = found[requests].mean() if requests.any() else np.nan
        self._validity = valid[found].mean() if found.any() else np.nan
        change = task.distances(answers.factuals[valid], answers.rows[valid])
        self._distance = change.mean() if valid.any() else np.nan

    def under(self, survived: Booleans, families: Sequence[str] | None = None) -> Metrics:
        coverage, validity, held = self._coverage, self._validity, survived[self._valid]
        robustness = _mean(held, families) if held.size else np.nan
        end_to_end = coverage * validity * robustness if self._valid.any() else 0.0 * coverage
        return Metrics(
            coverage=float(100.0 * coverage),
            base_validity=float(100.0 * validity),
            empirical_robustness=float(100.0 * robustness),
            end_to_end_robustness=float(100.0 * end_to_end),
            distance=float(self._distance),
        )


class People(NamedTuple):
    """What became of the people of one base model, one entry each.

    `held` is the share of changed models under which advice holds, every family counting the same,
    and 0 without valid advice; `distance` is 0 there, too. `row_ids` says who they are: the same
    people may ask several base models.
    """

    found: Floats
    valid: Floats
    held: Floats
    distance: Floats
    row_ids: Integers

    @classmethod
    def of(
        cls, task: Task, answers: Counterfactuals, survived: Booleans, families: Sequence[str]
    ) -> Self:
        valid = answers.base_valid
        # Rounded weights may add up to a little more than 1.
        held = np.where(valid, np.minimum(survived @ family_weights(families), 1.0), 0.0)
        distance = np.zeros(len(answers))
        distance[valid] = task.distances(answers.factuals[valid], answers.rows[valid])
        found = answers.found.astype(np.float64)
        return cls(found, valid.astype(np.float64), held, distance, np.asarray(answers.row_ids))

    def some(self, chosen: Booleans | Integers) -> People:
        return People._make(values[chosen] for values in self)


def family_weights(families: Sequence[str]) -> Floats:
    """Return what each changed model counts, so that every family counts the same."""
    _, which, sizes = np.unique(np.asarray(families), return_inverse=True, return_counts=True)
    return np.asarray(1.0 / (len(sizes) * sizes[which]))


def _mean(survived: Booleans, families: Sequence[str] | None) -> float:
    weights = None if families is None else family_weights(families)
    if weights is None or (weights == weights[0]).all():
        return float(survived.mean())
    return float(survived.mean(axis=0) @ weights)
