"""Coverage, base validity, robustness and distance, kept apart."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from changeproof.datasets.task import Task
from changeproof.methods.method import Counterfactuals
from changeproof.model import Booleans

RATES = ("coverage", "base_validity", "empirical_robustness", "end_to_end_robustness")
METRICS = (*RATES, "distance")


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


def measure(task: Task, answers: Counterfactuals, survived: Booleans) -> Metrics:
    """Measure a method's answers under the models that `survived` [requests, models] spans."""
    requests, found, valid = len(answers), answers.found, answers.base_valid
    coverage = found.mean() if requests else np.nan
    validity = valid[found].mean() if found.any() else np.nan
    robustness = survived[valid].mean() if survived[valid].size else np.nan
    end_to_end = coverage * validity * robustness if valid.any() else 0.0 * coverage
    change = task.distances(answers.factuals[valid], answers.rows[valid])
    distance = change.mean() if valid.any() else np.nan
    return Metrics(
        coverage=float(100.0 * coverage),
        base_validity=float(100.0 * validity),
        empirical_robustness=float(100.0 * robustness),
        end_to_end_robustness=float(100.0 * end_to_end),
        distance=float(distance),
    )
