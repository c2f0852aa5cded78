"""Who asks for recourse: rows that the base model predicts adverse."""

from __future__ import annotations

import pandas as pd

from changeproof.datasets.task import Part, Task
from changeproof.methods.method import Factuals
from changeproof.networks.model import Model

FACTUAL_OFFSET = 30_000
TUNING_OFFSET = 70_000
TUNING_ROWS = 25


def evaluation_factuals(task: Task, model: Model, base_seed: int, limit: int) -> Factuals:
    """Draw up to `limit` adverse test rows; the same ones, in the same order, for all methods."""
    return _adverse_sample(task, "test", model, limit, base_seed + FACTUAL_OFFSET)


def tuning_factuals(task: Task, model: Model, base_seed: int) -> Factuals:
    """Draw up to 25 adverse validation rows for tuning."""
    return _adverse_sample(task, "validation", model, TUNING_ROWS, base_seed + TUNING_OFFSET)


def _adverse_sample(task: Task, part: Part, model: Model, limit: int, seed: int) -> Factuals:
    rows = task.rows(part)
    adverse = ~model.favourable(rows)
    positions = pd.Series(range(len(rows)), index=task.row_ids(part))[adverse]
    drawn = positions.sample(n=min(limit, len(positions)), random_state=seed)
    return Factuals(drawn.index.to_numpy(), rows[drawn.to_numpy()])
