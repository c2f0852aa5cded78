"""Small random changes of the parameters, without any retraining."""

from __future__ import annotations

from changeproof.changes.family import BaseModel, Label, ReplicatedFamily, Variant
from changeproof.datasets.task import Task
from changeproof.models.learner import Learner
from changeproof.models.retraining import RADII
from changeproof.plugins import PAPER


class ParameterPerturbation(ReplicatedFamily):
    """Move every parameter a little; the largest move equals the radius."""

    name = "parameter-perturbation"
    label = Label("Parameter perturbation", "param", "Param. perturb.")
    summary = "every parameter moved at random, at most by a radius of 0.001 to 0.05"
    source = PAPER
    trains = False
    needs = "parameters"

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        """Return random directions at each of five radii."""
        return [
            Variant(
                f"{radius:g}",
                r,
                learner.perturbed(base.model, radius, perturbation_seed(base.seed, radius, r)),
            )
            for radius, r in self.shared_out(RADII)
        ]


def perturbation_seed(base_seed: int, radius: float, replicate: int) -> int:
    """Return the seed of a random direction."""
    return base_seed + 80_000 + round(1e6 * radius) + replicate
