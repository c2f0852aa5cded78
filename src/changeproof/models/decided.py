"""A learner whose models decide at another threshold than a half."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from changeproof.datasets.task import Task
from changeproof.model import Floats, Model, Stack
from changeproof.models.adjusted import Adjustment
from changeproof.models.learner import Alternative, Learner, stacked
from changeproof.models.thresholds import Threshold, ThresholdModel, check_threshold, deciding
from changeproof.networks.network import Network
from changeproof.networks.training import TrainingRecipe


class ThresholdLearner(Learner):
    """Trains like another learner; its models decide at a threshold.

    Of a network of ours the last bias is moved, so that it stays one. Any other model keeps its
    scores, and they are compared with the threshold as they are.

    Parameters
    ----------
    learner
        Who trains.
    threshold
        From where on scores are favourable.
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
            [
                self._deciding(trained[place], task) if not _is_taught(recipe) else trained[place]
                for place, recipe in enumerate(recipes)
            ]
        )

    def plain(self, recipe: TrainingRecipe, task: Task) -> TrainingRecipe:
        """Return a recipe that trains the same, spelled plainly."""
        return self.learner.plain(recipe, task)

    def _deciding(self, model: Model, task: Task) -> Model:
        if not isinstance(model, Network):
            return deciding(model, self.threshold, task.rows("train"))
        return _lifted(model, -self.threshold.logit)

    def _plain(self, model: Model | None) -> Model | None:
        """Return a model without its threshold."""
        if isinstance(model, Network):
            return _lifted(model, self.threshold.logit)
        return model.model if isinstance(model, ThresholdModel) else model

    def configurations(self) -> list[Alternative]:
        """Return other training configurations, if any are known."""
        return self._all(self.learner.configurations())

    def replacements(self) -> list[Alternative]:
        """Return models that may replace this one: those that give scores of the same kind."""
        return self._all(self.learner.replacements())

    def _all(self, others: Sequence[Alternative]) -> list[Alternative]:
        plain = self.threshold.is_share and not self.threshold.lower
        return [
            Alternative(level, ThresholdLearner(learner, self.threshold))
            for level, learner in others
            if learner.traits.gives_scores or plain
        ]

    def perturbed(self, model: Model, radius: float, seed: int) -> Model:
        """Return the model moved in a random direction whose largest component is the radius."""
        if isinstance(model, ThresholdModel):
            return model.around(self.learner.perturbed(model.model, radius, seed))
        return self.learner.perturbed(model, radius, seed)

    def weights(self, model: Model) -> list[Floats]:
        """Return the weights of a model, layer by layer."""
        return self.learner.weights(model.model if isinstance(model, ThresholdModel) else model)

    def with_weights(self, model: Model, weights: Sequence[Floats]) -> Model:
        """Return the model with other weights."""
        if isinstance(model, ThresholdModel):
            return model.around(self.learner.with_weights(model.model, weights))
        return self.learner.with_weights(model, weights)

    def adjusted(self, model: Model, adjustment: Adjustment) -> Model:
        """Return the model with its probabilities, which have the threshold at a half, adjusted."""
        if isinstance(model, Network):
            return self.learner.adjusted(model, adjustment)
        return super().adjusted(model, adjustment)

    def remeasured(self, model: Model, gains: Floats, offsets: Floats) -> Model:
        """Return the model that is shown ``gains * row + offsets`` in place of every row."""
        if isinstance(model, Network):
            return self.learner.remeasured(model, gains, offsets)
        return super().remeasured(model, gains, offsets)


def _lifted(network: Network, by: float) -> Network:
    """Return a network whose logit is higher."""
    return replace(network, biases=(*network.biases[:-1], network.biases[-1] + np.float32(by)))


def _is_taught(recipe: TrainingRecipe) -> bool:
    """Return whether labels are the probabilities of a model that has the threshold already."""
    return recipe.labels is not None and not np.isin(recipe.labels, (0, 1)).all()


def at_threshold(learner: Learner, threshold: Threshold | str | None) -> Learner:
    """Return a learner whose models decide at a threshold, if there is one."""
    return learner if threshold is None else ThresholdLearner(learner, Threshold.of(threshold))
