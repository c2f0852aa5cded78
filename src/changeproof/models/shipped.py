"""Models as shipped: fitted models that judge people by their original features, as they are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from changeproof.datasets.task import Task
from changeproof.errors import InputError, one_line
from changeproof.feasible.feature import text_of
from changeproof.fingerprints.things import thing_fingerprint
from changeproof.model import Floats, Model
from changeproof.models.learner import Alternative, FittedModel, Learner, ModelStack, Traits
from changeproof.models.recipes import recipe_identity
from changeproof.models.thresholds import Threshold, check_threshold, own_scores, with_threshold
from changeproof.networks.training import TrainingRecipe

COUNTED = ("0", "1")
# A fitted model is one base model: that of the first base seed, which methods are tuned on too.
BASE_SEED = 2026


@dataclass(frozen=True)
class OriginalInputs:
    """The original features in the order that a fitted model wants.

    `named` says whether they go in as a DataFrame, or as numbers only.
    """

    columns: tuple[str, ...]
    named: bool = True

    def of(self, rows: Floats, task: Task) -> pd.DataFrame | Floats:
        """Return standardised rows as the model takes them."""
        frame = original_frame(task, rows)[list(self.columns)]
        return frame if self.named else frame.to_numpy(dtype=np.float64)


def original_frame(task: Task, rows: Floats) -> pd.DataFrame:
    """Return rows in original units, exactly; numbers are always floats."""
    frame = task.readable(rows)
    for feature in task.features:
        if not feature.categories:
            frame[feature.name] = frame[feature.name].astype(np.float64)
    return frame


def inputs_of(name: str, estimator: Any, task: Task) -> OriginalInputs:
    """Return how a fitted estimator takes the features of a task."""
    features = {feature.name: feature for feature in task.features}
    wanted = getattr(estimator, "feature_names_in_", None)
    if wanted is not None:
        columns = tuple(map(str, wanted))
        check_columns(name, columns, task)
        return OriginalInputs(columns)
    count = getattr(estimator, "n_features_in_", None)
    text = [feature.name for feature in task.features if feature.categories]
    if count is not None and (count != len(features) or text):
        raise InputError(
            f"model {name} was fitted on {count} columns without names; {task.name!r} has the "
            f"{len(features)} features {', '.join(features)}. Fit it on a DataFrame"
        )
    return OriginalInputs(tuple(features), named=count is None)


def check_columns(name: str, columns: Sequence[str], task: Task) -> None:
    """Refuse a model that takes columns which a task does not have."""
    known = [feature.name for feature in task.features]
    missing = [column for column in columns if column not in known]
    if missing:
        raise InputError(
            f"model {name} takes the columns {', '.join(columns)}; {task.name!r} has no "
            f"{', '.join(missing)} among its features: {', '.join(known)}"
        )


def favourable_classes(name: str, classes: Sequence[Any], task: Task) -> list[int]:
    """Return which of a model's classes are favourable: those of the data, or 1 of 0 and 1."""
    texts = [text_of(value) for value in classes]
    wanted = {text_of(value) for value in task.favourable_values}
    found = [place for place, text in enumerate(texts) if text in wanted]
    if 0 < len(found) < len(texts):
        return found
    counted = [str(int(v)) if isinstance(v, bool | np.bool_) else text_of(v) for v in classes]
    if tuple(counted) == COUNTED:
        return [1]
    expected = f"{', '.join(sorted(wanted))} and others, or 0 and 1" if wanted else "0 and 1"
    raise InputError(
        f"model {name} knows the outcomes {', '.join(texts)}; expected {expected}, to tell which "
        "is favourable"
    )


class ShippedModel(ABC):
    """A fitted model that judges people by their original features.

    Attributes
    ----------
    name
        Its name in tables.
    reference
        Where it is from, as plans show it.
    digest
        The hash of everything that it is.
    """

    name: str
    reference: str
    digest: str

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.reference})"

    @abstractmethod
    def fitted(self, task: Task) -> FittedModel:
        """Return the model on the rows of a task, or refuse a task that does not fit."""

    @abstractmethod
    def gives_scores(self, task: Task) -> bool:
        """Return whether it may give scores that are not probabilities."""

    def refits(self, task: Task) -> Learner:
        """Return the learner that fits clones of it on other rows; by default one that cannot."""
        return CannotRefit(self.name)

    def model(self, task: Task, threshold: Threshold | None) -> Model:
        """Return the model with the threshold that it decides at."""
        fitted = self.fitted(task)
        if threshold is None:
            return fitted
        check_threshold(self.name, threshold, self.gives_scores(task))
        return with_threshold(fitted, threshold, task.rows("train"))


class ShippedFunction(ShippedModel):
    """A function from a DataFrame of original features to scores."""

    def __init__(self, function: Callable[..., Any], name: str, reference: str) -> None:
        self.function, self.name, self.reference = function, name, reference
        self.digest = thing_fingerprint(function)

    def gives_scores(self, task: Task) -> bool:
        """Return true: a function may give anything."""
        return True

    def fitted(self, task: Task) -> FittedModel:
        """Return the model on the rows of a task."""

        def judge(rows: Floats) -> Any:
            return self.function(original_frame(task, rows))

        return FittedModel(partial(ask, self.name, judge), self.name)


class CannotRefit(Learner):
    """The learner of a model that cannot be fitted again: it refuses to train."""

    def __init__(self, name: str) -> None:
        reason = f"{name} is used as it is and cannot be fitted again"
        self.name = name
        self.traits = Traits(has_seeds=False, original=True, no_training=reason)

    def train(self, recipes: Sequence[TrainingRecipe], task: Task) -> ModelStack:
        """Refuse."""
        raise InputError(self.traits.no_training)


class ShippedLearner(Learner):
    """A fitted model as a learner: the base model is the model itself.

    Changed models are clones of it that are fitted again, where it can be cloned.

    Parameters
    ----------
    source
        The fitted model.
    task
        The task that it judges.
    refits
        The learner that fits clones of it.
    """

    def __init__(self, source: ShippedModel, task: Task, refits: Learner) -> None:
        self.source, self.refits, self.name = source, refits, source.name
        self._task_fingerprint = task.fingerprint
        self.traits = replace(
            refits.traits, gives_scores=source.gives_scores(task), only_seed=BASE_SEED
        )

    def __repr__(self) -> str:
        return f"ShippedLearner({self.source!r})"

    def train(self, recipes: Sequence[TrainingRecipe], task: Task) -> ModelStack:
        """Return the model itself for the base model's recipe, and fit clones for all others."""
        return ModelStack(self._model(recipe, task) for recipe in recipes)

    def _model(self, recipe: TrainingRecipe, task: Task) -> Model:
        if self._is_base(recipe, task):
            return self.source.fitted(task)
        return self.refits.train([recipe], task)[0]

    def _is_base(self, recipe: TrainingRecipe, task: Task) -> bool:
        """Return whether recipe and rows are the base model's."""
        if task.fingerprint != self._task_fingerprint:
            return False
        plain, base = self.normalised(recipe, task), TrainingRecipe(initialisation_seed=BASE_SEED)
        return recipe_identity(plain) == recipe_identity(base)

    def configurations(self) -> Sequence[Alternative]:
        """Return the training configurations of its clones."""
        return self.refits.configurations()

    def replacements(self) -> list[Alternative]:
        """Return what may replace it."""
        return self.refits.replacements()


def check_decides(name: str, model: Model, task: Task) -> None:
    """Refuse a fitted model that decides the same for every test row."""
    rows = task.rows("test")
    scores, threshold = own_scores(model, rows)
    accepted = model.favourable(rows)
    if accepted.all() or not accepted.any():
        raise InputError(
            f"model {name} calls {'every' if accepted.any() else 'no'} test row of {task.name!r} "
            f"favourable: its scores go from {scores.min():.4g} to {scores.max():.4g}, and the "
            f"threshold is {threshold}"
        )


def ask(name: str, judge: Callable[[Floats], Any], rows: Floats) -> Any:
    """Ask a model, and report a failure in one line."""
    try:
        return np.asarray(judge(rows), dtype=np.float64)
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"model {name} could not judge {len(rows)} rows: {one_line(error)}"
        ) from error
