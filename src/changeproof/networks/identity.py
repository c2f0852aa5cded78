"""What makes a trained model what it is, hashed, however its recipe is spelled."""

from __future__ import annotations

import hashlib
from dataclasses import fields, replace
from typing import Any

import numpy as np

from changeproof.datasets.task import Task
from changeproof.fingerprints.things import thing_fingerprint
from changeproof.model import Model
from changeproof.networks.network import Network
from changeproof.networks.training import TrainingRecipe, usual_weights


def spelled_plainly(recipe: TrainingRecipe, task: Task) -> TrainingRecipe:
    """Return a recipe that trains the same, with None for weights and labels that are the usual.

    Labels of rows that do not count are taken as the task's own.
    """
    usual = usual_weights(len(task.split.train), len(task.split.update))
    weights = usual if recipe.row_weights is None else np.asarray(recipe.row_weights)
    labels = recipe.labels
    if labels is not None and weights.shape == np.shape(labels) == usual.shape:
        own = np.concatenate([task.labels_of("train"), task.labels_of("update")])
        labels = np.where(weights > 0, labels, own)
        labels = None if np.array_equal(labels, own) else labels
    unusual = None if np.array_equal(weights, usual) else recipe.row_weights
    return replace(recipe, row_weights=unusual, labels=labels)


def recipe_identity(recipe: TrainingRecipe, level: str = "", task: Task | None = None) -> str:
    """Hash all that makes a trained model what it is.

    `level` names another kind of model, `task` is one of other rows or columns than the base
    model's.
    """
    digest = hashlib.sha256(level.encode())
    if task is not None:
        digest.update(task.fingerprint.encode())
    for field in fields(recipe):
        value = getattr(recipe, field.name)
        digest.update(field.name.encode() + _content(value))
    return digest.hexdigest()


def reserved_identity(recipe: TrainingRecipe, level: str, task: Task) -> str:
    """Hash what makes a trained model what it is, whatever its training may last.

    Mostly that makes no difference: training ends by itself.
    """
    usual = TrainingRecipe(initialisation_seed=recipe.initialisation_seed)
    same = {name: getattr(usual, name) for name in ("max_epochs", "patience", "keep")}
    return recipe_identity(replace(recipe, **same), level, task)


def model_identity(model: Model) -> str:
    """Hash a model that is finished: all that it is."""
    return hashlib.sha256(_content(model)).hexdigest()


def _content(value: Any) -> bytes:
    if value is None or isinstance(value, int | float | str | tuple):
        return repr(value).encode()
    if isinstance(value, Network):
        return repr(value).encode() + value.parameters.tobytes()
    if isinstance(value, np.ndarray | list):
        return np.asarray(value, np.float32).tobytes()
    return thing_fingerprint(value).encode()
