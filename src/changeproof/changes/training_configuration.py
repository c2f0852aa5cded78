"""Retraining with other optimiser settings."""

from __future__ import annotations

from changeproof.changes.family import BaseModel, ReplicatedFamily, Variant, alternatives
from changeproof.datasets.task import Task
from changeproof.models.learner import Learner
from changeproof.networks.training import TrainingRecipe

ADAM_LEARNING_RATES = (2.5e-4, 5e-4, 1e-3, 2e-3, 4e-3)
ADAM_WEIGHT_DECAYS = (0.0, 1e-5, 1e-4, 1e-3)
BASE_SETTING = (1e-3, 0.0)
SGD_LEARNING_RATES = (0.01, 0.03)
SGD_WEIGHT_DECAYS = (0.0, 1e-4, 1e-3)


class TrainingConfiguration(ReplicatedFamily):
    """Retrain with another optimiser, learning rate or weight decay."""

    name = "training-configuration"
    summary = "other optimiser, learning rate or weight decay on the same data"

    def reason_against(self, learner: Learner) -> str | None:
        """Say that nothing is known that could be set otherwise."""
        if "optimiser" in learner.follows or learner.configurations():
            return None
        return f"no training configurations of {learner.name} are known; give a parameter grid"

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        """Describe 19 settings of Adam and 6 of gradient descent, or the learner's own."""
        if "optimiser" not in learner.follows:
            return self.cycled(alternatives(base, learner.configurations()), learner)
        adam = [
            TrainingRecipe(initialisation_seed=base.seed, learning_rate=rate, weight_decay=decay)
            for rate in ADAM_LEARNING_RATES
            for decay in ADAM_WEIGHT_DECAYS
            if (rate, decay) != BASE_SETTING
        ]
        sgd = [
            TrainingRecipe(
                initialisation_seed=base.seed,
                optimiser="sgd",
                learning_rate=rate,
                weight_decay=decay,
            )
            for rate in SGD_LEARNING_RATES
            for decay in SGD_WEIGHT_DECAYS
        ]
        settings = [Variant(_level(recipe), 0, recipe) for recipe in adam + sgd]
        return self.cycled(settings, learner)


def _level(recipe: TrainingRecipe) -> str:
    return f"{recipe.optimiser} lr={recipe.learning_rate:g} wd={recipe.weight_decay:g}"
