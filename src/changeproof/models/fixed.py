"""Fitted models that are used as they are: today's model, and the ones that came after it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import joblib
import numpy as np

from changeproof.datasets.task import Task
from changeproof.errors import InputError, one_line
from changeproof.fingerprints.things import thing_fingerprint
from changeproof.model import Floats, Model
from changeproof.models.estimator import (
    EstimatorLearner,
    EstimatorModel,
    estimator_with_weights,
    final_step,
)
from changeproof.models.inputs import favourable_classes, inputs_of, original_frame
from changeproof.models.learner import Alternative, FittedModel, Learner, ModelStack, Traits
from changeproof.models.recipes import recipe_identity
from changeproof.models.thresholds import Threshold, check_threshold, deciding, judged
from changeproof.networks.training import TrainingRecipe

# A fitted model is one base model: that of the first base seed, which methods are tuned on too.
BASE_SEED = 2026


class Fixed(ABC):
    """A fitted model that judges people by their original features.

    Attributes
    ----------
    name
        Its name in tables.
    reference
        Where it is from, as plans show it.
    mark
        The hash of all that it is.
    """

    name: str
    reference: str
    mark: str

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.reference})"

    @abstractmethod
    def fitted(self, task: Task) -> FittedModel:
        """Return the model on the rows of a task, or refuse what does not fit together."""

    @abstractmethod
    def gives_scores(self, task: Task) -> bool:
        """Return whether it may give scores that are no probabilities."""

    def refits(self, task: Task) -> Learner | None:
        """Return who trains clones of it on other rows, if that can be done."""
        return None

    def model(self, task: Task, threshold: Threshold | None) -> Model:
        """Return the model with the threshold that it decides at."""
        fitted = self.fitted(task)
        if threshold is None:
            return fitted
        check_threshold(self.name, threshold, self.gives_scores(task))
        return deciding(fitted, threshold, task.rows("train"))


class FixedEstimator(Fixed):
    """A fitted scikit-learn classifier or pipeline."""

    def __init__(self, estimator: Any, name: str, reference: str, mark: str | None = None) -> None:
        self.estimator, self.name, self.reference = estimator, name, reference
        if not hasattr(estimator, "classes_"):
            raise InputError(
                f"model {name} is not fitted: it has no classes_. With a successor, models are "
                "used as they are; fit it first"
            )
        self.mark = mark if mark is not None else str(joblib.hash(estimator))

    def gives_scores(self, task: Task) -> bool:
        """Return whether it has no probabilities, but scores."""
        return not hasattr(self.estimator, "predict_proba")

    def fitted(self, task: Task) -> FittedModel:
        """Return the model on the rows of a task."""
        takes = inputs_of(self.name, self.estimator, task)
        places = favourable_classes(self.name, list(self.estimator.classes_), task)
        if not self.gives_scores(task):

            def judge(rows: Floats) -> Any:
                return self.estimator.predict_proba(takes.of(rows, task))[:, places].sum(axis=1)

        elif hasattr(self.estimator, "decision_function") and len(self.estimator.classes_) == 2:

            def judge(rows: Floats) -> Any:
                scores = self.estimator.decision_function(takes.of(rows, task))
                return scores if places == [1] else -scores

        else:
            raise InputError(f"model {self.name} gives neither probabilities nor a score")
        judged = partial(_told, self.name, judge)
        return FixedEstimatorModel(judged, self.name, self.estimator, task, self.reference)

    def refits(self, task: Task) -> EstimatorLearner | None:
        """Return who trains clones of it; None if it gives no probabilities."""
        if self.gives_scores(task) or not hasattr(self.estimator, "fit"):
            return None
        takes = inputs_of(self.name, self.estimator, task)
        return EstimatorLearner(self.estimator, name=self.name, inputs=takes)


@dataclass(repr=False, eq=False)
class FixedEstimatorModel(EstimatorModel):
    """A fitted estimator as it is, with the classes that it was fitted to."""

    reference: str

    def with_weights(self, weights: Sequence[Floats]) -> FittedModel:
        """Return a copy with other weights."""
        changed = estimator_with_weights(self.estimator, weights)
        return FixedEstimator(changed, self._name, self.reference).fitted(self.task)


class FixedFunction(Fixed):
    """A function from a DataFrame of original features to scores."""

    def __init__(self, function: Callable[..., Any], name: str, reference: str) -> None:
        self.function, self.name, self.reference = function, name, reference
        self.mark = thing_fingerprint(function)

    def gives_scores(self, task: Task) -> bool:
        """Return that nobody knows what a function gives."""
        return True

    def fitted(self, task: Task) -> FittedModel:
        """Return the model on the rows of a task."""

        def judge(rows: Floats) -> Any:
            return self.function(original_frame(task, rows))

        return FittedModel(partial(_told, self.name, judge), self.name)


class FixedLearner(Learner):
    """A fitted model as a learner: the base model is the model itself.

    Changed models are clones of it that are fitted again, where it can be cloned.

    Parameters
    ----------
    source
        The fitted model.
    task
        The task that it judges.
    refits
        Who fits clones of it.
    """

    def __init__(self, source: Fixed, task: Task, refits: Learner | None) -> None:
        self.source, self.refits, self.name = source, refits, source.name
        self._task_fingerprint = task.fingerprint
        if refits is None:
            reason = f"{self.name} is used as it is and cannot be fitted again"
            known = Traits(has_seeds=False, original=True, no_training=reason)
        else:
            known = refits.traits
        self.traits = replace(known, gives_scores=source.gives_scores(task), only_seed=BASE_SEED)

    def __repr__(self) -> str:
        return f"FixedLearner({self.source!r})"

    def train(self, recipes: Sequence[TrainingRecipe], task: Task) -> ModelStack:
        """Return the model itself for the base model's recipe, and fit clones for all others."""
        return ModelStack(self._model(recipe, task) for recipe in recipes)

    def _model(self, recipe: TrainingRecipe, task: Task) -> Model:
        if self._is_base(recipe, task):
            return self.source.fitted(task)
        if self.refits is None:
            raise InputError(self.traits.no_training)
        return self.refits.train([recipe], task)[0]

    def _is_base(self, recipe: TrainingRecipe, task: Task) -> bool:
        """Return whether a recipe is the base model's, and so are the rows."""
        if task.fingerprint != self._task_fingerprint:
            return False
        plain, base = self.plain(recipe, task), TrainingRecipe(initialisation_seed=BASE_SEED)
        return recipe_identity(plain) == recipe_identity(base)

    def weights(self, model: Model) -> list[Floats]:
        """Return the weights of the fitted model, or of a clone of it."""
        if self.refits is None:
            return super().weights(model)
        return self.refits.weights(model)

    def with_weights(self, model: Model, weights: Sequence[Floats]) -> Model:
        """Return the fitted model, or a clone of it, with other weights."""
        if isinstance(model, FixedEstimatorModel):
            return model.with_weights(weights)
        if self.refits is None:
            return super().with_weights(model, weights)
        return self.refits.with_weights(model, weights)

    def configurations(self) -> Sequence[Alternative]:
        """Return the training configurations of its clones."""
        return () if self.refits is None else self.refits.configurations()

    def replacements(self) -> list[Alternative]:
        """Return what may replace it."""
        return [] if self.refits is None else self.refits.replacements()


def as_fixed(thing: Any, name: str | None = None, reference: str | None = None) -> Fixed:
    """Return whatever people bring as a fitted model: an estimator, or a function of a DataFrame.

    Parameters
    ----------
    thing
        The object.
    name, reference
        What it is called, and where it is from.
    """
    if isinstance(thing, Fixed):
        return thing
    called = name if name is not None else _name(thing)
    known = reference if reference is not None else f"object:{called}"
    if hasattr(thing, "predict_proba") or hasattr(thing, "decision_function"):
        return FixedEstimator(thing, called, known)
    if callable(thing):
        return FixedFunction(thing, called, known)
    raise InputError(
        f"cannot use {type(thing).__name__} as a fitted model; expected a fitted scikit-learn "
        "classifier, or a function from a DataFrame of features to scores"
    )


def _name(thing: Any) -> str:
    return str(getattr(thing, "__name__", type(final_step(thing)[1]).__name__))


def check_judges(name: str, model: Model, task: Task) -> None:
    """Refuse a fitted model that tells nobody from anybody on the test rows."""
    rows = task.rows("test")
    scores, threshold = judged(model, rows)
    accepted = model.favourable(rows)
    if accepted.all() or not accepted.any():
        raise InputError(
            f"model {name} calls {'every' if accepted.any() else 'no'} test row of {task.name!r} "
            f"favourable: its scores go from {scores.min():.4g} to {scores.max():.4g}, and the "
            f"threshold is {threshold}"
        )


def _told(name: str, judge: Callable[[Floats], Any], rows: Floats) -> Any:
    """Ask a model; whatever it cannot do is said in one line."""
    try:
        return np.asarray(judge(rows), dtype=np.float64)
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"model {name} could not judge {len(rows)} rows: {one_line(error)}"
        ) from error
