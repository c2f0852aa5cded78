"""Retraining without some of the training rows."""

from __future__ import annotations

from changeproof.changes.family import BaseModel, Label, ReplicatedFamily, Variant, percent
from changeproof.datasets.task import Task
from changeproof.models.learner import Learner
from changeproof.models.retraining import DELETED_SHARES, shortened
from changeproof.plugins import PAPER


class DataDeletion(ReplicatedFamily):
    """Retrain after deleting a share of the training rows at random."""

    name = "data-deletion"
    label = Label("Data deletion", "delete", "Data deletion")
    summary = "retraining after 1, 5 or 10 % of the training rows were deleted"
    source = PAPER

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        """Describe deletions."""
        variants = []
        for share, r in self.shared_out(DELETED_SHARES):
            sampling = base.seed + 20_000 + round(1000 * share) + r
            variants.append(Variant(percent(share), r, shortened(task, share, base.seed, sampling)))
        return variants
