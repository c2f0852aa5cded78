"""Fitted models by the names that plans and the command line use, and today's among them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.models.find import unpickled, with_alternatives
from changeproof.models.fixed import (
    BASE_SEED,
    Fixed,
    FixedEstimator,
    FixedLearner,
    as_fixed,
    check_judges,
)
from changeproof.models.learner import Learner
from changeproof.models.onnx import OnnxModel
from changeproof.models.thresholds import at_threshold
from changeproof.networks.training import TrainingRecipe
from changeproof.plugins import from_path

FORMS = "pickle:FILE, python:module:name, onnx:FILE"


def find_fixed(reference: str, *, unpickle: bool = False) -> Fixed:
    """Return the fitted model of a reference.

    Parameters
    ----------
    reference
        "pickle:FILE", "python:module:name" or "onnx:FILE".
    unpickle
        Whether a "pickle:" file may be loaded. Loading one runs whatever code it holds.
    """
    kind, _, rest = reference.partition(":")
    if kind == "python" and rest:
        found = from_path("model", rest)
        return as_fixed(found, rest.rpartition(":")[2], reference)
    if kind not in ("pickle", "onnx") or not rest:
        raise InputError(f"unknown fitted model {reference!r}; expected {FORMS}")
    path = Path(rest)
    if kind == "onnx":
        return OnnxModel(_content(path), path.stem, reference)
    thing = unpickled(path, unpickle)
    if not hasattr(thing, "predict_proba") and not hasattr(thing, "decision_function"):
        return as_fixed(thing, path.stem, reference)
    mark = hashlib.sha256(_content(path)).hexdigest()
    return FixedEstimator(thing, path.stem, reference, mark)


def fitted_learner(
    model: Any,
    task: Task,
    grid: Mapping[str, Sequence[Any]] | None = None,
    replacements: Sequence[str] | None = None,
    threshold: str | None = None,
) -> Learner:
    """Return the learner whose base model is a fitted model as it is, checked on the task."""
    source = find_fixed(model) if isinstance(model, str) else as_fixed(model)
    refits: Learner | None = source.refits(task)
    if refits is not None:
        refits = with_alternatives(refits, grid, replacements).sized(len(task.split.train))
    elif grid is not None or replacements is not None:
        raise InputError(
            f"{source.name} is used as it is and cannot be fitted again, so there is nothing to "
            "vary; leave out the grid and the replacements"
        )
    fixed = at_threshold(FixedLearner(source, task, refits), threshold)
    base = fixed.train([TrainingRecipe(initialisation_seed=BASE_SEED)], task)[0]
    check_judges(source.name, base, task)
    return fixed


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read model file {path}: {error.strerror}") from None
