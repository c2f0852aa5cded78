"""Models and learners that decide at a threshold other than a half, also of scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self, cast

import numpy as np

from changeproof.datasets.task import Task
from changeproof.datasets.threshold import HALF, Threshold
from changeproof.errors import InputError
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
    without_votes,
)
from changeproof.models.learner import Alternative, FittedModel, Learner, stacked
from changeproof.networks.network import Network
from changeproof.networks.training import TrainingRecipe

if TYPE_CHECKING:
    from changeproof.models.forests.views import ForestView


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
        # How far a score is inside a range bends in the middle.
        own = without_votes(self.model.offers)
        return own if self.threshold.end is None else Access.PREDICTIONS

    @cached_property
    def as_forest(self) -> ForestView | None:
        """The same model as a forest, if it is known to be one."""
        view = self.model.as_forest if isinstance(self.model, FittedModel) else None
        return None if view is None else replace(view, at=self._probabilities)

    def scores(self, rows: Floats) -> Floats:
        if isinstance(self.model, FittedModel):
            return self.model.scores(rows)
        return self.model.probabilities(rows)

    def probabilities(self, rows: Floats) -> Floats:
        return self._probabilities(self.scores(rows))

    def _probabilities(self, scores: Floats) -> Floats:
        return self.threshold.probabilities(scores, self.scale)

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
    its scores, which are compared with the threshold. A threshold is one of the probability of all
    favourable classes together, so that networks learn favourable or not, and have one output.
    """

    def __init__(self, learner: Learner, threshold: Threshold) -> None:
        check_threshold(learner.name, threshold, learner.traits.gives_scores)
        self.learner, self.threshold = learner.favourable_or_not(), threshold
        offers = without_votes(learner.traits.offers)
        self.name = learner.name
        self.traits = replace(learner.traits, decides_at_half=False, offers=offers)

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
        own = without_votes(self.learner.offers_on(task))
        return own if self.threshold.end is None else Access.PREDICTIONS

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
