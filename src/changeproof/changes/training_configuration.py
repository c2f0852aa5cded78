"""Retraining with other optimiser settings."""

from __future__ import annotations

from changeproof.changes.family import BaseModel, Label, ReplicatedFamily, Variant, alternatives
from changeproof.datasets.task import Task
from changeproof.models.learner import Learner
from changeproof.models.retraining import reconfigured
from changeproof.networks.training import TrainingRecipe
from changeproof.plugins import PAPER


class TrainingConfiguration(ReplicatedFamily):
    """Retrain with another optimiser, learning rate or weight decay."""

    name = "training-configuration"
    label = Label("Training configuration", "train", "Training config.")
    summary = "another training configuration on the same data; of our networks, the optimiser's"
    source = PAPER

    def reason_against(self, learner: Learner) -> str | None:
        """Say that nothing is known that could be set otherwise."""
        if "optimiser" in learner.traits.follows or learner.configurations():
            return None
        return f"no training configurations of {learner.name} are known; give a parameter grid"

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        """Describe 19 settings of Adam and 6 of gradient descent, or the learner's own."""
        if "optimiser" not in learner.traits.follows:
            return self.cycled(alternatives(base, learner.configurations()), learner)
        settings = [Variant(_level(recipe), 0, recipe) for recipe in reconfigured(base.seed)]
        return self.cycled(settings, learner)


def _level(recipe: TrainingRecipe) -> str:
    return f"{recipe.optimiser} lr={recipe.learning_rate:g} wd={recipe.weight_decay:g}"
