"""Retraining with other hidden layers, or another kind of model."""

from __future__ import annotations

from changeproof.changes.family import BaseModel, ReplicatedFamily, Variant, alternatives
from changeproof.datasets.task import Task
from changeproof.models.learner import Learner
from changeproof.networks.training import TrainingRecipe

# fmt: off
HIDDEN_LAYERS: tuple[tuple[int, ...], ...] = (
    (8,), (16,), (32,), (64,), (128,),
    (8, 8), (8, 16), (8, 32), (16, 8), (16, 16), (16, 32), (32, 8), (32, 16), (32, 64),
    (64, 16), (64, 32), (64, 64), (128, 32), (128, 64), (128, 128),
    (8, 8, 8), (16, 16, 8), (16, 16, 16), (32, 16, 8), (32, 32, 16),
)
# fmt: on


class Architecture(ReplicatedFamily):
    """Retrain a network of another width or depth, or another kind of model."""

    name = "architecture"
    summary = "another width or depth of the network, or another model, on the same data"

    def reason_against(self, learner: Learner) -> str | None:
        """Say that nothing is known that could take a model's place."""
        if "hidden" in learner.follows or learner.replacements():
            return None
        return f"no models that could replace {learner.name} are known; give replacements"

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        """Describe other hidden layers, then replacements; only these where there are no layers."""
        replacements = alternatives(base, learner.replacements())
        if "hidden" not in learner.follows:
            return self.cycled(replacements, learner)
        layers = [
            Variant(
                "-".join(map(str, hidden)),
                0,
                TrainingRecipe(initialisation_seed=base.seed, hidden=hidden),
            )
            for hidden in HIDDEN_LAYERS
        ]
        return [*self.cycled(layers, learner), *replacements]
