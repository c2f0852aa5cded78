"""Recipes: the ways in which a model may be retrained, and when two recipes are the same.

Change families use them with the protocol's seeds; methods that train models of their own use them
with seeds that no changed model has.
"""

from __future__ import annotations

import hashlib
from dataclasses import fields, replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from changeproof.datasets.classes import Classes
from changeproof.datasets.task import Task
from changeproof.fingerprints.things import thing_fingerprint
from changeproof.model import Integers, Model, Singles
from changeproof.networks.network import Network
from changeproof.networks.training import TrainingRecipe, bootstrap_weights, usual_weights
from changeproof.randomness import stream

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
SGD_LEARNING_RATES = (0.01, 0.03)
SGD_WEIGHT_DECAYS = (0.0, 1e-4, 1e-3)
RADII = (0.001, 0.005, 0.01, 0.02, 0.05)


def bootstrap_recipe(task: Task, initialisation: int, sampling: int) -> TrainingRecipe:
    weights = bootstrap_weights(len(task.split.train), sampling)
    return weighted_recipe(task, weights, initialisation)


def deletion_recipe(task: Task, share: float, initialisation: int, sampling: int) -> TrainingRecipe:
    weights = np.zeros(len(task.split.train))
    weights[_drawn(len(weights), 1 - share, sampling)] = 1.0
    return weighted_recipe(task, weights, initialisation)


def addition_recipe(task: Task, share: float, initialisation: int, sampling: int) -> TrainingRecipe:
    """Train on the training rows and a share of the update pool."""
    n_train, n_pool = len(task.split.train), len(task.split.update)
    weights = usual_weights(n_train, n_pool)
    weights[n_train + _drawn(n_pool, share, sampling)] = 1.0
    return TrainingRecipe(initialisation_seed=initialisation, row_weights=weights)


def label_flip_recipe(
    task: Task, share: float, initialisation: int, sampling: int
) -> TrainingRecipe:
    """Train after labels were flipped; of several classes, each becomes another one at random."""
    labels: npt.NDArray[Any] = own_labels(task)
    flipped = _drawn(len(task.split.train), share, sampling)
    if (classes := task.classes) is None:
        labels[flipped] = 1 - labels[flipped]
    else:
        n_classes, before = len(classes), classes.numbers[task.split.train][flipped]
        generator = stream(task.name, initialisation, "label update", sampling)
        after = before + generator.integers(1, n_classes, len(flipped))
        labels = class_shares(task, classes, labels)
        labels[flipped] = np.eye(n_classes)[after % n_classes]
    return TrainingRecipe(initialisation_seed=initialisation, labels=labels)


def _drawn(rows: int, share: float, seed: int) -> Integers:
    return np.random.default_rng(seed).choice(rows, round(share * rows), replace=False)


def weighted_recipe(
    task: Task, weights: npt.NDArray[Any], initialisation: int, sampling: int | None = None
) -> TrainingRecipe:
    """Train with weights of the training rows; the update pool does not count.

    With a sampling seed, train on as many rows that are drawn in proportion to the weights.
    """
    if sampling is not None:
        rows = len(weights)
        drawn = np.random.default_rng(sampling).choice(rows, rows, p=weights / weights.sum())
        weights = np.bincount(drawn, minlength=rows)
    pool = np.zeros(len(task.split.update), np.float32)
    row_weights = np.concatenate([weights.astype(np.float32), pool])
    return TrainingRecipe(initialisation_seed=initialisation, row_weights=row_weights)


def configuration_recipes(initialisation: int) -> list[TrainingRecipe]:
    """Train with 19 other settings of Adam, and 6 of gradient descent."""
    base = TrainingRecipe(initialisation_seed=initialisation)
    adam = [
        replace(base, learning_rate=rate, weight_decay=decay)
        for rate, decay in product(ADAM_LEARNING_RATES, ADAM_WEIGHT_DECAYS)
        if (rate, decay) != (base.learning_rate, base.weight_decay)
    ]
    sgd = [
        replace(base, optimiser="sgd", learning_rate=rate, weight_decay=decay)
        for rate, decay in product(SGD_LEARNING_RATES, SGD_WEIGHT_DECAYS)
    ]
    return adam + sgd


def own_labels(task: Task) -> npt.NDArray[np.int8]:
    """Return the task's labels in the order of a recipe: training rows, then the update pool."""
    return np.concatenate([task.labels_of("train"), task.labels_of("update")])


def class_shares(task: Task, classes: Classes, labels: npt.NDArray[Any]) -> Singles:
    """Return the shares of classes [rows, classes] that the labels of a recipe stand for.

    A label that is not the task's own is the share of the usual favourable class; the rest is that
    of the usual adverse one.
    """
    if labels.ndim == 2:
        return labels.astype(np.float32)
    rows = np.concatenate([task.split.train, task.split.update])
    shares, changed = classes.shares(rows), labels != own_labels(task)
    adverse, favourable = (classes.number_of(task.usual_outcome(side)) for side in (0, 1))
    shares[changed] = 0.0
    shares[changed, favourable] = labels[changed]
    shares[changed, adverse] = 1.0 - labels[changed]
    return shares.astype(np.float32)


def favourable_shares(classes: Classes, labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the share of favourable people, one per row, of labels by row or by class."""
    if labels.ndim == 1:
        return labels
    return np.asarray(np.minimum(labels[:, classes.n_adverse :].sum(axis=1), 1.0))


def normalised(recipe: TrainingRecipe, task: Task) -> TrainingRecipe:
    """Return a recipe that trains the same, with None for the usual weights and labels.

    Labels of rows that do not count are taken as the task's own. Those of several classes become
    shares of the classes.
    """
    usual = usual_weights(len(task.split.train), len(task.split.update))
    weights = usual if recipe.row_weights is None else np.asarray(recipe.row_weights)
    labels = recipe.labels
    if labels is not None and weights.shape == np.shape(labels)[:1] == usual.shape:
        own: npt.NDArray[Any] = own_labels(task)
        counted = weights > 0
        if task.classes is not None:
            labels, own = (class_shares(task, task.classes, np.asarray(e)) for e in (labels, own))
            counted = counted[:, None]
        labels = np.where(counted, labels, own)
        labels = None if np.array_equal(labels, own) else labels
    unusual = None if np.array_equal(weights, usual) else recipe.row_weights
    return replace(recipe, row_weights=unusual, labels=labels)


def recipe_identity(
    recipe: TrainingRecipe, level: str = "", task: Task | None = None, *, exact: bool = False
) -> str:
    """Hash everything that makes a trained model what it is.

    `level` names another kind of model; `task` is given where its rows or columns are not those
    of the base model's task. Weights and labels count in single precision, or exactly.
    """
    digest = hashlib.sha256(level.encode())
    if task is not None:
        digest.update(task.fingerprint.encode())
    for field in fields(recipe):
        digest.update(field.name.encode() + _content(getattr(recipe, field.name), exact))
    return digest.hexdigest()


def reserved_identity(recipe: TrainingRecipe, level: str, task: Task) -> str:
    """Hash what makes a trained model what it is but for the limits of its training's length."""
    usual = TrainingRecipe(initialisation_seed=recipe.initialisation_seed)
    same = {name: getattr(usual, name) for name in ("max_epochs", "patience", "keep")}
    return recipe_identity(replace(recipe, **same), level, task)


def model_identity(model: Model) -> str:
    return hashlib.sha256(_content(model)).hexdigest()


def _content(value: Any, exact: bool = False) -> bytes:
    if value is None or isinstance(value, int | float | str | tuple):
        return repr(value).encode()
    if isinstance(value, Network):
        return repr(value).encode() + value.parameters.tobytes()
    if isinstance(value, np.ndarray | list):
        array = np.asarray(value) if exact else np.asarray(value, np.float32)
        return (f"{array.dtype} {array.shape}".encode() if exact else b"") + array.tobytes()
    return thing_fingerprint(value).encode()
