"""Retraining on a bootstrap sample of the training rows."""

from __future__ import annotations

from changeproof.changes.family import BaseModel, Family, Variant, with_pool
from changeproof.datasets.task import Task
from changeproof.networks.training import TrainingRecipe, bootstrap_weights


class Bootstrap(Family):
    """Retrain on as many training rows drawn with replacement."""

    name = "bootstrap"
    summary = "retraining on a bootstrap sample of the training rows"

    def variants(self, task: Task, base: BaseModel) -> list[Variant]:
        """Describe 25 bootstrap samples."""
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
            for r in range(25)
        ]
