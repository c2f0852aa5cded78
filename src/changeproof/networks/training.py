"""The only training there is: recipes in, networks out."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.model import Floats, Integers, Singles
from changeproof.networks import kernels
from changeproof.networks.layout import tile_length, training_tiles
from changeproof.networks.network import Network
from changeproof.networks.stack import NetworkStack

IMPROVEMENT = 1e-6
# Rows of the largest tile: activations then stay in a core's cache.
LARGEST_TILE = 320


@dataclass(frozen=True, eq=False, kw_only=True)
class TrainingRecipe:
    """How one network comes about; it says everything and trains nothing.

    Parameters
    ----------
    initialisation_seed
        Seed of PyTorch's default initialisation.
    hidden
        Widths of the hidden layers.
    optimiser, learning_rate, weight_decay
        Full-batch Adam, or gradient descent with momentum 0.9; decay is coupled L2.
    row_weights
        How often each training row, then each row of the update pool, counts. By default the
        training rows count once and the pool does not.
    labels
        Labels in the same order; by default the task's own.
    max_epochs, patience
        The best epoch on validation is kept; training ends `patience` epochs after it.
    """

    initialisation_seed: int
    hidden: tuple[int, ...] = (32, 32)
    optimiser: Literal["adam", "sgd"] = "adam"
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    row_weights: npt.NDArray[Any] | None = None
    labels: npt.NDArray[Any] | None = None
    max_epochs: int = 300
    patience: int = 30


def recipe_identity(recipe: TrainingRecipe, level: str = "") -> str:
    """Hash all that makes a trained model what it is; `level` names another kind of model."""
    digest = hashlib.sha256(level.encode())
    for field in fields(recipe):
        value = getattr(recipe, field.name)
        plain = value is None or isinstance(value, int | float | str | tuple)
        content = repr(value).encode() if plain else np.asarray(value, np.float32).tobytes()
        digest.update(field.name.encode() + content)
    return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class TrainingData:
    """The rows that recipes weigh: training rows, then the update pool; and validation."""

    rows: Singles
    labels: Singles
    n_train: int
    validation_rows: Singles
    validation_labels: Singles

    @classmethod
    def of(cls, task: Task) -> Self:
        """Return the training data of a task."""
        rows = np.concatenate([task.rows("train"), task.rows("update")])
        labels = np.concatenate([task.labels_of("train"), task.labels_of("update")])
        return cls(
            rows.astype(np.float32),
            labels.astype(np.float32),
            len(task.split.train),
            task.rows("validation").astype(np.float32),
            task.labels_of("validation").astype(np.float32),
        )


class Trained(NamedTuple):
    """Networks in the order of their recipes, with the history of their training."""

    stack: NetworkStack
    best_epochs: Integers
    epochs: Integers
    validation_losses: Floats


def bootstrap_weights(n_rows: int, sampling_seed: int) -> Singles:
    """Return how often each of n rows is drawn in a bootstrap sample of n rows."""
    drawn = np.random.default_rng(sampling_seed).integers(0, n_rows, n_rows)
    return np.bincount(drawn, minlength=n_rows).astype(np.float32)


def train(recipes: Sequence[TrainingRecipe], data: TrainingData) -> Trained:
    """Train a network for every recipe.

    Each network is trained by itself, so the result of a recipe does not depend on the other
    recipes or on their order.
    """
    for recipe in recipes:
        _check(recipe, data)
    outcomes = [_train_one(recipe, data) for recipe in recipes]
    networks, best_epochs, epochs, losses = zip(*outcomes, strict=True) if outcomes else [()] * 4
    return Trained(
        NetworkStack.of(networks),
        np.array(best_epochs, dtype=np.int64),
        np.array(epochs, dtype=np.int64),
        np.array(losses, dtype=np.float64),
    )


def _train_one(recipe: TrainingRecipe, data: TrainingData) -> tuple[Network, int, int, float]:
    """Return the network, its best epoch, the number of epochs and its validation loss."""
    start = Network.initialised(data.rows.shape[1], recipe.hidden, recipe.initialisation_seed)
    parameters, sizes = start.packed(np.float32)
    weights = _row_weights(recipe, data)
    counted = weights > 0
    labels = data.labels if recipe.labels is None else recipe.labels
    length = tile_length(int(counted.sum()), LARGEST_TILE)
    validation = data.validation_rows, data.validation_labels, np.ones(len(data.validation_rows))
    best_epoch, epochs, loss = kernels.train_network(
        parameters[0],
        sizes,
        training_tiles(data.rows[counted], labels[counted], weights[counted], length),
        training_tiles(*validation, tile_length(len(data.validation_rows), LARGEST_TILE)),
        recipe.optimiser == "adam",
        float(recipe.learning_rate),
        float(recipe.weight_decay),
        recipe.max_epochs,
        recipe.patience,
        IMPROVEMENT,
    )
    if best_epoch == 0:
        raise InputError(f"training diverged: no epoch had a finite validation loss ({recipe})")
    return start.with_packed(parameters), best_epoch, epochs, loss


def _row_weights(recipe: TrainingRecipe, data: TrainingData) -> npt.NDArray[Any]:
    if recipe.row_weights is not None:
        return recipe.row_weights
    weights = np.zeros(len(data.rows), np.float32)
    weights[: data.n_train] = 1.0
    return weights


def _check(recipe: TrainingRecipe, data: TrainingData) -> None:
    rows = len(data.rows)
    for what, values in (("row_weights", recipe.row_weights), ("labels", recipe.labels)):
        if values is not None and values.shape != (rows,):
            raise InputError(f"{what} of a recipe must have shape ({rows},); got {values.shape}")
    weights = _row_weights(recipe, data)
    if not (np.isfinite(weights).all() and weights.min() >= 0 and weights.max() > 0):
        raise InputError("row_weights of a recipe must be finite, not negative, and not all zero")
    if any(units < 1 for units in recipe.hidden):
        raise InputError(f"hidden layers must have at least one unit; got {recipe.hidden}")
    if recipe.max_epochs < 1 or recipe.patience < 1:
        raise InputError(
            f"max_epochs and patience must be at least 1; "
            f"got {recipe.max_epochs} and {recipe.patience}"
        )
    if recipe.optimiser not in ("adam", "sgd"):
        raise InputError(f"optimiser must be 'adam' or 'sgd'; got {recipe.optimiser!r}")
