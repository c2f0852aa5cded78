"""Ways in which a model may be trained again, as recipes.

The families of `changes` take their recipes from here, with the protocol's seeds; methods that
train models of their own do so with seeds that no changed model has.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from changeproof.datasets.task import Task
from changeproof.model import Singles
from changeproof.networks.training import TrainingRecipe, bootstrap_weights

DELETED_SHARES = (0.01, 0.05, 0.10)
FLIPPED_SHARES = (0.01, 0.05, 0.10)
# Of the update pool; there is one way to add the whole of it.
ADDED_SHARES = (0.25, 0.50, 0.75)
# fmt: off
HIDDEN_LAYERS: tuple[tuple[int, ...], ...] = (
    (8,), (16,), (32,), (64,), (128,),
    (8, 8), (8, 16), (8, 32), (16, 8), (16, 16), (16, 32), (32, 8), (32, 16), (32, 64),
    (64, 16), (64, 32), (64, 64), (128, 32), (128, 64), (128, 128),
    (8, 8, 8), (16, 16, 8), (16, 16, 16), (32, 16, 8), (32, 32, 16),
)
# fmt: on
ADAM_LEARNING_RATES = (2.5e-4, 5e-4, 1e-3, 2e-3, 4e-3)
ADAM_WEIGHT_DECAYS = (0.0, 1e-5, 1e-4, 1e-3)
BASE_SETTING = (1e-3, 0.0)
SGD_LEARNING_RATES = (0.01, 0.03)
SGD_WEIGHT_DECAYS = (0.0, 1e-4, 1e-3)
RADII = (0.001, 0.005, 0.01, 0.02, 0.05)


def resampled(task: Task, initialisation: int, sampling: int) -> TrainingRecipe:
    """Train on a bootstrap sample of the training rows."""
    weights = bootstrap_weights(len(task.split.train), sampling)
    return TrainingRecipe(
        initialisation_seed=initialisation, row_weights=without_pool(task, weights)
    )


def shortened(task: Task, share: float, initialisation: int, sampling: int) -> TrainingRecipe:
    """Train without a share of the training rows."""
    n_train = len(task.split.train)
    generator = np.random.default_rng(sampling)
    weights = np.zeros(n_train)
    weights[generator.choice(n_train, round((1 - share) * n_train), replace=False)] = 1.0
    return TrainingRecipe(
        initialisation_seed=initialisation, row_weights=without_pool(task, weights)
    )


def extended(task: Task, share: float, initialisation: int, sampling: int) -> TrainingRecipe:
    """Train on the training rows and a share of the update pool."""
    n_train, n_pool = len(task.split.train), len(task.split.update)
    generator = np.random.default_rng(sampling)
    weights = np.zeros(n_train + n_pool, np.float32)
    weights[:n_train] = 1.0
    weights[n_train + generator.choice(n_pool, round(share * n_pool), replace=False)] = 1.0
    return TrainingRecipe(initialisation_seed=initialisation, row_weights=weights)


def relabelled(task: Task, share: float, initialisation: int, sampling: int) -> TrainingRecipe:
    """Train after flipping a share of the training labels."""
    n_train = len(task.split.train)
    labels = np.concatenate([task.labels_of("train"), task.labels_of("update")])
    generator = np.random.default_rng(sampling)
    flipped = generator.choice(n_train, round(share * n_train), replace=False)
    labels[flipped] = 1 - labels[flipped]
    return TrainingRecipe(initialisation_seed=initialisation, labels=labels)


def reconfigured(initialisation: int) -> list[TrainingRecipe]:
    """Train with 19 other settings of Adam, and 6 of gradient descent."""
    adam = [
        TrainingRecipe(initialisation_seed=initialisation, learning_rate=rate, weight_decay=decay)
        for rate in ADAM_LEARNING_RATES
        for decay in ADAM_WEIGHT_DECAYS
        if (rate, decay) != BASE_SETTING
    ]
    sgd = [
        TrainingRecipe(
            initialisation_seed=initialisation,
            optimiser="sgd",
            learning_rate=rate,
            weight_decay=decay,
        )
        for rate in SGD_LEARNING_RATES
        for decay in SGD_WEIGHT_DECAYS
    ]
    return adam + sgd


def without_pool(task: Task, train_weights: npt.NDArray[Any]) -> Singles:
    """Extend weights of the training rows by an update pool that does not count."""
    pool = np.zeros(len(task.split.update), np.float32)
    return np.concatenate([train_weights.astype(np.float32), pool])
