"""Retraining after some labels were flipped."""

from __future__ import annotations

from changeproof.changes.family import BaseModel, Label, ReplicatedFamily, Variant, percent
from changeproof.datasets.task import Task
from changeproof.models.learner import Learner
from changeproof.models.retraining import FLIPPED_SHARES, relabelled
from changeproof.plugins import PAPER


class LabelUpdate(ReplicatedFamily):
    """Retrain after flipping a share of the training labels at random."""

    name = "label-update"
    label = Label("Label update", "labels", "Label update")
    summary = "retraining after 1, 5 or 10 % of the training labels were flipped"
    source = PAPER

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        """Describe label updates."""
        variants = []
        for share, r in self.shared_out(FLIPPED_SHARES):
            sampling = base.seed + 40_000 + round(1000 * share) + r
            variants.append(
                Variant(percent(share), r, relabelled(task, share, base.seed, sampling))
            )
        return variants
