"""Models as shipped: fitted models that judge people by their original features, as they are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.feasible.feature import text_of
from changeproof.fingerprints.things import thing_fingerprint
from changeproof.model import Floats, Model
from changeproof.models.learner import Alternative, FittedModel, Learner, ModelStack, Traits
from changeproof.models.recipes import recipe_identity
from changeproof.models.thresholds import Threshold, check_threshold, own_scores, with_threshold
from changeproof.networks.training import TrainingRecipe

# A fitted model is one base model: that of the first base seed, which methods are tuned on too.
BASE_SEED = 2026


class ShippedModel(ABC):
    """A fitted model that judges people by their original features.

    A kind of model is a subclass with `fitted`, and with `refits` where it can be trained again.

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

    @abstractmethod
    def fitted(self, task: Task) -> FittedModel:
        """Return the model on the rows of a task, or refuse a task that does not fit."""

    def refits(self, task: Task) -> Learner:
        """Return the learner that fits clones of it on other rows; by default one that cannot."""
        return CannotRefit(self.name)

    def model(self, task: Task, threshold: Threshold | None) -> Model:
        """Return the model with the threshold that it decides at."""
        fitted = self.fitted(task)
        if threshold is None:
            return fitted
        check_threshold(self.name, threshold, fitted.gives_scores)
        return with_threshold(fitted, threshold, task.rows("train"))


class ShippedFunction(ShippedModel):
    """A function from a DataFrame of original features to scores."""

    kind = "function"

    def __init__(self, function: Callable[..., Any], name: str, reference: str) -> None:
        self.function, self.name, self.reference = function, name, reference
        self.digest = thing_fingerprint(function)

    def fitted(self, task: Task) -> FittedModel:
        def judge(rows: Floats) -> Any:
            return self.function(original_frame(task, rows))

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
            self.source.model(task, self.threshold)
            if self._is_base(recipe, task)
            else self.refits.train([recipe], task)[0]
            for recipe in recipes
        )

    def _is_base(self, recipe: TrainingRecipe, task: Task) -> bool:
        if task.fingerprint != self._task_fingerprint:
            return False
        plain, base = self.normalised(recipe, task), TrainingRecipe(initialisation_seed=BASE_SEED)
        return recipe_identity(plain) == recipe_identity(base)

    def configurations(self) -> Sequence[Alternative]:
        return self.refits.configurations()

    def replacements(self) -> list[Alternative]:
        return self.refits.replacements()


def original_frame(task: Task, rows: Floats) -> pd.DataFrame:
    """Return rows as the table has them; numbers that are not from a table are floats."""
    return task.table_rows(rows)


def favourable_classes(name: str, classes: Sequence[Any], task: Task) -> list[int]:
    """Return which of a model's classes are favourable: those of the data, or 1 of 0 and 1."""
    texts = [text_of(value) for value in classes]
    wanted = {text_of(value) for value in task.favourable_values}
    found = [place for place, text in enumerate(texts) if text in wanted]
    if 0 < len(found) < len(texts):
        return found
    if texts in (["0", "1"], ["False", "True"]):
        return [1]
    expected = f"{', '.join(sorted(wanted))} and others, or 0 and 1" if wanted else "0 and 1"
    raise InputError(
        f"model {name} knows the outcomes {', '.join(texts)}; expected {expected}, to tell which "
        "is favourable"
    )


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
