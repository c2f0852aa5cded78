"""Decisions at other thresholds than a half, and by scores that are not probabilities."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from changeproof.arithmetic.functions import log, sigmoids
from changeproof.errors import InputError
from changeproof.feasible.decimals import written
from changeproof.model import Access, Booleans, DifferentiableModel, Floats, Model
from changeproof.models.learner import FittedModel

HALF = 0.5
BELOW_HALF = float(np.nextafter(HALF, 0.0))


@dataclass(frozen=True)
class Threshold:
    """From where on a score is favourable.

    Parameters
    ----------
    value
        The score at the threshold, which is favourable itself.
    lower
        Whether lower scores are better.
    """

    value: float
    lower: bool = False

    @classmethod
    def of(cls, given: Any) -> Self:
        """Return the threshold that somebody means by 0.6, "620", ">=620" or "<=0.2"."""
        if isinstance(given, cls):
            return given
        text = str(given).strip()
        lower = text.startswith("<=")
        try:
            value = float(text.removeprefix("<=").removeprefix(">="))
            if not math.isfinite(value) or isinstance(given, bool):
                raise ValueError
        except ValueError:
            raise InputError(
                f"threshold {given!r} is no number; expected for instance 0.6, 620 (higher "
                'scores are better) or "<=0.2" (lower scores are better)'
            ) from None
        return cls(value, lower)

    def __str__(self) -> str:
        return f"<={written(self.value)}" if self.lower else written(self.value)

    @property
    def is_share(self) -> bool:
        """Whether it can be the threshold of a probability."""
        return 0.0 < self.value < 1.0

    def accepts(self, scores: Floats) -> Booleans:
        """Return which scores are favourable."""
        return scores <= self.value if self.lower else scores >= self.value

    def margins(self, scores: Floats) -> Floats:
        """Return how far scores are on the favourable side; below 0 on the other."""
        return self.value - scores if self.lower else scores - self.value

    def scale_of(self, scores: Floats) -> float | None:
        """Return by how much scores differ; None where they and the threshold are probabilities."""
        if self.is_share and scores.min() >= 0.0 and scores.max() <= 1.0:
            return None
        return float(scores.std()) or 1.0

    def probabilities(self, scores: Floats, scale: float | None) -> Floats:
        """Bring scores to a scale from 0 to 1 on which the threshold is a half, in their order."""
        if scale is not None:
            mapped = sigmoids(self.margins(scores) / scale)
        else:
            # logit(score) - logit(threshold), as a probability
            share, at = (1.0 - scores, 1.0 - self.value) if self.lower else (scores, self.value)
            mapped = share * (1.0 - at) / (share * (1.0 - at) + (1.0 - share) * at)
        accepted = self.accepts(scores)
        return np.where(accepted, np.maximum(mapped, HALF), np.minimum(mapped, BELOW_HALF))

    def undone(self, probabilities: Floats) -> Floats:
        """Return the probabilities that a model had before the threshold came to be a half."""
        at, share = self.value, probabilities
        return np.asarray(share * at / (share * at + (1.0 - share) * (1.0 - at)))

    @property
    def logit(self) -> float:
        """The logit of a probability at the threshold."""
        return float(log(self.value / (1.0 - self.value)))


@dataclass(repr=False, eq=False, frozen=True)
class ThresholdModel:
    """A model that decides at a threshold of its own; its probabilities have it at a half.

    `scale` is None where the model's scores are probabilities.
    """

    model: Model
    threshold: Threshold
    scale: float | None

    def __repr__(self) -> str:
        return f"ThresholdModel({self.model!r}, {self.threshold})"

    @property
    def offers(self) -> Access:
        """How far a method may look into it."""
        return self.model.offers

    def scores(self, rows: Floats) -> Floats:
        """Return the scores of the model itself, one per row."""
        judge = self.model.scores if isinstance(self.model, FittedModel) else None
        return (judge or self.model.probabilities)(rows)

    def probabilities(self, rows: Floats) -> Floats:
        """Return the scores on a scale from 0 to 1 on which the threshold is a half."""
        return self.threshold.probabilities(self.scores(rows), self.scale)

    def favourable(self, rows: Floats) -> Booleans:
        """Return whether the score is on the favourable side of the threshold, or at it."""
        return self.threshold.accepts(self.scores(rows))

    def around(self, other: Model) -> Self:
        """Return another model with the same threshold."""
        return replace(self, model=other)


class DifferentiableThresholdModel(ThresholdModel):
    """The same of a model that has gradients."""

    def logits_and_gradients(self, rows: Floats) -> tuple[Floats, Floats]:
        """Return the logits [rows] and their derivatives by the features [rows, features]."""
        assert isinstance(self.model, DifferentiableModel)
        logits, gradients = self.model.logits_and_gradients(rows)
        return logits - self.threshold.logit, gradients


def deciding(model: Model, threshold: Threshold, known: Floats) -> ThresholdModel:
    """Return a model that decides at a threshold; `known` are rows that it was trained on."""
    kind = DifferentiableThresholdModel if isinstance(model, DifferentiableModel) else None
    asked = (kind or ThresholdModel)(model, threshold, None)
    return replace(asked, scale=threshold.scale_of(asked.scores(known)))


def check_threshold(name: str, threshold: Threshold, gives_scores: bool) -> None:
    """Refuse a threshold that makes no sense for a model."""
    if gives_scores:
        return
    if threshold.lower:
        raise InputError(
            f"threshold {threshold}: the score of {name} is the probability of the favourable "
            "outcome, of which more is better; expected a number between 0 and 1"
        )
    if not threshold.is_share:
        raise InputError(
            f"threshold {threshold}: {name} gives probabilities; expected a number between 0 and 1"
        )


def judged(
    model: Model, rows: Floats, threshold: Threshold | None = None
) -> tuple[Floats, Threshold]:
    """Return a model's own scores of rows, and the threshold that it decides at.

    A network of ours does not know it any more: its learner does.
    """
    if isinstance(model, ThresholdModel):
        return model.scores(rows), model.threshold
    probabilities = model.probabilities(rows)
    if threshold is None:
        return probabilities, Threshold(HALF)
    return threshold.undone(probabilities), threshold
