"""Thresholds other than a half, also of scores; models and learners that decide by them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, cast

import numpy as np

from changeproof.arithmetic.functions import log, sigmoids
from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.feasible.decimals import written
from changeproof.model import (
    Access,
    Booleans,
    DifferentiableModel,
    Floats,
    HasParameters,
    HasWeights,
    LinearModel,
    Model,
    Stack,
)
from changeproof.models.learner import Alternative, FittedModel, Learner, stacked
from changeproof.networks.network import Network
from changeproof.networks.training import TrainingRecipe

HALF = 0.5
BELOW_HALF = float(np.nextafter(HALF, 0.0))


@dataclass(frozen=True)
class Threshold:
    """The score from which on the outcome is favourable, itself included.

    `lower` says whether lower scores are better.
    """

    value: float
    lower: bool = False

    @classmethod
    def of(cls, given: Any) -> Self:
        """Return the threshold that is written as 0.6, "620", ">=620" or "<=0.2"."""
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
                f"threshold {given!r} is not a number; expected for instance 0.6, 620 (higher "
                'scores are better) or "<=0.2" (lower scores are better)'
            ) from None
        return cls(value, lower)

    def __str__(self) -> str:
        return f"<={written(self.value)}" if self.lower else written(self.value)

    @property
    def is_share(self) -> bool:
        return 0.0 < self.value < 1.0

    @property
    def fits_probabilities(self) -> bool:
        """Whether it can be the threshold of the probability of the favourable outcome."""
        return self.is_share and not self.lower

    def accepts(self, scores: Floats) -> Booleans:
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
        """Map scores to 0 to 1, in their order, with the threshold at a half."""
        if scale is not None:
            mapped = sigmoids(self.margins(scores) / scale)
        else:
            # logit(score) - logit(threshold), as a probability
            share, at = (1.0 - scores, 1.0 - self.value) if self.lower else (scores, self.value)
            mapped = share * (1.0 - at) / (share * (1.0 - at) + (1.0 - share) * at)
        accepted = self.accepts(scores)
        return np.where(accepted, np.maximum(mapped, HALF), np.minimum(mapped, BELOW_HALF))

    def original(self, probabilities: Floats) -> Floats:
        """Undo the mapping: return the model's own probabilities."""
        at, share = self.value, probabilities
        return np.asarray(share * at / (share * at + (1.0 - share) * (1.0 - at)))

    @property
    def logit(self) -> float:
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
        return self.model.offers

    def scores(self, rows: Floats) -> Floats:
        if isinstance(self.model, FittedModel):
            return self.model.scores(rows)
        return self.model.probabilities(rows)

    def probabilities(self, rows: Floats) -> Floats:
        return self.threshold.probabilities(self.scores(rows), self.scale)

    def favourable(self, rows: Floats) -> Booleans:
        return self.threshold.accepts(self.scores(rows))

    def perturbed(self, radius: float, seed: int) -> Self:
        assert isinstance(self.model, HasParameters)
        return replace(self, model=self.model.perturbed(radius, seed))

    @property
    def coefficients(self) -> Floats:
        return self._slope * cast("LinearModel", self.model).coefficients

    @property
    def intercept(self) -> float:
        return self._slope * (cast("LinearModel", self.model).intercept - self._zero)

    def logits_and_gradients(self, rows: Floats) -> tuple[Floats, Floats]:
        assert isinstance(self.model, DifferentiableModel)
        logits, gradients = self.model.logits_and_gradients(rows)
        return self._slope * (logits - self._zero), self._slope * gradients

    @property
    def _zero(self) -> float:
        """The model's logit or score at which it decides."""
        return self.threshold.logit if self.scale is None else self.threshold.value

    @property
    def _slope(self) -> float:
        if self.scale is None:
            return 1.0
        return (-1.0 if self.threshold.lower else 1.0) / self.scale

    def layer_weights(self) -> list[Floats]:
        assert isinstance(self.model, HasWeights)
        return self.model.layer_weights()

    def with_layer_weights(self, weights: Sequence[Floats]) -> Self:
        assert isinstance(self.model, HasWeights)
        return replace(self, model=self.model.with_layer_weights(weights))


def with_threshold(model: Model, threshold: Threshold, trained_on: Floats) -> ThresholdModel:
    """Return a model that decides at a threshold; its scores of the rows set the scale."""
    found = ThresholdModel(model, threshold, None)
    scores = found.scores(trained_on)
    scale = threshold.scale_of(scores)
    if scale is None and isinstance(model, FittedModel) and model.gives_scores:
        # A linear score is no probability, even if all of these are between 0 and 1.
        scale = (float(scores.std()) or 1.0) if Access.LINEAR in model.offers else None
    return replace(found, scale=scale)


def check_threshold(name: str, threshold: Threshold, gives_scores: bool) -> None:
    if not (gives_scores or threshold.fits_probabilities):
        raise InputError(
            f"threshold {threshold}: {name} gives probabilities; expected a number between 0 and 1 "
            "from which on the outcome is favourable: more is better"
        )


class ThresholdLearner(Learner):
    """Trains like another learner; its models decide at a threshold.

    The last bias of our own networks is moved, so that they stay networks. Any other model keeps
    its scores, which are compared with the threshold.
    """

    def __init__(self, learner: Learner, threshold: Threshold) -> None:
        check_threshold(learner.name, threshold, learner.traits.gives_scores)
        self.learner, self.threshold = learner, threshold
        self.name, self.traits = learner.name, replace(learner.traits, decides_at_half=False)

    def __repr__(self) -> str:
        return f"ThresholdLearner({self.learner!r}, {self.threshold})"

    def train(self, recipes: Sequence[TrainingRecipe], task: Task) -> Stack:
        """Train one model per recipe; what is trained further begins without the threshold."""
        plain = [replace(recipe, start=self._plain(recipe.start)) for recipe in recipes]
        trained = self.learner.train(plain, task)
        return stacked(
            [self._deciding(trained[i], recipe, task) for i, recipe in enumerate(recipes)]
        )

    def offers_on(self, task: Task) -> Access:
        return self.learner.offers_on(task)

    def normalised(self, recipe: TrainingRecipe, task: Task) -> TrainingRecipe:
        return self.learner.normalised(recipe, task)

    def _deciding(self, model: Model, recipe: TrainingRecipe, task: Task) -> Model:
        if recipe.labels is not None and not np.isin(recipe.labels, (0, 1)).all():
            return model  # the labels are probabilities of a model that has the threshold already
        if isinstance(model, Network):
            return _lifted(model, -self.threshold.logit)
        return with_threshold(model, self.threshold, task.rows("train"))

    def _plain(self, model: Model | None) -> Model | None:
        if isinstance(model, Network):
            return _lifted(model, self.threshold.logit)
        return model.model if isinstance(model, ThresholdModel) else model

    def configurations(self) -> list[Alternative]:
        return self._at_threshold(self.learner.configurations())

    def replacements(self) -> list[Alternative]:
        return self._at_threshold(self.learner.replacements())

    def _at_threshold(self, others: Sequence[Alternative]) -> list[Alternative]:
        """Return those of the others that give scores of the same kind."""
        return [
            Alternative(level, ThresholdLearner(learner, self.threshold))
            for level, learner in others
            if learner.traits.gives_scores or self.threshold.fits_probabilities
        ]


def _lifted(network: Network, by: float) -> Network:
    return replace(network, biases=(*network.biases[:-1], network.biases[-1] + np.float32(by)))


def at_threshold(learner: Learner, threshold: Threshold | str | None) -> Learner:
    return learner if threshold is None else ThresholdLearner(learner, Threshold.of(threshold))


def own_scores(
    model: Model, rows: Floats, threshold: Threshold | None = None
) -> tuple[Floats, Threshold]:
    """Return a model's own scores of rows, and the threshold that it decides at.

    Our own networks have it in their last bias, so it is passed for them.
    """
    if isinstance(model, ThresholdModel):
        return model.scores(rows), model.threshold
    probabilities = model.probabilities(rows)
    if threshold is None:
        return probabilities, Threshold(HALF)
    return threshold.original(probabilities), threshold
