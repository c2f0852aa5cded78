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
from changeproof.datasets.split import PARTS
from changeproof.datasets.task import Task
from changeproof.feasible.feature import Feature
from changeproof.model import Floats
from changeproof.models.libraries import library_of

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
Score = Callable[[Floats], Floats]
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
    known = library_of(final) == "sklearn" and type(final).__name__ in KINDS
    return known and getattr(final, "loss", "") != "modified_huber"


def linear_score(
    score: Score,
    task: Task,
    *,
    encoded: bool,
    probabilities: Score | None = None,
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
    every = np.concatenate([task.rows(part) for part in PARTS])
    rows = every[:: -(-len(every) // MOST_COMPARED)]
    found = _probed_columns(score, task) if encoded else _probed_features(score, task, every)
    scores = score(rows)
    if not np.abs(found.logits(rows) - scores).max() <= ROUNDING * max(1.0, np.abs(scores).max()):
        return None
    if (
        probabilities is not None
        and np.abs(sigmoids(scores) - probabilities(rows)).max() > ROUNDING
    ):
        return None
    return found


def _probed_columns(score: Score, task: Task) -> Linear:
    low, high = task.training_range
    high = np.where(low < high, high, low + 1.0)
    scores = score(np.concatenate([low[None], low + np.diag(high - low)]))
    coefficients = (scores[1:] - scores[0]) / (high - low)
    return Linear(coefficients, float(scores[0] - (coefficients * low).sum()))


def _probed_features(score: Score, task: Task, every: Floats) -> Linear:
    """Change one feature at a time of the first person, about whom nothing is taken as missing."""
    start = every[0].copy()
    flags = [feature.missing for feature in task.features if feature.missing is not None]
    start[flags] = -(task.mean / task.scale)[flags]
    values = [_values(feature, task) for feature in task.features]
    ends = np.cumsum([1, *map(len, values)])
    rows = np.repeat(start[None], ends[-1], axis=0)
    for feature, block, end in zip(task.features, values, ends[1:], strict=True):
        rows[end - len(block) : end, list(feature.columns)] = block
    first, *scores = np.split(score(rows), ends[:-1])
    coefficients = np.zeros(task.n_features)
    for feature, block, own in zip(task.features, values, scores, strict=True):
        columns = list(feature.columns)
        if feature.kind == "categorical":
            # Only differences between categories count; at the mean, they add nothing.
            usual = (task.mean[columns] * own).sum()
            coefficients[columns] = (own - usual) * task.scale[columns]
        else:
            coefficients[columns] = (own[1] - own[0]) / (block[1, 0] - block[0, 0])
    found = Linear(coefficients, float(first[0] - (coefficients * start).sum()))
    return _with_missing(found, score, task, every, start) if flags else found


def _with_missing(known: Linear, score: Score, task: Task, every: Floats, start: Floats) -> Linear:
    """Add what it does that a value is missing; what stands in its place is always the same."""
    features = [feature for feature in task.features if feature.missing is not None]
    rows = np.repeat(start[None], len(features), axis=0)
    for row, feature in zip(rows, features, strict=True):
        columns = list(feature.all_columns)
        row[columns] = every[every[:, columns[-1]].argmax(), columns]
    flags = [feature.all_columns[-1] for feature in features]
    raised = rows[np.arange(len(flags)), flags] - start[flags]
    coefficients = known.coefficients.copy()
    coefficients[flags] = (score(rows) - known.logits(rows)) / raised
    return Linear(coefficients, float(known.intercept - (coefficients * start)[flags].sum()))


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
