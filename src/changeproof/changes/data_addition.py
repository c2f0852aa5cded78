"""Retraining with rows of the update pool added."""

from __future__ import annotations

from changeproof.changes.family import BaseModel, Label, ReplicatedFamily, Variant, percent
from changeproof.datasets.task import Task
from changeproof.models.learner import Learner
from changeproof.models.retraining import ADDED_SHARES, extended
from changeproof.plugins import PAPER

# There is one way to add the whole pool.
WHOLE = (1.00, 0)


class DataAddition(ReplicatedFamily):
    """Retrain on the training rows and a share of the reserved update pool."""

    name = "data-addition"
    label = Label("Data addition", "add", "Data addition")
    summary = "retraining with 25, 50, 75 or 100 % of the update pool added"
    source = PAPER

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        """Describe additions."""
        variants = []
        for share, r in [*self.shared_out(ADDED_SHARES, besides=1), WHOLE]:
            sampling = base.seed + 30_000 + round(1000 * share) + r
            variants.append(Variant(percent(share), r, extended(task, share, base.seed, sampling)))
        return variants
