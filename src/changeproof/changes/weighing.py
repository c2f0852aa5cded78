"""Retraining with weights of the training rows, for models that take them and others."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from changeproof.changes.family import BaseModel
from changeproof.datasets.task import Task
from changeproof.model import Floats
from changeproof.models.learner import Learner
from changeproof.models.retraining import without_pool
from changeproof.networks.training import TrainingRecipe


def weighed(
    task: Task, base: BaseModel, learner: Learner, weights: Floats, seed: int, *, drawn: bool
) -> TrainingRecipe:
    """Train on the training rows with weights, from the base model's initialisation.

    If they are to be drawn, or where a model cannot weigh rows, on as many rows that `seed` draws
    in proportion to the weights.
    """
    counts: npt.NDArray[Any] = weights
    if drawn or not learner.traits.weighs_rows:
        rows = len(weights)
        places = np.random.default_rng(seed).choice(rows, rows, p=weights / weights.sum())
        counts = np.bincount(places, minlength=rows)
    return TrainingRecipe(initialisation_seed=base.seed, row_weights=without_pool(task, counts))
