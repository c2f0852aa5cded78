"""A learner whose models decide at another threshold than a half."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from changeproof.datasets.task import Task
from changeproof.model import Model, Stack
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
        check_threshold(learner.name, threshold, learner.gives_scores)
        self.learner, self.threshold = learner, threshold
        self.name, self.offers, self.follows = learner.name, learner.offers, learner.follows
        self.has_seeds, self.has_parameters = learner.has_seeds, learner.has_parameters
        self.gives_scores, self.no_training = learner.gives_scores, learner.no_training
        self.only_seed = learner.only_seed

    def __repr__(self) -> str:
        return f"ThresholdLearner({self.learner!r}, {self.threshold})"

    @property
    def stores_models(self) -> bool:
        """Whether its models and their replacements can be kept in files."""
        return self.learner.stores_models

    def train(self, recipes: Sequence[TrainingRecipe], task: Task) -> Stack:
        """Train one model per recipe."""
        trained = self.learner.train(recipes, task)
        return stacked([self._deciding(trained[place], task) for place in range(len(trained))])

    def _deciding(self, model: Model, task: Task) -> Model:
        if not isinstance(model, Network):
            return deciding(model, self.threshold, task.rows("train"))
        moved = model.biases[-1] - np.float32(self.threshold.logit)
        return replace(model, biases=(*model.biases[:-1], moved))

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
            if learner.gives_scores or plain
        ]

    def perturbed(self, model: Model, radius: float, seed: int) -> Model:
        """Return the model moved in a random direction whose largest component is the radius."""
        if isinstance(model, ThresholdModel):
            return model.around(self.learner.perturbed(model.model, radius, seed))
        return self.learner.perturbed(model, radius, seed)


def at_threshold(learner: Learner, threshold: Threshold | str | None) -> Learner:
    """Return a learner whose models decide at a threshold, if there is one."""
    return learner if threshold is None else ThresholdLearner(learner, Threshold.of(threshold))
