"""Further choices: advice that differs from what a person was told before in what it asks for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from changeproof.datasets.task import Task
from changeproof.methods.answers import Counterfactuals
from changeproof.model import Booleans, Floats, Integers


def left_alone(
    task: Task, row_ids: Integers, earlier: Sequence[Counterfactuals]
) -> Booleans | None:
    """Return the features [people, features] that people's next piece of advice leaves alone.

    That is the main feature of each of the earlier ones. Whoever has none that the model accepts
    keeps everything. None for the first advice.
    """
    if not earlier:
        return None
    kept = np.zeros((len(row_ids), len(task.features)), dtype=np.bool_)
    for answers in earlier:
        places = {row_id: place for place, row_id in enumerate(answers.row_ids.tolist())}
        order = [places[row_id] for row_id in row_ids.tolist()]
        told = np.where(answers.base_valid[:, None], answers.rows, np.nan)[order]
        kept |= main_features(task, answers.factuals[order], told)
    return kept


def main_features(task: Task, own: Floats, told: Floats) -> Booleans:
    """Return the feature of each row that counts most of its distance; all where there is no row.

    [people, features]
    """
    changes = np.abs(told - own) * task.distance_weights
    parts = np.stack([changes[:, list(f.columns)].sum(axis=1) for f in task.features], axis=1)
    most = parts.argmax(axis=1)[:, None] == np.arange(parts.shape[1])
    return np.asarray(most | np.isnan(parts).any(axis=1)[:, None])
