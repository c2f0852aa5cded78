"""The contract of a change family: it describes changed models and trains nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar

from pydantic import AfterValidator, Field, PositiveInt

from changeproof.datasets.task import Task
from changeproof.errors import InputError, described, one_line, unknown
from changeproof.model import Model
from changeproof.models.learner import EVERY_FIELD, Alternative, Learner, Traits
from changeproof.networks.network import Network
from changeproof.networks.training import TrainingRecipe
from changeproof.plugins import Configurable

# How many changed models a family has; the paper's number.
REPLICATES = 25
# What a family may need of a kind of model: the trait that offers it, and the words for it.
_NEEDS = {
    "parameters": (
        "has_parameters",
        "a neural network, for whose parameters its radii were chosen",
    ),
    "weights": ("has_weights", "weights, as networks and linear models have"),
    "seeds": ("has_seeds", "a seed"),
    "soft-labels": ("soft_labels", "labels between 0 and 1"),
    "row-weights": ("weighs_rows", "row weights of any size"),
    # Fields of the recipe that not every learner follows.
    "start": ("", "training that goes on from a model, as networks and PyTorch modules have"),
} | {
    field: ("", f"training that follows {field!r} of a recipe")
    for field in sorted(EVERY_FIELD - {"start"} - Traits().follows)
}
NEEDS = tuple(_NEEDS)
T = TypeVar("T")


def _different(values: Sequence[T]) -> Sequence[T]:
    if len(set(values)) < len(values):
        raise ValueError("Input should have no value twice")
    return values


# Settings: a share, and several different values of some kind.
Share = Annotated[float, Field(gt=0, lt=1)]
Several = Annotated[Sequence[T], Field(min_length=1), AfterValidator(_different)]


@dataclass(frozen=True, eq=False)
class BaseModel:
    """The model that changes, of any kind, and its seed."""

    seed: int
    model: Model


@dataclass(frozen=True, eq=False)
class Variant:
    """One changed model: the level and replicate of the change, and how the model comes about.

    `change` is a recipe still to be trained or, where nothing is trained, the finished model.
    `learner` is set where another kind of model takes the base model's place, `task` where it is
    trained on other rows or columns. `finish` turns what was trained into a model over the columns
    of the base model's task, where it is none yet.
    """

    level: str
    replicate: int
    change: TrainingRecipe | Model
    learner: Learner | None = None
    task: Task | None = None
    finish: Callable[[Model], Model] | None = None


class Label(NamedTuple):
    """What people read: in full, in a narrow column, and as a heading with a word on each line."""

    full: str
    short: str = ""
    heading: str = ""


Rounds = Generator[Sequence[Variant], list[Model], None]


class Family(Configurable, ABC):
    """A kind of change that may happen to a model.

    Subclasses set `name` and `summary`, take their settings as keyword arguments with defaults
    (kept under the same attribute names), and implement `variants`.

    A family whose changed models need no training says so (`trains`): it can happen to models that
    cannot be fitted again. What else it `needs` of a model is said by name, one or several:
    "parameters", "weights", "seeds", "soft-labels", "row-weights", or the fields of a recipe that
    training has to follow, such as "hidden". `reason_against` says what has no name. Where a model
    does not offer it, the family is left out with the reason.

    A family is `real` if its changes have happened; averages over what was simulated leave it out.
    Of a family that is a `sequence`, levels are updates that follow each other, and a replicate is
    one future: advice may hold up to some update, and no longer.
    """

    summary: str
    label: ClassVar[Label | None] = None
    # How many networks' worth of training a changed model is.
    cost: ClassVar[float] = 1.0
    real: ClassVar[bool] = False
    sequence: ClassVar[bool] = False
    # How many months there are between two updates of a sequence, where that is said.
    months: float | None = None
    trains: ClassVar[bool] = True
    needs: ClassVar[str | Sequence[str]] = ()

    @abstractmethod
    def variants(self, task: Task, base: BaseModel, learner: Learner) -> Sequence[Variant]:
        """Describe the changed models of one base model, always in the same order."""

    def rounds(self, task: Task, base: BaseModel, learner: Learner) -> Rounds:
        """Describe them round by round, where some follow from the models of others.

        Each round is sent the models that the one before described.
        """
        yield self.variants(task, base, learner)

    @property
    def expected_models(self) -> int:
        """About how many changed models there will be: all updates of every replicate."""
        return int(getattr(self, "replicates", REPLICATES) * getattr(self, "updates", 1))

    def reason_against(self, learner: Learner) -> str | None:
        """Return why this cannot happen to a kind of model; None if it can."""
        return None

    def reason_against_task(self, task: Task) -> str | None:
        """Return why this cannot happen on these data; None if it can."""
        return None

    def left_out(self, learner: Learner, tasks: Iterable[Task]) -> str:
        """Return the first reason why this cannot happen to a model; "" if it can."""
        try:
            return (
                (learner.traits.no_training if self.trains else "")
                or _unmet(checked_needs(self.needs), learner)
                or self.reason_against(learner)
                or next(filter(None, map(self.reason_against_task, tasks)), "")
            )
        except Exception as error:
            raise InputError(
                f"family {self.name!r} cannot say whether it fits {learner.name}: {one_line(error)}"
            ) from error


class ReplicatedFamily(Family):
    """A family whose number of changed models is a setting.

    Parameters
    ----------
    replicates
        How many changed models there are; where there are several levels, these share them.
    """

    def __init__(self, *, replicates: PositiveInt = REPLICATES) -> None:
        self.replicates = replicates

    def shared_out(self, levels: Sequence[T], besides: int = 0) -> list[tuple[T, int]]:
        """Return (level, replicate) for all changed models but `besides`, shared out evenly."""
        each, more = divmod(self.replicates - besides, len(levels))
        return [
            (level, r) for place, level in enumerate(levels) for r in range(each + (place < more))
        ]

    def with_seeds(
        self, levels: Iterable[T], first: int, apart: int = 1_000
    ) -> list[tuple[T, int, int]]:
        """Return (level, replicate, seed): seeds follow each other, those of levels are `apart`."""
        shared = self.shared_out(list(enumerate(levels)))
        return [(level, r, first + apart * place + r) for (place, level), r in shared]

    def cycled(
        self, variants: Sequence[Variant], learner: Learner, further: int = 0
    ) -> list[Variant]:
        """Go through variants round by round, from the second on with other seeds.

        These are `further` away. A kind of model without seeds would only be the same again, and
        is not repeated.
        """
        found: list[Variant] = []
        for replicate in range(self.replicates):
            for variant in variants:
                recipe, kind = variant.change, variant.learner or learner
                if isinstance(recipe, TrainingRecipe) and (replicate == 0 or kind.traits.has_seeds):
                    seed = recipe.initialisation_seed + (further + replicate if replicate else 0)
                    change = replace(recipe, initialisation_seed=seed)
                    found.append(replace(variant, replicate=replicate, change=change))
        return found[: self.replicates]


def alternatives(base: BaseModel, others: Iterable[Alternative]) -> list[Variant]:
    """Return other kinds of models as variants, trained like the base model."""
    recipe = TrainingRecipe(initialisation_seed=base.seed)
    return [Variant(other.level, 0, recipe, other.learner) for other in others]


def other_layers(base: BaseModel, shapes: Iterable[tuple[int, ...]]) -> list[Variant]:
    """Return networks of other hidden layers than the base network's as variants."""
    own = base.model.hidden if isinstance(base.model, Network) else ()
    recipe = TrainingRecipe(initialisation_seed=base.seed)
    return [
        Variant("-".join(map(str, hidden)), 0, replace(recipe, hidden=hidden))
        for hidden in shapes
        if hidden != own
    ]


def percent(share: float) -> str:
    return f"{100 * share:g}%"


def either(numbers: Sequence[float]) -> str:
    """Return numbers as people read them: "1, 5 or 10"."""
    *first, last = (f"{number:g}" for number in numbers)
    return f"{', '.join(first)} or {last}" if first else last


def checked_needs(needs: Any) -> tuple[str, ...]:
    given = (needs,) if isinstance(needs, str) else needs
    names = given if isinstance(given, Sequence) else (described(given),)
    for name in names:
        if name not in NEEDS:
            raise unknown("need of a family", str(name), NEEDS)
    return tuple(names)


def _unmet(needs: Sequence[str], learner: Learner) -> str:
    """Return which need a kind of model does not meet, in words; "" if it meets all."""
    for name in needs:
        trait, words = _NEEDS[name]
        if getattr(learner.traits, trait) if trait else name in learner.traits.follows:
            continue
        if name == "seeds":
            return f"needs {words}: {learner.name} is the same whatever its seed"
        return f"needs {words}; this is {learner.name}"
    return ""
