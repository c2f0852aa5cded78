"""Models as shipped: fitted models that judge people by their original features, as they are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from changeproof.datasets.task import Task
from changeproof.datasets.threshold import Threshold
from changeproof.errors import InputError
from changeproof.feasible.action import Action
from changeproof.fingerprints.things import thing_fingerprint
from changeproof.model import Floats, Model
from changeproof.models.learner import (
    UNKNOWN_CATEGORIES,
    Alternative,
    FittedModel,
    Learner,
    ModelStack,
    Traits,
)
from changeproof.models.recipes import recipe_identity
from changeproof.models.thresholds import check_threshold, own_scores, with_threshold
from changeproof.networks.training import TrainingRecipe

# A fitted model is one base model: that of the first base seed, which methods are tuned on too.
BASE_SEED = 2026
# On so many tasks, a model is kept ready.
MOST_TASKS = 4
# So many rows with numbers between those of the table are tried first.
TRIED_BETWEEN = 64


class ShippedModel(ABC):
    """A fitted model that judges people by their original features.

    A kind of model is a subclass with `_fitted`, and with `refits` where it can be trained again.

    Attributes
    ----------
    name
        Its name in tables.
    reference
        Where it is from, as plans show it.
    digest
        The hash of everything that it is.
    columns
        The columns of a table that it takes, in its order; None where it does not say.
    kind
        What people call it, where that is not the class of its estimator.
    """

    name: str
    reference: str
    digest: str
    columns: tuple[str, ...] | None = None
    kind: str = ""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.reference})"

    def __getstate__(self) -> dict[str, Any]:
        own, found = vars(self), type(self)
        return {k: own[k] for k in own if not isinstance(getattr(found, k, 0), cached_property)}

    def fitted(self, task: Task) -> FittedModel:
        """Return the model on the rows of a task, or refuse a task that does not fit."""
        found = self._on_tasks.get(task.fingerprint)
        if found is None:
            if len(self._on_tasks) >= MOST_TASKS:
                self._on_tasks.clear()
            found = self._on_tasks[task.fingerprint] = self._fitted(task)
        return found

    @cached_property
    def _on_tasks(self) -> dict[str, FittedModel]:
        return {}

    @abstractmethod
    def _fitted(self, task: Task) -> FittedModel:
        """Do what `fitted` does, once per task: this may ask about all training rows."""

    def unseen(self, task: Task) -> Mapping[str, Sequence[Any]]:
        """Return the categories of a task, by feature, that it is known to have never seen."""
        return {}

    def advised(self, task: Task) -> Task:
        """Return the task where advice names only categories that the model has seen.

        Of others, it knows nothing; people who have them keep them, or are told to change.
        """
        features, declared = {each.name: each for each in task.features}, dict(task.declared)
        for name, unseen in self.unseen(task).items():
            action = declared.get(name, Action())
            among = features[name].categories if action.among is None else action.among
            seen = tuple(each for each in among if each not in unseen)
            declared[name] = action.model_copy(update={"among": seen})
        return task if declared == task.declared else task.replaced(actions=declared)

    def refits(self, task: Task) -> Learner:
        """Return the learner that fits clones of it on other rows; by default one that cannot."""
        return CannotRefit(self.name)

    def model(self, task: Task, threshold: Threshold | None) -> Model:
        """Return the model with the threshold that it decides at."""
        fitted, decides_at = self.fitted(task), self.decides_at(task, threshold)
        if decides_at is None:
            return fitted
        check_threshold(self.name, decides_at, fitted.gives_scores)
        return with_threshold(fitted, decides_at, task.rows("train"))

    def decides_at(self, task: Task, given: Threshold | None) -> Threshold | None:
        """Return the threshold that it decides at: a given one, or the range that is favourable.

        None where it decides by itself.
        """
        if given is not None or task.favourable_range is None:
            return given
        return task.favourable_range if self.fitted(task).gives_scores else None


class ShippedFunction(ShippedModel):
    """A function from a DataFrame of original features to scores."""

    kind = "function"

    def __init__(self, function: Callable[..., Any], name: str, reference: str) -> None:
        self.function, self.name, self.reference = function, name, reference
        self.digest = thing_fingerprint(function)

    def _fitted(self, task: Task) -> FittedModel:
        def judge(rows: Floats) -> Any:
            return self.function(task.table_rows(rows))

        return FittedModel(judge, self.name, gives_scores=True)


class CannotRefit(Learner):
    """The learner of a model that cannot be fitted again: it refuses to train."""

    def __init__(self, name: str) -> None:
        reason = f"{name} is used as it is and cannot be fitted again"
        self.name = name
        self.traits = Traits(has_seeds=False, original=True, no_training=reason)

    def train(self, recipes: Sequence[TrainingRecipe], task: Task) -> ModelStack:
        raise InputError(self.traits.no_training)


class ShippedLearner(Learner):
    """A fitted model as a learner: the base model is the model itself.

    Changed models are clones of it that `refits` fits again, where it can be cloned. A `threshold`
    is that of the model itself; refits decide as they do.
    """

    def __init__(
        self,
        source: ShippedModel,
        task: Task,
        refits: Learner | None = None,
        threshold: Threshold | None = None,
    ) -> None:
        self.source, self.name, self.threshold = source, source.name, threshold
        clones = source.refits(task)
        self.refits = clones if refits is None else refits
        self._task_fingerprint = task.fingerprint
        fitted = source.fitted(task)
        # How it is trained, the refits say; what the base model offers is its own.
        self.traits = replace(
            self.refits.traits,
            offers=fitted.offers,
            follows=self.refits.traits.follows - {"start"},
            has_parameters=clones.traits.has_parameters,
            has_weights=clones.traits.has_weights,
            storable=clones.traits.storable,
            decides_at_half=self.refits.traits.decides_at_half and threshold is None,
            gives_scores=fitted.gives_scores,
            only_seed=BASE_SEED,
        )

    def __repr__(self) -> str:
        return f"ShippedLearner({self.source!r})"

    def train(self, recipes: Sequence[TrainingRecipe], task: Task) -> ModelStack:
        return ModelStack(
            self._base(task)
            if self._is_base(recipe, task)
            else self.refits.train([recipe], task)[0]
            for recipe in recipes
        )

    def _base(self, task: Task) -> Model:
        if self.threshold is None:
            return self.source.fitted(task)
        return self.source.model(task, self.threshold)

    def _is_base(self, recipe: TrainingRecipe, task: Task) -> bool:
        if task.fingerprint != self._task_fingerprint:
            return False
        plain, base = self.normalised(recipe, task), TrainingRecipe(initialisation_seed=BASE_SEED)
        return recipe_identity(plain) == recipe_identity(base)

    def configurations(self) -> Sequence[Alternative]:
        return self.refits.configurations()

    def replacements(self) -> list[Alternative]:
        return self.refits.replacements()


def check_decides(name: str, model: Model, task: Task) -> None:
    """Refuse a fitted model of codes among numbers, or that decides the same for all rows."""
    rows = task.rows("test")
    numbers = [feature.columns[0] for feature in task.features if not feature.categories]
    between = rows[:TRIED_BETWEEN].copy()
    between[:, numbers] = 0.5 * (between + np.roll(between, 1, axis=0))[:, numbers]
    try:
        model.favourable(between)
    except InputError as error:
        # A model that takes whole numbers only can still be told such rows.
        if UNKNOWN_CATEGORIES in str(error).lower():
            raise
    scores, threshold = own_scores(model, rows)
    accepted = model.favourable(rows)
    if accepted.all() or not accepted.any():
        raise InputError(
            f"model {name} calls {'every' if accepted.any() else 'no'} test row of {task.name!r} "
            f"favourable: its scores go from {scores.min():.4g} to {scores.max():.4g}, and the "
            f"threshold is {threshold}"
        )
