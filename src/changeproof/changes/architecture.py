"""Retraining with other hidden layers."""

from __future__ import annotations

from changeproof.changes.family import BaseModel, Family, Variant
from changeproof.datasets.task import Task
from changeproof.networks.training import TrainingRecipe

# fmt: off
HIDDEN_LAYERS: tuple[tuple[int, ...], ...] = (
    (8,), (16,), (32,), (64,), (128,),
    (8, 8), (8, 16), (8, 32), (16, 8), (16, 16), (16, 32), (32, 8), (32, 16), (32, 64),
    (64, 16), (64, 32), (64, 64), (128, 32), (128, 64), (128, 128),
    (8, 8, 8), (16, 16, 8), (16, 16, 16), (32, 16, 8), (32, 32, 16),
)
# fmt: on


class Architecture(Family):
    """Retrain a network of another width or depth."""

    name = "architecture"
    summary = "another width or depth of the network on the same data"

    def variants(self, task: Task, base: BaseModel) -> list[Variant]:
        """Describe 25 architectures."""
        return [
            Variant(
                "-".join(map(str, hidden)),
                0,
                TrainingRecipe(initialisation_seed=base.seed, hidden=hidden),
            )
            for hidden in HIDDEN_LAYERS
        ]
