"""Retraining after some labels were flipped."""

from __future__ import annotations

import numpy as np

from changeproof.changes.family import BaseModel, ReplicatedFamily, Variant, percent
from changeproof.datasets.task import Task
from changeproof.models.learner import Learner
from changeproof.networks.training import TrainingRecipe

SHARES = (0.01, 0.05, 0.10)


class LabelUpdate(ReplicatedFamily):
    """Retrain after flipping a share of the training labels at random."""

    name = "label-update"
    summary = "retraining after 1, 5 or 10 % of the training labels were flipped"

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        """Describe label updates."""
        n_train = len(task.split.train)
        original = np.concatenate([task.labels_of("train"), task.labels_of("update")])
        variants = []
        for share, r in self.shared_out(SHARES):
            generator = np.random.default_rng(base.seed + 40_000 + round(1000 * share) + r)
            flipped = generator.choice(n_train, round(share * n_train), replace=False)
            labels = original.copy()
            labels[flipped] = 1 - labels[flipped]
            recipe = TrainingRecipe(initialisation_seed=base.seed, labels=labels)
            variants.append(Variant(percent(share), r, recipe))
        return variants
