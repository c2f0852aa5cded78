"""Retraining without some of the training rows."""

from __future__ import annotations

import numpy as np

from changeproof.changes.family import BaseModel, ReplicatedFamily, Variant, percent, with_pool
from changeproof.datasets.task import Task
from changeproof.models.learner import Learner
from changeproof.networks.training import TrainingRecipe

SHARES = (0.01, 0.05, 0.10)


class DataDeletion(ReplicatedFamily):
    """Retrain after deleting a share of the training rows at random."""

    name = "data-deletion"
    summary = "retraining after 1, 5 or 10 % of the training rows were deleted"

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        """Describe deletions."""
        n_train = len(task.split.train)
        variants = []
        for share, r in self.shared_out(SHARES):
            generator = np.random.default_rng(base.seed + 20_000 + round(1000 * share) + r)
            kept = generator.choice(n_train, round((1 - share) * n_train), replace=False)
            weights = np.zeros(n_train)
            weights[kept] = 1.0
            recipe = TrainingRecipe(
                initialisation_seed=base.seed, row_weights=with_pool(task, weights)
            )
            variants.append(Variant(percent(share), r, recipe))
        return variants
