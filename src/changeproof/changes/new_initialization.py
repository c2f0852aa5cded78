"""The same data and training, another initialisation."""

from __future__ import annotations

from changeproof.changes.family import BaseModel, Label, ReplicatedFamily, Variant
from changeproof.datasets.task import Task
from changeproof.models.learner import Learner
from changeproof.networks.training import TrainingRecipe
from changeproof.plugins import PAPER


class NewInitialization(ReplicatedFamily):
    """Retrain from another initialisation seed."""

    name = "new-initialization"
    label = Label("New initialization", "init", "New init.")
    summary = "the same data and training from another initialisation seed"
    source = PAPER
    needs = "seeds"

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        """Describe models with the seeds that follow the base seed."""
        return [
            Variant("new seed", r, TrainingRecipe(initialisation_seed=base.seed + 1 + r))
            for r in range(self.replicates)
        ]
