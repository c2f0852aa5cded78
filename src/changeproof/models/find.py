"""Models by name, file or object: learners that train them, and models as they were shipped."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from changeproof.datasets.custom import Taken
from changeproof.datasets.task import Task
from changeproof.datasets.threshold import Threshold
from changeproof.errors import InputError, described, one_line, unknown
from changeproof.model import Stack
from changeproof.models.learner import FunctionLearner, Learner, can_train
from changeproof.models.libraries import is_booster
from changeproof.models.network import NetworkLearner
from changeproof.models.references import (
    BOOSTER_FILES,
    FILES,
    MLFLOW,
    PICKLES,
    SERVED,
    is_booster_file,
    name_of,
    runs_code,
)
from changeproof.models.shipped import (
    BASE_SEED,
    ShippedFunction,
    ShippedLearner,
    ShippedModel,
    check_decides,
)
from changeproof.models.thresholds import at_threshold
from changeproof.networks.training import HIDDEN, TrainingRecipe
from changeproof.plugins import from_path

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


class AbsentLearner(Learner):
    """A learner of another process: its results can be read, but nothing more can be trained."""

    def __init__(self, text: str) -> None:
        self.name, self.reference = text.partition("@")[0], f"{OBJECT}:{text}"

    @property
    def fingerprint(self) -> str:
        """The start of its fingerprint, which is part of its reference."""
        return self.reference.rpartition("@")[2]

    def train(self, recipes: Sequence[TrainingRecipe], task: Task) -> Stack:
        raise InputError(f"model {self.reference!r} is from another session; pass the model again")


def _network(text: str) -> Learner:
    widths = [part.strip() for part in text.split(",")] if text else []
    if not all(width.isdecimal() for width in widths):
        raise InputError(f"model 'mlp:{text}': expected widths such as mlp:64,32")
    too_wide = any(len(width) > 9 or int(width) > MOST_UNITS for width in widths)
    if too_wide or len(widths) > MOST_LAYERS:
        raise InputError(
            f"model 'mlp:{text}': expected at most {MOST_LAYERS} hidden layers of at most "
            f"{MOST_UNITS} units each"
        )
    return NetworkLearner([int(width) for width in widths] or HIDDEN)


def _sklearn(text: str) -> Any:
    from changeproof.models.named import sklearn_named

    return sklearn_named(text)


def _unpickled(path: str) -> Any:
    """Return the object of a file that pickle or joblib wrote, compressed or not."""
    content = _content(path)
    try:
        # joblib reads plain pickles as well, but slowly.
        plain = content.startswith(b"\x80") and b"NumpyArrayWrapper" not in content
        if plain:
            return pickle.loads(content)
        import joblib

        return joblib.load(BytesIO(content))
    except ModuleNotFoundError as error:
        raise InputError(f"model file {path} needs {error.name}, which is not installed") from error
    except Exception as error:
        raise InputError(f"model file {path} cannot be loaded: {one_line(error)}") from error


def _function(path: str) -> ShippedModel:
    found = from_path("model", path)
    if not callable(found) or hasattr(found, "predict"):
        raise InputError(
            f"model 'function:{path}' is {described(found)}; expected a function from a DataFrame "
            "of features to scores"
        )
    return ShippedFunction(found, name_of(f"function:{path}"), f"function:{path}")


def _served(scheme: str, rest: str) -> ShippedModel:
    from changeproof.models.served import ServedModel

    return ServedModel(f"{scheme}:{rest}")


def _mlflow(where: str) -> Any:
    from changeproof.models.mlflow import read_mlflow

    reference = f"mlflow:{where}"
    return read_mlflow(where, name_of(reference), reference)


def _booster(library: str, rest: str) -> Any:
    """Return a fitted model in a library's own format, or a classifier of it to be trained."""
    reference = f"{library}:{rest}"
    if is_booster_file(reference):
        from changeproof.models import boosters

        return boosters.KINDS[library](_content(rest), name_of(reference), reference)
    from changeproof.models.named import booster_named

    return booster_named(library, rest)


def _onnx(path: str) -> ShippedModel:
    from changeproof.models.onnx import OnnxModel

    return OnnxModel(_content(path), name_of(f"onnx:{path}"), f"onnx:{path}")


def _content(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"cannot read model file {path}: {error.strerror}") from None


class Kind(NamedTuple):
    """A kind of reference, KIND:REST.

    `read` turns the rest into an object, and `form` is how people write it. Some kinds may be
    models as shipped.
    """

    read: Callable[[str], Any]
    form: str = ""
    may_be_shipped: bool = False


OBJECT = "object"
KINDS = {
    "mlp": Kind(_network, "mlp, mlp:64,32"),
    "sklearn": Kind(_sklearn, "sklearn:ClassName or sklearn:ClassName(parameter=value)"),
    "python": Kind(partial(from_path, "model"), "python:module:name", may_be_shipped=True),
    "function": Kind(_function, "function:module:name", may_be_shipped=True),
    "pickle": Kind(_unpickled, "pickle:FILE", may_be_shipped=True),
    "joblib": Kind(_unpickled, "joblib:FILE", may_be_shipped=True),
    "onnx": Kind(_onnx, "onnx:FILE", may_be_shipped=True),
    "mlflow": Kind(
        _mlflow,
        "mlflow:models:/NAME/VERSION, mlflow:runs:/RUN/NAME, mlflow:FOLDER",
        may_be_shipped=True,
    ),
    **{
        library: Kind(
            partial(_booster, library),
            f"{library}:ClassName(parameter=value) or {library}:FILE{endings[0]}",
            may_be_shipped=True,
        )
        for library, endings in BOOSTER_FILES.items()
    },
    "http": Kind(
        partial(_served, "http"),
        "http://HOST:PORT/PATH, https://HOST/PATH",
        may_be_shipped=True,
    ),
    "https": Kind(partial(_served, "https"), may_be_shipped=True),
    OBJECT: Kind(AbsentLearner),
}


def _read(reference: str, unpickle: bool = False) -> tuple[Any, str | None]:
    """Return the object of a reference, and a name for objects that have none."""
    kind, _, rest = reference.partition(":")
    if kind not in KINDS or not (rest or kind == "mlp"):
        raise unknown("model", reference, [each.form for each in KINDS.values() if each.form])
    if runs_code(reference) and not unpickle:
        what = "an MLflow model" if kind == "mlflow" else "a pickle"
        raise InputError(
            f"model {rest}: loading {what} runs whatever code it holds. If you trust its author, "
            "pass --unpickle-and-run-its-code"
        )
    has_name = kind in BOOSTER_FILES and not is_booster_file(reference)
    named = KINDS[kind].may_be_shipped and not has_name
    return KINDS[kind].read(rest), name_of(reference) if named else None


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
    learner = as_learner(*_read(reference, unpickle))
    return with_alternatives(learner, grid, replacements, unpickle)


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
        learner.configurations()  # refuses a grid that does not fit
    if learner.traits.predicts_numbers:
        if replacements is not None:
            raise InputError(
                f"{learner.name} predicts numbers, and what may replace it gives probabilities; "
                "leave out the replacements"
            )
    elif replacements is not None:
        others = [as_learner(*_read(other, unpickle)) for other in replacements]
        learner.replacement_learners = tuple(others)
    elif "hidden" not in learner.traits.follows and not learner.replacement_learners:
        others = [as_learner(*_read(other)) for other in REPLACEMENTS]
        learner.replacement_learners = tuple(o for o in others if o.name != learner.name)
    return learner


def as_learner(model: Any, name: str | None = None) -> Learner:
    """Return a learner for a learner, an estimator or a training function."""
    if isinstance(model, Learner):
        return model
    if hasattr(model, "get_params") or hasattr(model, "predict_proba"):
        from changeproof.models.estimator import EstimatorLearner

        return EstimatorLearner(model, name=name)
    if callable(model):
        return FunctionLearner(model, name=name)
    raise InputError(
        f"cannot use {type(model).__name__} as a model; expected a scikit-learn classifier, a "
        "function fit(X, y, sample_weight, seed) or a changeproof learner"
    )


def object_reference(learner: Learner) -> str:
    """Return the name that plans use for a learner that exists in this process only."""
    return f"{OBJECT}:{learner.name}@{learner.fingerprint[:12]}"


def load_model(model: Any, *, unpickle: bool = False) -> Learner | ShippedModel:
    """Return what a reference or an object is: a learner, or a model that is fitted already.

    Whatever is fitted is used as it is; what is not is trained here.
    """
    thing, name = _read(model, unpickle) if isinstance(model, str) else (model, None)
    if isinstance(thing, Learner | ShippedModel):
        return thing
    if not is_fitted(thing):
        return as_learner(thing, name)
    return _from_reference(thing, name, model) if isinstance(model, str) else as_shipped(thing)


def is_fitted(thing: Any) -> bool:
    """Return whether a thing judges people already, and is not still to be trained."""
    if hasattr(thing, "predict") or hasattr(thing, "predict_proba"):
        if not hasattr(thing, "fit"):
            return True
        if hasattr(thing, "is_fitted"):  # CatBoost
            return bool(thing.is_fitted())
        from sklearn.exceptions import NotFittedError
        from sklearn.utils.validation import check_is_fitted

        try:
            check_is_fitted(thing)
        except (NotFittedError, TypeError):
            return hasattr(thing, "classes_")
        return True
    return callable(thing) and not can_train(thing)


def taken_columns(model: Learner | ShippedModel) -> Taken | None:
    """Return the columns that a model takes of a table; None if it takes encoded rows."""
    if isinstance(model, ShippedModel):
        return model.columns or "all"
    return "all" if model.traits.original else None


def advised_by(model: Learner | ShippedModel, task: Task) -> Task:
    """Return the task where advice names only categories that a fitted model has seen."""
    return model.advised(task) if isinstance(model, ShippedModel) else task


def as_shipped(thing: Any, name: str | None = None, reference: str | None = None) -> ShippedModel:
    """Return a fitted model for an estimator, or for a function of a DataFrame."""
    if isinstance(thing, ShippedModel):
        return thing
    from changeproof.models.estimator import ShippedEstimator
    from changeproof.models.outcomes import predicts_numbers
    from changeproof.models.settings import final_step

    name = name or str(getattr(thing, "__name__", type(final_step(thing)[1]).__name__))
    reference = f"object:{name}" if reference is None else reference
    if is_booster(thing):
        from changeproof.models.boosters import as_booster

        return as_booster(thing, name, reference)
    decides = hasattr(thing, "predict_proba") or hasattr(thing, "decision_function")
    if decides or predicts_numbers(thing):
        return ShippedEstimator(thing, name, reference)
    if callable(thing):
        return ShippedFunction(thing, name, reference)
    raise InputError(
        f"cannot use {type(thing).__name__} as a fitted model; expected a fitted scikit-learn "
        "classifier or regressor, or a function from a DataFrame of features to scores"
    )


def find_shipped(
    reference: str,
    *,
    unpickle: bool = False,
    what: str = "fitted model",
    other_forms: Sequence[str] = (),
) -> ShippedModel:
    """Return the fitted model of a reference.

    The error where it leads nowhere says `what` it should be, and which `other_forms` it may have.
    """
    kind, _, rest = reference.partition(":")
    if kind not in KINDS or not KINDS[kind].may_be_shipped or not rest:
        forms = [each.form for each in KINDS.values() if each.may_be_shipped and each.form]
        raise unknown(what, reference, [*forms, *other_forms])
    return _from_reference(*_read(reference, unpickle), reference)


def _from_reference(thing: Any, name: str | None, reference: str) -> ShippedModel:
    """Return the fitted model that was read; the hash of a pickled one is that of its file."""
    found = as_shipped(thing, name, reference)
    kind, _, path = reference.partition(":")
    if kind in PICKLES and not callable(thing):  # of a function, a pickle has only the name
        found.digest = hashlib.sha256(_content(path)).hexdigest()
    return found


def _refits_by(reference: str, task: Task) -> Learner:
    """Return the learner that trains in place of a fitted model."""
    kind = reference.partition(":")[0]
    if kind in (*FILES, *SERVED, MLFLOW) or is_booster_file(reference):
        raise InputError(
            f"refit {reference!r} is a fitted model; expected what can be trained: mlp, "
            "sklearn:ClassName, xgboost:ClassName, python:module:name"
        )
    learner = find_learner(reference)
    learner.check(task)
    return learner


def shipped_learner(
    model: Any,
    task: Task,
    grid: Mapping[str, Sequence[Any]] | None = None,
    replacements: Sequence[str] | None = None,
    threshold: str | None = None,
    refit: str | None = None,
) -> Learner:
    """Return the learner whose base model is a fitted model, as it is; checked on the task.

    Changed models are trained by the learner that `refit` names, or else are refits of the model.
    They decide at the threshold, if they give such scores.
    """
    source = find_shipped(model) if isinstance(model, str) else as_shipped(model)
    refits = source.refits(task) if refit is None else _refits_by(refit, task)
    if not refits.traits.no_training:
        refits = with_alternatives(refits, grid, replacements).sized(len(task.split.train))
    elif grid is not None or replacements is not None:
        raise InputError(
            f"{refits.traits.no_training}, so there is nothing to vary; leave out the grid and the "
            "replacements, or name a learner for refits"
        )
    given = None if threshold is None else Threshold.of(threshold)
    own = source.decides_at(task, given)
    learner: Learner
    if own is None or own.fits_probabilities or refits.traits.gives_scores or refit is None:
        learner = at_threshold(ShippedLearner(source, task, refits), own)
    else:  # the threshold is one of scores that the refits do not give
        learner = ShippedLearner(source, task, refits, own)
    base = learner.train([TrainingRecipe(initialisation_seed=BASE_SEED)], task)[0]
    check_decides(source.name, base, task)
    return learner
