"""The only training there is: recipes in, networks out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from changeproof.datasets.classes import Classes
from changeproof.datasets.split import Part
from changeproof.datasets.task import Task
from changeproof.errors import InputError, described
from changeproof.model import Floats, Integers, Model, Singles
from changeproof.networks import kernels
from changeproof.networks.layout import (
    SMALL_BLOCK,
    Tiles,
    by_row,
    padded,
    tile_length,
    training_tiles,
)
from changeproof.networks.network import ONE_OUTPUT, Network, Sides
from changeproof.networks.stack import NetworkStack
from changeproof.randomness import stream

# The hidden layers of the protocol's base network.
HIDDEN = (32, 32)
IMPROVEMENT = 1e-6
# How far the shares of classes may be from adding up to one.
SHARES_ADD_UP = 1e-3
# Rows of the largest tile: activations then stay in a core's cache.
LARGEST_TILE = 320
# Rows that one step learns from, and that validation looks at, at most.
LARGEST_BATCH = 20_000


@dataclass(frozen=True, eq=False, kw_only=True)
class TrainingRecipe:
    """How one network is trained: a complete description, which trains nothing itself.

    Parameters
    ----------
    initialisation_seed
        Seed of PyTorch's default initialisation.
    hidden
        Widths of the hidden layers; by default those of the base network.
    optimiser, learning_rate, weight_decay
        Full-batch Adam, or gradient descent with momentum 0.9; decay is coupled L2. A step learns
        from 20,000 rows at most: a longer table is gone through batch by batch, in an order that
        is drawn once and is the same for all networks.
    row_weights
        How often each training row, then each row of the update pool, counts. By default the
        training rows count once and the pool does not.
    labels
        Labels in the same order; by default the task's own. A label between 0 and 1 is the share
        of such people that are favourable. Where a task has several classes, labels may also be
        the shares of each [rows, classes], in the order of `Task.classes`. Of labels that are not,
        those that are the task's own stand for its classes, and others for the usual class of
        their side.
    max_epochs, patience, keep
        An epoch is a pass over the rows: one step, or one per batch of a longer table. After every
        step the loss on validation (20,000 rows at most) is taken. The best step is kept; training
        ends `patience` steps after it. With `keep` at "last", all are run and the last is kept.
    start
        The model whose parameters training begins with, of its own widths; by default a new
        initialisation.
    """

    initialisation_seed: int
    hidden: tuple[int, ...] | None = None
    optimiser: Literal["adam", "sgd"] = "adam"
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    row_weights: npt.NDArray[Any] | None = None
    labels: npt.NDArray[Any] | None = None
    max_epochs: int = 300
    patience: int = 30
    keep: Literal["best", "last"] = "best"
    start: Model | None = None


@dataclass(frozen=True, eq=False)
class TrainingData:
    """The rows that recipes weigh: training rows, then the update pool; and validation.

    Labels are [rows], or the shares of several classes [rows, classes].
    """

    rows: Singles
    labels: Singles
    n_train: int
    validation_rows: Singles
    validation_labels: Singles
    sides: Sides = ONE_OUTPUT

    @classmethod
    def of(cls, task: Task, classes: Classes | None = None) -> Self:
        """Return the training data of a task, with labels or with the shares of its classes."""
        parts: tuple[Part, ...] = ("train", "update", "validation")
        *known, held_out = (task.rows(part).astype(np.float32) for part in parts)
        *labels, held_out_labels = (
            (
                task.labels_of(part)
                if classes is None
                else classes.shares(getattr(task.split, part))
            ).astype(np.float32)
            for part in parts
        )
        together = np.concatenate(known), np.concatenate(labels)
        sides = ONE_OUTPUT if classes is None else Sides(classes.n_adverse, len(classes))
        return cls(*together, len(known[0]), held_out, held_out_labels, sides)

    @cached_property
    def order(self) -> Integers:
        """The order in which batches go through the rows, where these are many.

        It is the same for all networks, so that it tells none of them from another.
        """
        return stream("batches", "training", len(self.rows)).permutation(len(self.rows))

    @cached_property
    def mixed_rows(self) -> Singles:
        """The rows in that order: gathered from all over a long table, a batch takes longer."""
        return self.rows[self.order]

    @cached_property
    def validation_tiles(self) -> Tiles:
        rows, labels = self.validation_rows, self.validation_labels
        if len(rows) > LARGEST_BATCH:
            some = stream("batches", "validation", len(rows)).permutation(len(rows))
            rows, labels = rows[some[:LARGEST_BATCH]], labels[some[:LARGEST_BATCH]]
        length = tile_length(len(rows), LARGEST_TILE)
        return training_tiles(rows, labels, np.ones(len(rows)), length)


class Trained(NamedTuple):
    """Networks in the order of their recipes, with the history of their training.

    Epochs are counted in steps; see `TrainingRecipe`.
    """

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
    """Also return the best epoch, the number of epochs and the validation loss."""
    start = _start(recipe, data)
    parameters, sizes = start.packed(np.float32)
    training, supply = _batches(recipe, data)
    best_epoch, epochs, loss = kernels.train_network(
        parameters[0],
        sizes,
        training,
        supply,
        data.validation_tiles,
        recipe.optimiser == "adam",
        float(recipe.learning_rate),
        float(recipe.weight_decay),
        steps_of(recipe, supply.order.size),
        recipe.patience,
        # Then every epoch counts as an improvement on the one before.
        IMPROVEMENT if recipe.keep == "best" else -np.inf,
    )
    if best_epoch == 0:
        raise InputError(f"training diverged: no epoch had a finite validation loss ({recipe})")
    return start.with_packed(parameters), best_epoch, epochs, loss


def update(
    network: Network, rows: Floats, labels: npt.NDArray[Any], *, learning_rate: float, batch: int
) -> Network:
    """Return the network after one pass of mini-batch Adam over the rows, in their order."""
    parameters, sizes = network.packed(np.float32)
    length, weights = padded(batch, SMALL_BLOCK), np.ones(len(rows))
    tiles = training_tiles(rows, labels, weights, length, filled=batch)
    kernels.update_network(parameters[0], sizes, tiles, float(learning_rate))
    return network.with_packed(parameters)


def steps_of(recipe: TrainingRecipe, n_rows: int) -> int:
    """Return how many steps a recipe takes: one per epoch, or one per batch of many rows."""
    return max(recipe.max_epochs, math.ceil(recipe.max_epochs * n_rows / LARGEST_BATCH))


def _batches(recipe: TrainingRecipe, data: TrainingData) -> tuple[Tiles, kernels.Supply]:
    """Return all rows that count, laid out; or, where these are many, room for a batch of them."""
    labels = data.labels if recipe.labels is None else recipe.labels
    weights: npt.NDArray[Any] = usual_weights(data.n_train, len(data.rows) - data.n_train)
    weights = weights if recipe.row_weights is None else recipe.row_weights
    rows, counted = data.rows, np.flatnonzero(weights > 0)
    size, order = min(len(counted), LARGEST_BATCH), np.zeros(0, dtype=np.int64)
    if size < len(counted):
        rows, labels, weights = data.mixed_rows, labels[data.order], weights[data.order]
        order = np.flatnonzero(weights > 0)
        counted = order[:size]
    length = tile_length(size, LARGEST_TILE)
    tiles = training_tiles(rows[counted], labels[counted], weights[counted], length)
    rows, labels, weights = (
        np.ascontiguousarray(each, dtype=np.float32) for each in (rows, by_row(labels), weights)
    )
    return tiles, kernels.Supply(rows, labels, weights, order, size)


def _start(recipe: TrainingRecipe, data: TrainingData) -> Network:
    start, n_features = recipe.start, data.rows.shape[1]
    if start is None:
        hidden = HIDDEN if recipe.hidden is None else recipe.hidden
        return Network.initialised(n_features, hidden, recipe.initialisation_seed, data.sides)
    if not isinstance(start, Network):
        raise InputError(f"training can start from one of our own networks; got {described(start)}")
    if start.n_features != n_features:
        raise InputError(
            f"training cannot start from a network of {start.n_features} features; "
            f"expected {n_features}"
        )
    if start.sides != data.sides:
        raise InputError(
            f"training cannot start from a network with {start.sides}; expected {data.sides}"
        )
    return start


def usual_weights(n_train: int, n_pool: int) -> Singles:
    """Return the default: training rows count once, the update pool does not."""
    return np.repeat(np.array([1.0, 0.0], np.float32), [n_train, n_pool])


def row_problem(recipe: TrainingRecipe, n_rows: int, n_classes: int = 0) -> str:
    """Return what is wrong with the row weights or the labels of a recipe; "" if nothing is.

    `n_classes` are those of a task that has several.
    """
    for name, values in (("row_weights", recipe.row_weights), ("labels", recipe.labels)):
        shapes = [(n_rows,), *([(n_rows, n_classes)] if n_classes and name == "labels" else [])]
        if values is not None and np.shape(values) not in shapes:
            return (
                f"has {name} of shape {np.shape(values)}; expected "
                f"{' or '.join(map(str, shapes))}: the training rows, then the update pool"
            )
    if recipe.row_weights is not None:
        weights = np.asarray(recipe.row_weights)
        if not (np.isfinite(weights).all() and (weights >= 0).all() and (weights > 0).any()):
            return "has row_weights that are not finite, negative or all zero"
    if recipe.labels is not None:
        labels = np.asarray(recipe.labels)
        if not ((labels >= 0) & (labels <= 1)).all():
            return "has labels other than 0 and 1"
        if labels.ndim == 2 and not np.allclose(labels.sum(axis=1), 1.0, atol=SHARES_ADD_UP):
            return "has labels that are shares of classes and do not add up to 1"
    return ""


def _check(recipe: TrainingRecipe, data: TrainingData) -> None:
    n_classes = data.sides.outputs if data.sides.several else 0
    if problem := row_problem(recipe, len(data.rows), n_classes):
        raise InputError(f"a recipe {problem}")
    if n_classes and recipe.labels is not None and np.ndim(recipe.labels) == 1:
        raise InputError(f"a recipe has one label per row; expected shares of {n_classes} classes")
    if any(units < 1 for units in recipe.hidden or ()):
        raise InputError(f"hidden layers must have at least one unit; got {recipe.hidden}")
    if recipe.max_epochs < 1 or recipe.patience < 1:
        raise InputError(
            f"max_epochs and patience must be at least 1; "
            f"got {recipe.max_epochs} and {recipe.patience}"
        )
    for name, one, other in (("optimiser", "adam", "sgd"), ("keep", "best", "last")):
        if (given := getattr(recipe, name)) not in (one, other):
            raise InputError(f"{name} must be {one!r} or {other!r}; got {given!r}")
