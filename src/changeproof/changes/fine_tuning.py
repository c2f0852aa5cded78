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
SEEDS = 320_000


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
        self.epochs, self.rates = tuple(epochs), tuple(rates)

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        variants, n_new = [], len(task.split.update)
        levels = self._levels(base, learner)
        for (level, old, recipe), r, seed in self.with_seeds(levels, base.seed + SEEDS):
            new_rows = bootstrap_weights(n_new, seed) if r else np.ones(n_new, np.float32)
            old_rows = np.full(len(task.split.train), old, np.float32)
            weights = np.concatenate([old_rows, new_rows])
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
