"""Retraining with rows of the update pool added."""

from __future__ import annotations

import numpy as np

from changeproof.changes.family import BaseModel, ReplicatedFamily, Variant, percent
from changeproof.datasets.task import Task
from changeproof.models.learner import Learner
from changeproof.networks.training import TrainingRecipe

SHARES = (0.25, 0.50, 0.75)
# There is one way to add the whole pool.
WHOLE = (1.00, 0)


class DataAddition(ReplicatedFamily):
    """Retrain on the training rows and a share of the reserved update pool."""

    name = "data-addition"
    summary = "retraining with 25, 50, 75 or 100 % of the update pool added"

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        """Describe additions."""
        n_train, n_pool = len(task.split.train), len(task.split.update)
        variants = []
        for share, r in [*self.shared_out(SHARES, besides=1), WHOLE]:
            generator = np.random.default_rng(base.seed + 30_000 + round(1000 * share) + r)
            added = generator.choice(n_pool, round(share * n_pool), replace=False)
            weights = np.zeros(n_train + n_pool, np.float32)
            weights[:n_train] = 1.0
            weights[n_train + added] = 1.0
            recipe = TrainingRecipe(initialisation_seed=base.seed, row_weights=weights)
            variants.append(Variant(percent(share), r, recipe))
        return variants
