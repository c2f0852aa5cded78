"""Who asks for recourse, and which changed models accept what they got."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from changeproof.datasets.split import Part
from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.methods.answers import Counterfactuals
from changeproof.methods.method import Factuals
from changeproof.model import Booleans, Model, Stack

FACTUAL_OFFSET = 30_000
TUNING_OFFSET = 70_000
TUNING_ROWS = 25


def evaluation_factuals(task: Task, model: Model, base_seed: int, limit: int) -> Factuals:
    """Draw up to `limit` adverse test rows; the same ones, in the same order, for all methods."""
    return _adverse_sample(task, "test", model, limit, base_seed + FACTUAL_OFFSET)


def named_factuals(task: Task, row_ids: Sequence[int]) -> Factuals:
    """Return people by their row ids, from any part of the data."""
    positions = pd.Series(range(len(task.frame)), index=task.frame.index)
    unknown = [row for row in row_ids if row not in positions.index]
    if unknown:
        raise InputError(f"task {task.name!r} has no row {unknown[0]}")
    chosen = positions.loc[list(row_ids)]
    rows = task.standardise(task.frame.iloc[chosen.to_numpy()])
    return Factuals(chosen.index.to_numpy(dtype="int64"), rows)


def tuning_factuals(task: Task, model: Model, base_seed: int) -> Factuals:
    return _adverse_sample(task, "validation", model, TUNING_ROWS, base_seed + TUNING_OFFSET)


def _adverse_sample(task: Task, part: Part, model: Model, limit: int, seed: int) -> Factuals:
    rows = task.rows(part)
    adverse = ~model.favourable(rows)
    positions = pd.Series(range(len(rows)), index=task.row_ids(part))[adverse]
    drawn = positions.sample(n=min(limit, len(positions)), random_state=seed)
    return Factuals(drawn.index.to_numpy(), rows[drawn.to_numpy()], np.arange(len(drawn)))


def survival(answers: Counterfactuals, stack: Stack) -> Booleans:
    """Return [requests, models]: whether the counterfactual is favourable under the model.

    A request without a counterfactual survives nothing.
    """
    result = np.zeros((len(answers), len(stack)), dtype=np.bool_)
    found = answers.found
    if found.any():
        result[found] = stack.favourable(answers.rows[found]).T
    return result
