"""Models that begin with the base model: with its parameters, or with its answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Annotated

import numpy as np
from pydantic import Field, PositiveFloat, PositiveInt

from changeproof.changes.family import (
    REPLICATES,
    BaseModel,
    Label,
    ReplicatedFamily,
    Several,
    Variant,
    alternatives,
    other_layers,
)
from changeproof.datasets.task import Task
from changeproof.model import Floats, Model, Singles
from changeproof.models.learner import Learner
from changeproof.networks.network import Network
from changeproof.networks.training import TrainingRecipe, bootstrap_weights

# Some of the architecture family's: narrow and wide, one layer and two.
STUDENTS = ((16,), (64,), (16, 16), (64, 64))
# Whether the old rows are trained on as well.
ROWS = {"old and new rows": True, "new rows": False}
DISTILLATION_SEEDS, TUNING_SEEDS = 310_000, 320_000


class Distillation(ReplicatedFamily):
    """Train students on what the base model says of the training rows and the update pool.

    A student learns from the probabilities if its kind can, of all classes where the base model is
    a network of several, and else from the decisions. The epoch that is kept is chosen by the true
    labels of the validation rows. Another seed need not give another student unless it is one of
    our networks: other kinds are trained on bootstrap samples, all but the first.

    Parameters
    ----------
    students
        Hidden layers of students besides those of the base network. Models of another kind are
        taught to themselves, and all kinds also to their replacements.
    """

    name = "distillation"
    label = Label("Distillation", "distil", "Distil- lation")
    cost = 1.8
    summary = "another model trained on the base model's probabilities, or on its decisions"
    source = "changeproof, docs/beyond.md"

    def __init__(
        self,
        *,
        replicates: PositiveInt = REPLICATES,
        students: Several[Annotated[Sequence[PositiveInt], Field(min_length=1)]] = STUDENTS,
    ) -> None:
        super().__init__(replicates=replicates)
        self.students = tuple(tuple(hidden) for hidden in students)

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        """Describe students of the same kind, then of other layers, then of other kinds."""
        recipe = TrainingRecipe(initialisation_seed=base.seed)
        if "hidden" in learner.traits.follows:
            layers = other_layers(base, self.students)
            students = [Variant("the same layers", 0, recipe), *layers]
        else:
            students = [Variant("the same kind", 0, recipe)]
        students += alternatives(base, learner.replacements())
        rows = np.concatenate([task.rows("train"), task.rows("update")])
        probabilities = taught(base.model, rows)
        decisions = base.model.favourable(rows).astype(np.int8)
        variants = []
        for student, r, seed in self.with_seeds(students, base.seed + DISTILLATION_SEEDS):
            traits = (student.learner or learner).traits
            resampled = r and "hidden" not in traits.follows
            assert isinstance(student.change, TrainingRecipe)
            recipe = replace(
                student.change,
                initialisation_seed=seed,
                row_weights=bootstrap_weights(len(rows), seed)
                if resampled
                else np.ones(len(rows), np.float32),
                labels=probabilities if traits.soft_labels else decisions,
            )
            variants.append(replace(student, replicate=r, change=recipe))
        return variants


def taught(model: Model, rows: Floats) -> Singles:
    """Return the probabilities that a student hears: of a network of several classes, those of all.

    [rows], or [rows, classes].
    """
    if not isinstance(model, Network) or not model.sides.several:
        return model.probabilities(rows).astype(np.float32)
    return model.class_probabilities(rows).astype(np.float32)


class FineTuning(ReplicatedFamily):
    """Train the base model further, on old and new rows or on the new ones alone.

    New rows are those of the update pool: all of them, and in further replicates a bootstrap
    sample. The optimiser starts afresh and runs for a fixed number of epochs: the best of them on
    validation rows would mostly be the first, since today's parameters were the best there.

    Parameters
    ----------
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
        epochs: Several[PositiveInt] = (10, 100),
        rates: Several[PositiveFloat] = (1.0, 0.1),
    ) -> None:
        super().__init__(replicates=replicates)
        self.epochs, self.rates = tuple(epochs), tuple(rates)

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        variants, n_new = [], len(task.split.update)
        levels = self._levels(base, learner)
        for (level, old, recipe), r, seed in self.with_seeds(levels, base.seed + TUNING_SEEDS):
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
        levels = []
        for (rows, old), share, epochs in product(ROWS.items(), self.rates, self.epochs):
            rate = share * recipe.learning_rate
            tuned = replace(recipe, learning_rate=rate, max_epochs=epochs, keep="last")
            levels.append((f"{rows} lr={rate:g} epochs={epochs}", old, tuned))
        return levels
