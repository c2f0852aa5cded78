"""The contract of a learner: a kind of model that can be trained again under changed circumstances.

Any training function is a learner. Those of libraries stand beside this module.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, fields
from functools import cached_property
from textwrap import shorten
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from changeproof.datasets.task import Task
from changeproof.datasets.threshold import HALF
from changeproof.errors import InputError, one_line, setting
from changeproof.fingerprints.things import thing_fingerprint
from changeproof.model import Access, Booleans, Floats, HasParameters, HasWeights, Model, Stack
from changeproof.models.cache import train_cached
from changeproof.models.recipes import favourable_shares, normalised, own_labels
from changeproof.networks.network import Network
from changeproof.networks.stack import NetworkStack
from changeproof.networks.training import TrainingRecipe, usual_weights

if TYPE_CHECKING:
    from changeproof.models.forests.views import ForestView, ViewStack

PARAMETERS = ("X", "y", "sample_weight", "seed")
# What scikit-learn's encoders say of a category that they were not fitted with.
UNKNOWN_CATEGORIES = "unknown categor"
LONGEST_REASON = 200
EVERY_FIELD = frozenset(field.name for field in fields(TrainingRecipe))


@dataclass(frozen=True, kw_only=True)
class Traits:
    """What a learner and its models can do.

    A learner has one such record. One that wraps another takes that one's and changes what it
    changes: ``dataclasses.replace(learner.traits, decides_at_half=False)``.

    Parameters
    ----------
    offers
        What methods may use of its models.
    follows
        The fields of a recipe that training follows. Every learner follows the seed, the weights
        of the rows and the labels.
    has_seeds
        Whether another seed gives another model.
    has_parameters
        Whether `perturbed` can move a model's parameters a little.
    has_weights
        Whether `weights` returns a model's weights, and `with_weights` replaces them.
    soft_labels
        Whether labels may lie between 0 and 1.
    weighs_rows
        Whether row weights may be other than whole numbers.
    original
        Whether it takes the original features by name, and so does not see any others.
    decides_at_half
        Whether its models call favourable what they think more likely than not.
    gives_scores
        Whether its models may give scores that are not probabilities.
    predicts_numbers
        Whether its models predict numbers, of which a range is favourable.
    storable
        Whether its models can be stored in run directories. Others would have to be unpickled, so
        they are trained again.
    no_training
        Why it cannot train changed models; "" where it can.
    only_seed
        The one base seed that there is, where the base model is fitted already.
    forests
        Whether its models are forests of trees that are evaluated by kernels of our own.
    """

    offers: Access = Access.PREDICTIONS
    follows: frozenset[str] = frozenset({"initialisation_seed", "row_weights", "labels"})
    has_seeds: bool = True
    has_parameters: bool = False
    has_weights: bool = False
    soft_labels: bool = False
    weighs_rows: bool = True
    original: bool = False
    decides_at_half: bool = True
    gives_scores: bool = False
    predicts_numbers: bool = False
    storable: bool = False
    no_training: str = ""
    only_seed: int | None = None
    forests: bool = False


TRAITS = frozenset(field.name for field in fields(Traits))


class ModelStack(tuple[Model, ...]):
    """Models of any kind, one after the other."""

    def part(self, start: int, stop: int) -> ModelStack:
        return ModelStack(self[start:stop])

    def probabilities(self, rows: Floats) -> Floats:
        result = np.empty((len(self), len(rows)))
        for number in self._alone:
            result[number] = self[number].probabilities(rows)
        for forests in self._forests:
            result[forests.members] = forests.probabilities(rows)
        return result

    def favourable(self, rows: Floats) -> Booleans:
        result = np.empty((len(self), len(rows)), dtype=np.bool_)
        for number in self._alone:
            result[number] = self[number].favourable(rows)
        for forests in self._forests:
            result[forests.members] = forests.probabilities(rows) >= 0.5
        return result

    def reaches(self, rows: Floats, least: Floats) -> Booleans:
        """Return where probabilities are at least these [models]; some models know it sooner."""
        result = np.empty((len(self), len(rows)), dtype=np.bool_)
        for number in self._alone:
            model = self[number]
            view = model.as_forest if isinstance(model, FittedModel) else None
            if view is not None:
                result[number] = view.reaches(rows, least[number])
            else:
                result[number] = model.probabilities(rows) >= least[number]
        for forests in self._forests:
            result[forests.members] = forests.reaches(rows, least[forests.members])
        return result

    @cached_property
    def _forests(self) -> list[ViewStack]:
        """Those of the models that are forests and are evaluated together, which is faster."""
        views = [getattr(model, "as_forest", None) for model in self]
        if not any(views):
            return []
        from changeproof.models.forests.views import together  # scikit-learn, when it is needed

        return together(views)

    @cached_property
    def _alone(self) -> list[int]:
        together = {number for forests in self._forests for number in forests.members}
        return [number for number in range(len(self)) if number not in together]


def stacked(models: Sequence[Model]) -> Stack:
    """Stack models in the given order; our own networks are evaluated together."""
    networks = [model for model in models if isinstance(model, Network)]
    return NetworkStack.of(networks) if len(networks) == len(models) else ModelStack(models)


class Alternative(NamedTuple):
    """Another way to train, or another kind of model; tables show its level."""

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
        """Whether its models, and those that may replace them, can all be stored."""
        others = self.replacements()
        return self.traits.storable and all(other.learner.stores_models for other in others)

    @property
    def fingerprint(self) -> str:
        """Hash of everything that training depends on: kind, settings, code, versions."""
        return thing_fingerprint(self)

    def check(self, task: Task) -> None:  # noqa: B027  most have nothing to check
        """Refuse a task that it cannot be trained on, as far as that is known before."""

    def offers_on(self, task: Task) -> Access:
        """Return what methods may use of its models of a task, known before any is trained."""
        return self.traits.offers

    def decides_at_half_on(self, task: Task) -> bool:
        """Return whether its models of a task call favourable what is more likely than not."""
        return self.traits.decides_at_half

    def favourable_or_not(self) -> Learner:
        """Return the learner whose models tell favourable from the rest, whatever the classes."""
        return self

    def normalised(self, recipe: TrainingRecipe, task: Task) -> TrainingRecipe:
        """Return the canonical form of a recipe: defaults are left out."""
        return normalised(recipe, task)

    def configurations(self) -> Sequence[Alternative]:
        """Return other training configurations, if any are known."""
        return ()

    def replacements(self) -> list[Alternative]:
        """Return models that may replace this one, if any are known."""
        return [Alternative(learner.name, learner) for learner in self.replacement_learners]

    def sized(self, rows: int) -> Self:
        """Return the learner for at most this many training rows."""
        found = copy(self)
        found.replacement_learners = tuple(each.sized(rows) for each in self.replacement_learners)
        return found

    def perturbed(self, model: Model, radius: float, seed: int) -> Model:
        """Return the model moved in a random direction whose largest component is the radius."""
        if not isinstance(model, HasParameters):
            raise InputError(f"{self.name} has no parameters to perturb")
        return model.perturbed(radius, seed)

    def weights(self, model: Model) -> list[Floats]:
        """Return the weights of a model, layer by layer, [outputs, ...], without the biases."""
        if not isinstance(model, HasWeights):
            raise InputError(f"{self.name} has no weights to change")
        return model.layer_weights()

    def with_weights(self, model: Model, weights: Sequence[Floats]) -> Model:
        """Return the model with other weights, in the order and shapes of `weights`."""
        if not isinstance(model, HasWeights):
            raise InputError(f"{self.name} has no weights to change")
        return model.with_layer_weights(weights)


class TrainingRequest(NamedTuple):
    """A recipe, who trains it and on which task; or a finished model in place of the recipe.

    `learner` is a learner, or a method's private one.
    """

    change: TrainingRecipe | Model
    learner: Any
    task: Task


def train_all(requests: Sequence[TrainingRequest]) -> list[Model]:
    """Return a model per request; those of one learner and task are trained together."""
    models: list[Any] = [request.change for request in requests]
    places: dict[tuple[Any, Task], list[int]] = {}
    for place, (change, learner, task) in enumerate(requests):
        if isinstance(change, TrainingRecipe):
            places.setdefault((learner, task), []).append(place)
    for (learner, task), some in places.items():
        trained = learner.train([models[place] for place in some], task)
        for number, place in enumerate(some):
            models[place] = trained[number]
    return models


class CountedRows(NamedTuple):
    """The rows that count in a recipe, how often each counts, and their labels.

    `outcomes` are what the labels stand for, where a task knows more than the labels.
    """

    rows: Floats
    weights: Floats
    labels: Any
    outcomes: Any = None

    @classmethod
    def of(cls, recipe: TrainingRecipe, task: Task) -> Self:
        rows = np.concatenate([task.rows("train"), task.rows("update")])
        labels = own_labels(task) if recipe.labels is None else np.asarray(recipe.labels)
        weights = recipe.row_weights
        if weights is None:
            weights = usual_weights(len(task.split.train), len(task.split.update))
        counts = np.asarray(weights, dtype=np.float64)
        counted = counts > 0
        outcomes = _outcomes(task, labels)
        if task.classes is not None:
            labels = np.asarray(favourable_shares(task.classes, labels) >= HALF)
        return cls(
            rows[counted],
            counts[counted],
            labels[counted].astype(np.int64),
            None if outcomes is None else outcomes[counted],
        )


def _outcomes(task: Task, labels: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
    """Return the outcomes that labels stand for; a changed label has the usual one of its side."""
    train, update = task.outcomes_of("train"), task.outcomes_of("update")
    if train is None or update is None:
        return None
    outcomes, own = np.concatenate([train, update]), own_labels(task)
    if task.classes is not None and labels.ndim == 2:
        known = np.array(task.classes.outcomes, dtype=outcomes.dtype)
        return np.asarray(known[labels.argmax(axis=1)])
    for label in (0, 1):
        changed = (labels != own) & (labels == label)
        if changed.any():
            outcomes[changed] = task.usual_outcome(label)
    return outcomes


class RefittedLearner(Learner):
    """A learner whose models are trained one by one, by a function or another library."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"

    def train(self, recipes: Sequence[TrainingRecipe], task: Task) -> ModelStack:
        return ModelStack(train_cached(self, recipes, task, self._train_one))

    def _train_one(self, recipe: TrainingRecipe, task: Task) -> Model:
        if recipe.start is not None and "start" not in self.traits.follows:
            raise InputError(f"{self.name} cannot continue training from a given model")
        data = CountedRows.of(recipe, task)
        return self._fit(task, recipe.initialisation_seed, data, recipe.start)

    @abstractmethod
    def _fit(self, task: Task, seed: int, data: CountedRows, start: Model | None) -> Model:
        """Train one model; or a copy of `start` further, for learners that follow it."""


@dataclass(repr=False, eq=False)
class FittedModel:
    """A model given by a function of rows that returns probabilities or, if it may, scores."""

    _predict: Any
    _name: str
    gives_scores: bool = False

    def __repr__(self) -> str:
        return f"FittedModel({self._name})"

    @property
    def offers(self) -> Access:
        return Access.PREDICTIONS

    @property
    def as_forest(self) -> ForestView | None:
        """The same model as a forest, if it is known to be one."""
        return None

    def scores(self, rows: Floats) -> Floats:
        """Return what the function gives, one finite number per row."""
        return self._numbers(self._predict, rows)

    def _numbers(self, judge: Callable[[Floats], Any], rows: Floats) -> Floats:
        n_rows = len(rows)
        if not n_rows:
            return np.empty(0)
        try:
            # A copy: a column of a DataFrame cannot be written to.
            values = np.array(judge(rows), dtype=np.float64)
        except (InputError, MemoryError):
            raise
        except Exception as error:
            raise InputError(
                f"model {self._name} could not judge {n_rows} rows: {_why_not(error)}"
            ) from error
        if values.shape == (n_rows, 2):
            values = values[:, 1]
        if values.shape not in ((n_rows,), (n_rows, 1)):
            raise InputError(
                f"model {self._name}: expected probabilities of shape ({n_rows},) or "
                f"({n_rows}, 2); got {values.shape}"
            )
        if bad := np.count_nonzero(~np.isfinite(values)):
            raise InputError(
                f"model {self._name}: expected finite numbers; got NaN or infinity for {bad} of "
                f"{n_rows} rows"
            )
        return values.reshape(n_rows)

    def probabilities(self, rows: Floats) -> Floats:
        return self._checked(self.scores(rows))

    def _checked(self, values: Floats) -> Floats:
        if len(values) and not (values.min() >= 0.0 and values.max() <= 1.0):
            raise InputError(
                f"model {self._name}: expected probabilities between 0 and 1; got values from "
                f"{values.min():g} to {values.max():g} (other scores need a threshold)"
            )
        return values

    def favourable(self, rows: Floats) -> Booleans:
        return self.probabilities(rows) >= 0.5


def _why_not(error: Exception) -> str:
    """Return in a line why a model could not judge rows."""
    words = shorten(one_line(error), LONGEST_REASON, placeholder=" …")
    if UNKNOWN_CATEGORIES not in words.lower() or "['" in words:
        return words
    say = setting(categorical=["COLUMN"])
    return (
        f"{words}; if a column of numbers holds categories, say {say}, or give them as text in a "
        "Parquet file if the model was fitted on text"
    )


class FunctionLearner(RefittedLearner):
    """A function ``fit(X, y, sample_weight, seed)`` that returns ``predict_proba``.

    Parameters
    ----------
    fit
        Called with standardised rows [rows, features], labels 0 (adverse) and 1 (favourable),
        how often each row counts, and a seed. Returns a function of rows that gives the
        probability of the favourable class, [rows] or [rows, 2].
    name
        Its name in tables; by default the function's name.
    """

    traits = Traits(gives_scores=True)

    def __init__(self, fit: Callable[..., Any], name: str | None = None) -> None:
        if not callable(fit):
            raise InputError(f"a training function must be callable; got {fit!r}")
        own_name = getattr(fit, "__name__", type(fit).__name__)
        _check_signature(fit, own_name)
        self.fit, self.name = fit, own_name if name is None else name

    def _fit(self, task: Task, seed: int, data: CountedRows, start: Model | None) -> Model:
        predict = self.fit(data.rows, data.labels, data.weights, seed)
        if not callable(predict):
            raise InputError(
                f"training function {self.name}{PARAMETERS} must return a function of rows that "
                f"gives probabilities; got {type(predict).__name__}"
            )
        return FittedModel(predict, self.name)


def can_train(fit: Callable[..., Any]) -> bool:
    """Return whether a function can be called like a training function, as far as is known."""
    try:
        inspect.signature(fit).bind(*PARAMETERS)
    except TypeError:
        return False
    except ValueError:  # it has no signature
        return True
    return True


def _check_signature(fit: Callable[..., Any], name: str) -> None:
    if not can_train(fit):
        raise InputError(
            f"model {name}{inspect.signature(fit)} cannot be called with "
            f"({', '.join(PARAMETERS)}); expected a function that trains, and returns one that "
            "predicts"
        )


def splits_of(models: Sequence[Model]) -> list[Floats] | None:
    """Return, per column, the values above which one of some forests judges numbers otherwise.

    None where not all models are forests whose splits are known.
    """
    views = [model.as_forest if isinstance(model, FittedModel) else None for model in models]
    found = [None if view is None else view.splits for view in views]
    known = [splits for splits in found if splits is not None]
    if not known or len(known) < len(found):
        return None
    return [np.unique(np.concatenate(own)) for own in zip(*known, strict=True)]
