"""Training goes on from today's parameters."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
from pydantic import PositiveFloat, PositiveInt

from changeproof.changes.family import (
    REPLICATES,
    BaseModel,
    Label,
    ReplicatedFamily,
    Several,
    Variant,
)
from changeproof.datasets.task import Task
from changeproof.models.learner import Learner
from changeproof.networks.training import TrainingRecipe, bootstrap_weights

# Whether the old rows are trained on as well.
ROWS = {"old and new rows": True, "new rows": False}
EPOCHS = (10, 100)
RATES = (1.0, 0.1)
SEEDS, SEEDS_OF_A_LEVEL = 320_000, 1_000


class FineTuning(ReplicatedFamily):
    """Train the base model further, on old and new rows or on the new ones alone.

    New rows are those of the update pool: all of them, and in further replicates a bootstrap
    sample. The optimiser starts afresh and runs for a fixed number of epochs: the best of them on
    validation rows would mostly be the first, since today's parameters were the best there.

    Parameters
    ----------
    replicates
        How many changed models there are; the levels share them.
    epochs
        For how many epochs training goes on, where the kind of model lets one choose.
    rates
        Learning rates as shares of the base model's, where the kind of model lets one choose.
    """

    name = "fine-tuning"
    label = Label("Fine-tuning", "tune", "Fine- tuning")
    cost = 0.3
    summary = "training goes on from today's parameters, on old and new rows or new ones"
    source = "changeproof, docs/beyond.md"
    needs = "start"

    def __init__(
        self,
        *,
        replicates: PositiveInt = REPLICATES,
        epochs: Several[PositiveInt] = EPOCHS,
        rates: Several[PositiveFloat] = RATES,
    ) -> None:
        super().__init__(replicates=replicates)
        self.epochs = tuple(epochs)
        self.rates = tuple(rates)

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        """Describe continued training: on which rows, at what rate, for how long."""
        variants = []
        levels = list(enumerate(self._levels(base, learner)))
        for (place, (level, old, recipe)), r in self.shared_out(levels):
            arrived = np.ones(len(task.split.update), np.float32)
            if r:
                seed = base.seed + SEEDS + SEEDS_OF_A_LEVEL * place + r
                arrived = bootstrap_weights(len(arrived), seed)
            known = np.full(len(task.split.train), old, np.float32)
            weights = np.concatenate([known, arrived])
            variants.append(Variant(level, r, replace(recipe, row_weights=weights)))
        return variants

    def _levels(self, base: BaseModel, learner: Learner) -> list[tuple[str, bool, TrainingRecipe]]:
        """Return each level's name, whether old rows count, and how training goes on."""
        recipe = TrainingRecipe(initialisation_seed=base.seed, start=base.model)
        if not {"learning_rate", "max_epochs", "keep"} <= learner.traits.follows:
            return [(rows, old, recipe) for rows, old in ROWS.items()]
        recipe = replace(recipe, keep="last")
        return [
            (
                f"{rows} lr={rate * recipe.learning_rate:g} epochs={epochs}",
                old,
                replace(recipe, learning_rate=rate * recipe.learning_rate, max_epochs=epochs),
            )
            for (rows, old), rate, epochs in product(ROWS.items(), self.rates, self.epochs)
        ]
