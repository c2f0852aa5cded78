"""The same data and training, another initialisation."""

from __future__ import annotations

from changeproof.changes.family import BaseModel, ReplicatedFamily, Variant
from changeproof.datasets.task import Task
from changeproof.models.learner import Learner
from changeproof.networks.training import TrainingRecipe
from changeproof.references import PAPER


class NewInitialization(ReplicatedFamily):
    """Retrain from another initialisation seed."""

    name = "new-initialization"
    summary = "the same data and training from another initialisation seed"
    source = PAPER

    def reason_against(self, learner: Learner) -> str | None:
        """Say that a model without a seed comes out the same."""
        return None if learner.has_seeds else f"{learner.name} has no seed; it would stay the same"

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        """Describe models with the seeds that follow the base seed."""
        return [
            Variant("new seed", r, TrainingRecipe(initialisation_seed=base.seed + 1 + r))
            for r in range(self.replicates)
        ]
