"""Models by name, file or object: learners that train them, and models as they were shipped."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Mapping, Sequence
from copy import copy
from importlib import import_module
from pathlib import Path
from typing import Any

from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.model import Stack
from changeproof.models.learner import FunctionLearner, Learner
from changeproof.models.network import NetworkLearner
from changeproof.models.shipped import (
    BASE_SEED,
    ShippedFunction,
    ShippedLearner,
    ShippedModel,
    check_decides,
)
from changeproof.models.thresholds import at_threshold
from changeproof.networks.training import HIDDEN, TrainingRecipe
from changeproof.plugins import from_path, parsed

OBJECT = "object"
FORMS = (
    "mlp, mlp:64,32, sklearn:ClassName or sklearn:ClassName(parameter=value), "
    "python:module:name, pickle:FILE, or onnx:FILE"
)
SHIPPED_FORMS = "pickle:FILE, python:module:name, onnx:FILE"
# What may replace a model by default: kinds that lenders use.
REPLACEMENTS = (
    "sklearn:LogisticRegression(max_iter=1000)",
    "sklearn:RandomForestClassifier(n_estimators=100)",
    "sklearn:ExtraTreesClassifier(n_estimators=100)",
    "sklearn:HistGradientBoostingClassifier",
    "mlp",
)

# Wider or deeper networks of our own would fill the memory.
MOST_UNITS, MOST_LAYERS = 4096, 16

CLASSIFIER_ROOMS = ("linear_model", "tree", "ensemble")


def find_learner(
    reference: str,
    *,
    grid: Mapping[str, Sequence[Any]] | None = None,
    replacements: Sequence[str] | None = None,
    unpickle: bool = False,
) -> Learner:
    """Return the learner of a reference, with its alternatives.

    Parameters
    ----------
    reference
        For instance "mlp:64,32" or "sklearn:RandomForestClassifier(min_samples_leaf=5)".
    grid
        Training configurations of a scikit-learn model.
    replacements
        References of models that may replace it.
    unpickle
        Whether a "pickle:" file may be loaded. Loading one runs whatever code it holds.
    """
    return with_alternatives(_learner(reference, unpickle), grid, replacements, unpickle)


def with_alternatives(
    learner: Learner,
    grid: Mapping[str, Sequence[Any]] | None,
    replacements: Sequence[str] | None,
    unpickle: bool = False,
) -> Learner:
    """Return a learner that knows its training configurations and replacements."""
    if isinstance(learner, AbsentLearner):
        return learner
    learner = copy(learner)
    if grid is not None:
        from changeproof.models.estimator import EstimatorLearner, grid_of

        if not isinstance(learner, EstimatorLearner):
            raise InputError(f"a parameter grid needs a scikit-learn model; got {learner!r}")
        learner.grid = grid_of(grid)
        learner.configurations()
    if replacements is not None:
        learner.replacement_learners = tuple(_learner(other, unpickle) for other in replacements)
    elif "hidden" not in learner.traits.follows and not learner.replacement_learners:
        others = [_learner(other) for other in REPLACEMENTS]
        learner.replacement_learners = tuple(o for o in others if o.name != learner.name)
    return learner


def object_reference(learner: Learner) -> str:
    """Return the name that plans use for a learner that exists in this process only."""
    return f"{OBJECT}:{learner.name}@{learner.fingerprint[:12]}"


def is_shipped(model: Any, successors: bool) -> bool:
    """Return whether a model is used as it is: a fitted one with a successor, or ONNX."""
    if isinstance(model, str):
        kind = model.partition(":")[0]
        return kind == "onnx" or (successors and kind not in ("mlp", "sklearn", OBJECT))
    return successors and not isinstance(model, Learner)


class AbsentLearner(Learner):
    """A learner of another process: its results can be read, but nothing more can be trained."""

    def __init__(self, reference: str) -> None:
        self.name = reference.partition(":")[2].partition("@")[0]
        self.reference = reference

    @property
    def fingerprint(self) -> str:
        """The start of its fingerprint, which is part of its reference."""
        return self.reference.rpartition("@")[2]

    def train(self, recipes: Sequence[TrainingRecipe], task: Task) -> Stack:
        """Say that the model has to be given again."""
        raise InputError(f"model {self.reference!r} is from another session; pass the model again")


def as_learner(model: Any, name: str | None = None) -> Learner:
    """Return a learner for a learner, an estimator or a training function."""
    if isinstance(model, Learner):
        return model
    from changeproof.models.estimator import EstimatorLearner

    if hasattr(model, "get_params") or hasattr(model, "predict_proba"):
        return EstimatorLearner(model, name=name)
    if callable(model):
        return FunctionLearner(model, name=name)
    raise InputError(
        f"cannot use {type(model).__name__} as a model; expected a scikit-learn classifier, a "
        "function fit(X, y, sample_weight, seed) or a changeproof learner"
    )


def as_shipped(thing: Any, name: str | None = None, reference: str | None = None) -> ShippedModel:
    """Return a fitted model for an estimator, or for a function of a DataFrame.

    Parameters
    ----------
    thing
        The object.
    name, reference
        What it is called, and where it is from.
    """
    if isinstance(thing, ShippedModel):
        return thing
    from changeproof.models.estimator import ShippedEstimator, final_step

    called = name or str(getattr(thing, "__name__", type(final_step(thing)[1]).__name__))
    known = reference if reference is not None else f"object:{called}"
    if hasattr(thing, "predict_proba") or hasattr(thing, "decision_function"):
        return ShippedEstimator(thing, called, known)
    if callable(thing):
        return ShippedFunction(thing, called, known)
    raise InputError(
        f"cannot use {type(thing).__name__} as a fitted model; expected a fitted scikit-learn "
        "classifier, or a function from a DataFrame of features to scores"
    )


def find_shipped(reference: str, *, unpickle: bool = False) -> ShippedModel:
    """Return the fitted model of a reference.

    Parameters
    ----------
    reference
        "pickle:FILE", "python:module:name" or "onnx:FILE".
    unpickle
        Whether a "pickle:" file may be loaded. Loading one runs whatever code it holds.
    """
    kind, _, rest = reference.partition(":")
    if kind not in ("pickle", "python", "onnx") or not rest:
        raise InputError(f"unknown fitted model {reference!r}; expected {SHIPPED_FORMS}")
    thing, name = _thing(reference, unpickle)
    found = as_shipped(thing, name, reference)
    if kind == "pickle" and not callable(thing):  # of a function, the file has only the name
        found.digest = hashlib.sha256(_content(Path(rest))).hexdigest()
    return found


def shipped_learner(
    model: Any,
    task: Task,
    grid: Mapping[str, Sequence[Any]] | None = None,
    replacements: Sequence[str] | None = None,
    threshold: str | None = None,
) -> Learner:
    """Return the learner whose base model is a fitted model, as it is; checked on the task."""
    source = find_shipped(model) if isinstance(model, str) else as_shipped(model)
    refits = source.refits(task)
    if not refits.traits.no_training:
        refits = with_alternatives(refits, grid, replacements).sized(len(task.split.train))
    elif grid is not None or replacements is not None:
        raise InputError(
            f"{refits.traits.no_training}, so there is nothing to vary; leave out the grid and the "
            "replacements"
        )
    learner = at_threshold(ShippedLearner(source, task, refits), threshold)
    base = learner.train([TrainingRecipe(initialisation_seed=BASE_SEED)], task)[0]
    check_decides(source.name, base, task)
    return learner


def _learner(reference: str, unpickle: bool = False) -> Learner:
    return as_learner(*_thing(reference, unpickle))


def _thing(reference: str, unpickle: bool) -> tuple[Any, str | None]:
    """Return the object of a reference, and a name for objects that have none."""
    kind, _, rest = reference.partition(":")
    path = Path(rest)
    if kind == "mlp":
        return NetworkLearner(_widths(reference, rest) or HIDDEN), None
    if kind == "sklearn" and rest:
        return _estimator(rest), None
    if kind == "python" and rest:
        return from_path("model", rest), rest.rpartition(":")[2]
    if kind == "pickle" and rest:
        return unpickled(path, unpickle), path.stem
    if kind == "onnx" and rest:
        from changeproof.models.onnx import OnnxModel

        return OnnxModel(_content(path), path.stem, reference), path.stem
    if kind == OBJECT and rest:
        return AbsentLearner(reference), None
    raise InputError(f"unknown model {reference!r}; expected {FORMS}")


def _widths(reference: str, text: str) -> list[int]:
    widths = [part.strip() for part in text.split(",")] if text else []
    if not all(width.isdecimal() for width in widths):
        raise InputError(f"model {reference!r}: expected widths such as mlp:64,32")
    too_wide = any(len(width) > 9 or int(width) > MOST_UNITS for width in widths)
    if too_wide or len(widths) > MOST_LAYERS:
        raise InputError(
            f"model {reference!r}: expected at most {MOST_LAYERS} hidden layers of at most "
            f"{MOST_UNITS} units each"
        )
    return [int(width) for width in widths]


def _estimator(text: str) -> Any:
    try:
        name, settings = parsed(text)
        if not name.isidentifier():
            raise InputError(text)
    except InputError:
        raise InputError(
            f"model 'sklearn:{text}': expected ClassName or ClassName(parameter=value)"
        ) from None
    try:
        return _classifier(name)(**settings)
    except TypeError as error:
        raise InputError(f"model 'sklearn:{text}': {error}") from None


def _classifier(name: str) -> Any:
    """Return a class of scikit-learn; the usual modules are searched first.

    Asking scikit-learn for all it has takes seconds: it imports everything, PyTorch included.
    """
    for room in CLASSIFIER_ROOMS:
        found = getattr(import_module(f"sklearn.{room}"), name, None)
        if isinstance(found, type) and hasattr(found, "predict_proba"):
            return found
    from sklearn.utils import all_estimators

    known = dict(all_estimators(type_filter="classifier"))
    if name not in known:
        near = [other for other in known if name.lower() in other.lower()] or sorted(known)
        raise InputError(
            f"scikit-learn has no classifier {name!r}; expected one of: {', '.join(near)}"
        )
    return known[name]


def unpickled(path: Path, allowed: bool) -> Any:
    """Return what a pickle holds, if it may be loaded."""
    if not allowed:
        raise InputError(
            f"model file {path}: loading a pickle runs whatever code it holds. If you trust its "
            "author, pass --unpickle-and-run-its-code"
        )
    content = _content(path)
    try:
        return pickle.loads(content)
    except Exception as error:
        raise InputError(
            f"model file {path} cannot be loaded: {type(error).__name__}: {error}"
        ) from error


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read model file {path}: {error.strerror}") from None
