"""The contract of a learner: something that can be trained again under changed circumstances."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.fingerprints.things import thing_fingerprint
from changeproof.model import Access, Booleans, Floats, Model, Stack
from changeproof.models.adjusted import AdjustedModel, Adjustment, RemeasuredModel
from changeproof.models.remembered import trained_once
from changeproof.models.traits import Traits
from changeproof.networks.identity import spelled_plainly
from changeproof.networks.network import Network
from changeproof.networks.stack import NetworkStack
from changeproof.networks.training import TrainingRecipe

EVERY_FIELD = frozenset(field.name for field in fields(TrainingRecipe))
TRAITS = frozenset(field.name for field in fields(Traits))


class ModelStack(tuple[Model, ...]):
    """Models of any kind behind one another."""

    def part(self, start: int, stop: int) -> ModelStack:
        """Return the models from one position up to another."""
        return ModelStack(self[start:stop])

    def probabilities(self, rows: Floats) -> Floats:
        """Return the probabilities of the favourable class [models, rows]."""
        return np.array([model.probabilities(rows) for model in self])

    def favourable(self, rows: Floats) -> Booleans:
        """Return which models call which rows favourable [models, rows]."""
        return np.array([model.favourable(rows) for model in self], dtype=np.bool_)


def stacked(models: Sequence[Model]) -> Stack:
    """Put models behind one another; networks of ours are evaluated together."""
    networks = [model for model in models if isinstance(model, Network)]
    return NetworkStack.of(networks) if len(networks) == len(models) else ModelStack(models)


class Alternative(NamedTuple):
    """Another way to train, or another kind of model, with the name that tables show."""

    level: str
    learner: Learner


class Learner(ABC):
    """A kind of model that can be trained on a task, again and again.

    Training must be deterministic: it depends on the rows and the recipe and on nothing else.

    Attributes
    ----------
    name
        Its name in tables.
    traits
        What it and its models can do; see `Traits`.
    """

    name: str
    traits: Traits = Traits()
    replacement_learners: tuple[Learner, ...] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in TRAITS & set(vars(cls)):
            raise InputError(
                f"learner {cls.__name__} sets {name!r} by itself; expected "
                f"traits = Traits({name}=...), which wrappers carry on"
            )

    @abstractmethod
    def train(self, recipes: Sequence[TrainingRecipe], task: Task) -> Stack:
        """Train one model per recipe."""

    @property
    def stores_models(self) -> bool:
        """Whether its models, and those that may replace them, can all be kept in files."""
        others = (other.learner for other in self.replacements())
        return self.traits.storable and all(learner.stores_models for learner in others)

    @property
    def fingerprint(self) -> str:
        """Hash of everything that training depends on: kind, settings, code, versions."""
        return thing_fingerprint(self)

    def plain(self, recipe: TrainingRecipe, task: Task) -> TrainingRecipe:
        """Return a recipe that trains the same, spelled plainly: what is usual is left out."""
        return spelled_plainly(recipe, task)

    def configurations(self) -> Sequence[Alternative]:
        """Return other training configurations, if any are known."""
        return ()

    def replacements(self) -> list[Alternative]:
        """Return models that may replace this one, if any are known."""
        return [Alternative(learner.name, learner) for learner in self.replacement_learners]

    def sized(self, rows: int) -> Self:
        """Return the learner as it is with so many training rows at most."""
        if not self.replacement_learners:
            return self
        found = copy(self)
        found.replacement_learners = tuple(each.sized(rows) for each in self.replacement_learners)
        return found

    def perturbed(self, model: Model, radius: float, seed: int) -> Model:
        """Return the model moved in a random direction whose largest component is the radius."""
        raise InputError(f"{self.name} has no parameters to perturb")

    def weights(self, model: Model) -> list[Floats]:
        """Return the weights of a model, layer by layer, [outputs, ...], without the biases."""
        raise InputError(f"{self.name} has no weights to change")

    def with_weights(self, model: Model, weights: Sequence[Floats]) -> Model:
        """Return the model with other weights, in the order and shapes of `weights`."""
        raise InputError(f"{self.name} has no weights to change")

    def adjusted(self, model: Model, adjustment: Adjustment) -> Model:
        """Return the model with its probabilities adjusted."""
        return AdjustedModel(model, adjustment)

    def remeasured(self, model: Model, gains: Floats, offsets: Floats) -> Model:
        """Return the model that is shown ``gains * row + offsets`` in place of every row."""
        return RemeasuredModel(model, gains, offsets)


class RefittedLearner(Learner):
    """A learner whose models are trained one by one, by a function or library of other people."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"

    def train(self, recipes: Sequence[TrainingRecipe], task: Task) -> ModelStack:
        """Train one model per recipe, or take it from where this machine remembers it."""
        return ModelStack(trained_once(self, recipes, task, self._made))

    def _made(self, recipe: TrainingRecipe, task: Task) -> Model:
        seed, learned_from = recipe.initialisation_seed, weights_and_labels(recipe, task)
        if recipe.start is not None:
            return self._further(recipe.start, seed, *learned_from)
        return self._model(task, seed, *learned_from)

    @abstractmethod
    def _model(self, task: Task, seed: int, rows: Floats, weights: Floats, labels: Any) -> Model:
        """Train one model."""

    def _further(
        self, start: Model, seed: int, rows: Floats, weights: Floats, labels: Any
    ) -> Model:
        """Train a copy of a model further; for learners that follow `start`."""
        raise InputError(f"{self.name} cannot be trained further from a model that is there")


@dataclass(repr=False, eq=False)
class FittedModel:
    """A model behind a function that gives probabilities of both or of the favourable class."""

    _predict: Any
    _name: str
    offers: ClassVar[Access] = Access.PREDICTIONS

    def __repr__(self) -> str:
        return f"FittedModel({self._name})"

    def scores(self, rows: Floats) -> Floats:
        """Return whatever the function says of rows, one finite number per row."""
        if not len(rows):
            return np.empty(0)
        # [rows], [rows, 1] or [rows, 2]
        values, n_rows = np.asarray(self._predict(rows), dtype=np.float64), len(rows)
        if values.shape == (n_rows, 2):
            values = values[:, 1]
        if values.shape not in ((n_rows,), (n_rows, 1)):
            raise InputError(
                f"model {self._name}: expected probabilities of shape ({n_rows},) or "
                f"({n_rows}, 2); got {values.shape}"
            )
        values = values.reshape(n_rows)
        if not np.isfinite(values).all():
            raise InputError(f"model {self._name}: expected finite numbers; got NaN or infinity")
        return values

    def probabilities(self, rows: Floats) -> Floats:
        """Return the probability of the favourable class, one per row."""
        values = self.scores(rows)
        if len(values) and not (values.min() >= 0.0 and values.max() <= 1.0):
            raise InputError(
                f"model {self._name}: expected probabilities between 0 and 1; got values from "
                f"{values.min():g} to {values.max():g} (other scores need a threshold)"
            )
        return values

    def favourable(self, rows: Floats) -> Booleans:
        """Return whether the favourable class is predicted: probability >= 0.5."""
        return self.probabilities(rows) >= 0.5


def weights_and_labels(recipe: TrainingRecipe, task: Task) -> tuple[Floats, Floats, Any]:
    """Return the rows that count in a recipe, their labels and how often each counts."""
    rows = np.concatenate([task.rows("train"), task.rows("update")])
    labels = np.concatenate([task.labels_of("train"), task.labels_of("update")])
    if recipe.labels is not None:
        labels = np.asarray(recipe.labels)
    weights = np.zeros(len(rows))
    weights[: len(task.split.train)] = 1.0
    if recipe.row_weights is not None:
        weights = np.asarray(recipe.row_weights, dtype=np.float64)
    counted = weights > 0
    return rows[counted], weights[counted], labels[counted].astype(np.int64)
