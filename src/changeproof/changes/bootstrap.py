"""Retraining on a bootstrap sample of the training rows."""

from __future__ import annotations

from changeproof.changes.family import BaseModel, Label, ReplicatedFamily, Variant
from changeproof.datasets.task import Task
from changeproof.models.learner import Learner
from changeproof.models.retraining import resampled
from changeproof.plugins import PAPER


class Bootstrap(ReplicatedFamily):
    """Retrain on as many training rows drawn with replacement."""

    name = "bootstrap"
    label = Label("Bootstrap", "boot", "Boot- strap")
    cost = 0.7
    summary = "retraining on a bootstrap sample of the training rows"
    source = PAPER

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        """Describe bootstrap samples."""
        return [
            Variant("resample", r, resampled(task, base.seed, base.seed + 10_000 + r))
            for r in range(self.replicates)
        ]
