"""Probabilities fitted again to outcomes, with the same model behind them."""

from __future__ import annotations

from changeproof.changes.family import BaseModel, Label, ReplicatedFamily, Variant
from changeproof.datasets.task import Task
from changeproof.model import Integers
from changeproof.models.altered import adjusted, fitted_isotonic, fitted_platt, model_logits
from changeproof.models.learner import Learner
from changeproof.randomness import stream

PLATT, ISOTONIC = "Platt", "isotonic"


class Recalibration(ReplicatedFamily):
    """Calibrate the model on validation rows, by Platt scaling or by isotonic regression.

    The first of each kind is fitted on the validation rows, the others on bootstrap samples of
    them. Where a fit is of no use, the logits are only shifted (see `fitted_platt`).

    Parameters
    ----------
    replicates
        How many changed models there are, of both kinds together.
    """

    name = "recalibration"
    label = Label("Recalibration", "recal", "Recali- bration")
    summary = "the same model calibrated again on validation rows, by Platt or isotonic scaling"
    source = "changeproof, docs/beyond.md"
    trains = False

    def reason_against(self, learner: Learner) -> str | None:
        """Say that calibrated probabilities would be compared with a half."""
        if learner.traits.decides_at_half:
            return None
        return f"calibrated models decide at 0.5, and {learner.name} decides at another threshold"

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        """Fit calibrations."""
        rows, labels = task.rows("validation"), task.labels_of("validation")
        given, logits = base.model.probabilities(rows), model_logits(base.model, rows)
        variants = []
        for kind, r in self.shared_out((PLATT, ISOTONIC)):
            drawn = slice(None) if r == 0 else _drawn(task, base, kind, r)
            if kind == PLATT:
                fitted = fitted_platt(logits[drawn], labels[drawn])
            else:
                fitted = fitted_isotonic(given[drawn], logits[drawn], labels[drawn])
            variants.append(Variant(kind, r, adjusted(base.model, fitted)))
        return variants


def _drawn(task: Task, base: BaseModel, kind: str, replicate: int) -> Integers:
    """Return the positions of a bootstrap sample of the validation rows."""
    generator = stream(task.name, base.seed, "recalibration", kind, replicate)
    rows = len(task.split.validation)
    return generator.integers(0, rows, rows)
