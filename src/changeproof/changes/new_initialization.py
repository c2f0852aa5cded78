"""The same data and training, another initialisation."""

from __future__ import annotations

from changeproof.changes.family import BaseModel, Family, Variant
from changeproof.datasets.task import Task
from changeproof.networks.training import TrainingRecipe


class NewInitialization(Family):
    """Retrain from another initialisation seed."""

    name = "new-initialization"
    summary = "the same data and training from another initialisation seed"

    def variants(self, task: Task, base: BaseModel) -> list[Variant]:
        """Describe 25 networks with the seeds that follow the base seed."""
        return [
            Variant("new seed", r, TrainingRecipe(initialisation_seed=base.seed + 1 + r))
            for r in range(25)
        ]
