"""Retraining on a bootstrap sample of the training rows."""

from __future__ import annotations

from changeproof.changes.family import BaseModel, ReplicatedFamily, Variant, with_pool
from changeproof.datasets.task import Task
from changeproof.models.learner import Learner
from changeproof.networks.training import TrainingRecipe, bootstrap_weights


class Bootstrap(ReplicatedFamily):
    """Retrain on as many training rows drawn with replacement."""

    name = "bootstrap"
    summary = "retraining on a bootstrap sample of the training rows"

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        """Describe bootstrap samples."""
        n_train = len(task.split.train)
        return [
            Variant(
                "resample",
                r,
                TrainingRecipe(
                    initialisation_seed=base.seed,
                    row_weights=with_pool(task, bootstrap_weights(n_train, base.seed + 10_000 + r)),
                ),
            )
            for r in range(self.replicates)
        ]
