"""Linear models: coefficients in the rows that methods search in, behind scalers and encoders.

They are found by asking. A score is probed one feature at a time, category by category, and then
compared on the data's rows: where the sum of the parts is not the score (bins, polynomials,
splines), the model is not linear.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from changeproof.arithmetic.functions import sigmoids
from changeproof.datasets.task import PARTS, Task
from changeproof.feasible.feature import Feature
from changeproof.model import Floats

# The classifiers of scikit-learn that have one coefficient per column.
KINDS = frozenset(
    {
        "LinearDiscriminantAnalysis",
        "LinearSVC",
        "LogisticRegression",
        "LogisticRegressionCV",
        "PassiveAggressiveClassifier",
        "Perceptron",
        "RidgeClassifier",
        "RidgeClassifierCV",
        "SGDClassifier",
    }
)
# Rows that a score is compared on, and how much of the largest score is rounding.
MOST_COMPARED, ROUNDING = 1_000, 1e-7


@dataclass(frozen=True, eq=False)
class Linear:
    """A logit that is ``rows @ coefficients + intercept``."""

    coefficients: Floats
    intercept: float

    def logits(self, rows: Floats) -> Floats:
        products = np.ascontiguousarray(rows) * self.coefficients
        return np.asarray(products.sum(axis=1) + self.intercept)

    def logits_and_gradients(self, rows: Floats) -> tuple[Floats, Floats]:
        return self.logits(rows), np.broadcast_to(self.coefficients, rows.shape).copy()


def is_linear(final: Any) -> bool:
    """Return whether the last step of a model is linear, and its probabilities are of its score."""
    kind = type(final)
    known = kind.__module__.partition(".")[0] == "sklearn" and kind.__name__ in KINDS
    return known and getattr(final, "loss", "") != "modified_huber"


def linear_score(
    score: Callable[[Floats], Floats],
    task: Task,
    *,
    encoded: bool,
    probabilities: Callable[[Floats], Floats] | None = None,
) -> Linear | None:
    """Return the coefficients of a score of a task's rows; None where it is not linear.

    Parameters
    ----------
    score
        The log odds of rows or, without `probabilities`, any score.
    encoded
        Whether the score sees every encoded column as it is, not the categories they stand for.
    probabilities
        What has to be the sigmoid of the score.
    """
    rows = compared_rows(task)
    found = _probed(score, task, rows[0], encoded)
    told = score(rows)
    if not np.abs(found.logits(rows) - told).max() <= ROUNDING * max(1.0, np.abs(told).max()):
        return None
    if probabilities is not None and np.abs(sigmoids(told) - probabilities(rows)).max() > ROUNDING:
        return None
    return found


def compared_rows(task: Task) -> Floats:
    """Return some of a task's rows, evenly from all of them."""
    rows = np.concatenate([task.rows(part) for part in PARTS])
    return rows[:: -(-len(rows) // MOST_COMPARED)]


def _probed(score: Callable[[Floats], Floats], task: Task, start: Floats, encoded: bool) -> Linear:
    features = task.features
    if encoded:
        features = tuple(Feature(str(c), "numeric", (c,)) for c in range(task.n_features))
    probes = [_values(feature, task) for feature in features]
    rows = np.repeat(start[None], 1 + sum(map(len, probes)), axis=0)
    first = 1
    for feature, values in zip(features, probes, strict=True):
        rows[first : first + len(values), list(feature.columns)] = values
        first += len(values)
    intercept, *told = np.split(score(rows), np.cumsum([1, *map(len, probes)])[:-1])
    coefficients = np.zeros(task.n_features)
    for feature, values, scores in zip(features, probes, told, strict=True):
        columns = list(feature.columns)
        if feature.kind == "categorical":
            # Of coefficients that tell the categories apart alike, those that add nothing to a
            # person at the mean.
            usual = (task.mean[columns] * scores).sum()
            coefficients[columns] = (scores - usual) * task.scale[columns]
        else:
            coefficients[columns] = (scores[1] - scores[0]) / (values[1, 0] - values[0, 0])
    return Linear(coefficients, float(intercept[0] - (coefficients * start).sum()))


def _values(feature: Feature, task: Task) -> Floats:
    """Return standardised values [probes, columns] that show what a feature does."""
    columns = list(feature.columns)
    if feature.kind == "categorical":
        raw = np.eye(len(columns))
    elif feature.kind == "binary":
        raw = np.array([[0.0], [1.0]])
    else:
        low, high = (each[columns] for each in task.training_range)
        return np.array([low, np.where(low < high, high, low + 1.0)])
    return np.asarray((raw - task.mean[columns]) / task.scale[columns])
