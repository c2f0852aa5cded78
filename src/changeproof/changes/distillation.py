"""Another model that has learned to answer as the base model does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np
from pydantic import Field, PositiveInt

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
from changeproof.models.learner import Learner
from changeproof.networks.training import TrainingRecipe, bootstrap_weights

# Some of the architecture family's: narrow and wide, one layer and two.
STUDENTS = ((16,), (64,), (16, 16), (64, 64))
SEEDS = 310_000


class Distillation(ReplicatedFamily):
    """Train students on what the base model says of the training rows and the update pool.

    A student learns from the probabilities if its kind can, and else from the decisions. The epoch
    that is kept is chosen by the true labels of the validation rows. Another seed need not give
    another student unless it is one of our networks: other kinds are trained on bootstrap samples,
    all but the first.

    Parameters
    ----------
    replicates
        How many changed models there are; the kinds of students share them.
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
        rows = np.concatenate([task.rows("train"), task.rows("update")])
        probabilities = base.model.probabilities(rows).astype(np.float32)
        decisions = base.model.favourable(rows).astype(np.int8)
        variants = []
        students = self._students(base, learner)
        for student, r, seed in self.with_seeds(students, base.seed + SEEDS):
            kind = student.learner or learner
            weights = np.ones(len(rows), np.float32)
            if r and "hidden" not in kind.traits.follows:
                weights = bootstrap_weights(len(rows), seed)
            assert isinstance(student.change, TrainingRecipe)
            recipe = replace(
                student.change,
                initialisation_seed=seed,
                row_weights=weights,
                labels=probabilities if kind.traits.soft_labels else decisions,
            )
            variants.append(replace(student, replicate=r, change=recipe))
        return variants

    def _students(self, base: BaseModel, learner: Learner) -> list[Variant]:
        """Return students of the same kind, then of other layers, then of other kinds."""
        recipe, replacements = TrainingRecipe(initialisation_seed=base.seed), learner.replacements()
        if "hidden" not in learner.traits.follows:
            students = [Variant("the same kind", 0, recipe)]
        else:
            layers = other_layers(base, self.students)
            students = [Variant("the same layers", 0, recipe), *layers]
        return students + alternatives(base, replacements)
