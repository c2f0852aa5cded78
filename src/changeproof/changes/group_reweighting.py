"""Retraining with weights that make groups equally often favourable."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import PositiveInt

from changeproof.changes.family import REPLICATES, BaseModel, Label, ReplicatedFamily, Variant
from changeproof.datasets.task import Task
from changeproof.errors import InputError, unknown
from changeproof.model import Floats, Integers
from changeproof.models.learner import Learner
from changeproof.models.recipes import weighted_recipe

SEEDS = 340_000


class GroupReweighting(ReplicatedFamily):
    """Retrain with Kamiran and Calders' weights, under which groups have the same base rate.

    A row counts P(group) P(label) / P(group, label), so that label and group are independent in the
    weighted training rows. The first replicate of a grouping has these weights. The others, and
    models that cannot weigh rows, are trained on as many rows drawn in proportion to them. All keep
    the base model's initialisation.

    Parameters
    ----------
    replicates
        How many changed models there are; the groupings share them.
    by
        A column beside the features, or a feature, that makes the groups: categories as they are,
        numbers at or above their median and below. By default the features one after the other.
    """

    name = "group-reweighting"
    label = Label("Group reweighting", "groups", "Group weights")
    summary = "retraining with row weights under which groups are favourable equally often"
    source = "changeproof, docs/beyond.md"

    def __init__(self, *, replicates: PositiveInt = REPLICATES, by: str = "") -> None:
        super().__init__(replicates=replicates)
        self.by = by

    def reason_against_task(self, task: Task) -> str | None:
        if self._groupings(task):
            return None
        what = f"{self.by} makes" if self.by else "the features make"
        return f"{what} no groups of {task.name} that differ in how often they are favourable"

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        if reason := self.reason_against_task(task):
            raise InputError(reason)
        variants, groupings = [], self._groupings(task).items()
        for (name, weights), r, seed in self.with_seeds(groupings, base.seed + SEEDS, apart=100):
            sampling = None if r == 0 and learner.traits.weighs_rows else seed
            recipe = weighted_recipe(task, weights, base.seed, sampling)
            variants.append(Variant(name, r, recipe))
        return variants

    def _groupings(self, task: Task) -> dict[str, Floats]:
        """Return the weights of the training rows for each grouping."""
        labels = task.labels_of("train")
        values = task.decoded(task.rows("train"))
        beside = task.beside.iloc[task.split.train]
        if self.by in beside.columns:
            values = beside
        elif self.by and self.by not in values.columns:
            raise unknown("group", self.by, [*map(str, beside.columns), *values.columns])
        found = {
            str(name): reweighing(groups_of(values[name]), labels)
            for name in ([self.by] if self.by else values.columns)
        }
        return {name: weights for name, weights in found.items() if np.ptp(weights) > 0.0}


def groups_of(values: pd.Series[Any]) -> Integers:
    """Return the group of each value: categories as they are, numbers by their median.

    Numbers at or above the median are a group; those above it, if nothing is below. So are people
    of whom nothing is known.
    """
    known = values.notna().to_numpy()
    kinds = values[known].infer_objects()
    names = values.astype(str).to_numpy(dtype=str)
    if pd.api.types.is_numeric_dtype(kinds.dtype) and not pd.api.types.is_bool_dtype(kinds.dtype):
        numbers = kinds.to_numpy(dtype=np.float64)
        middle = np.median(numbers)
        upper = numbers >= middle if (numbers < middle).any() else numbers > middle
        names[known] = np.where(upper, "upper", "lower")
    _, groups = np.unique(names, return_inverse=True)
    return groups.astype(np.int64)


def reweighing(groups: Integers, labels: npt.NDArray[np.int8]) -> Floats:
    """Return P(group) P(label) / P(group, label) of every row."""
    rows, counts = len(labels), np.zeros((groups.max() + 1, 2))
    np.add.at(counts, (groups, labels), 1.0)
    expected = counts.sum(axis=1)[:, None] * counts.sum(axis=0) / rows
    return np.asarray(expected[groups, labels] / counts[groups, labels])
