"""The contract of a change family: it describes changed models and trains nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, TypeVar

from changeproof.changes.needs import checked_needs, unmet
from changeproof.datasets.task import Task
from changeproof.errors import InputError, one_line
from changeproof.model import Model
from changeproof.models.learner import Alternative, Learner
from changeproof.networks.training import TrainingRecipe
from changeproof.plugins import Configurable

# How many changed models a family has; the paper's number.
REPLICATES = 25
T = TypeVar("T")


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
    cannot be fitted again. What else it `needs` of a model it says by name, one or several (see
    `changes/needs.py`): "parameters", "weights", "seeds", "soft-labels", "row-weights", or the
    fields of a recipe that training has to follow, such as "hidden". What cannot be said by name
    `reason_against` says. Where a model does not offer it, the family is left out with the reason.

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
        """How many changed models there will be, about."""
        return int(getattr(self, "replicates", REPLICATES))

    def reason_against(self, learner: Learner) -> str | None:
        """Return why this cannot happen to a kind of model; None if it can."""
        return None

    def reason_against_task(self, task: Task) -> str | None:
        """Return why this cannot happen on these data; None if it can."""
        return None

    def left_out(self, learner: Learner, tasks: Iterable[Task]) -> str:
        """Return the first reason of all why this cannot happen to a model; "" if it can."""
        try:
            return (
                (learner.traits.no_training if self.trains else "")
                or unmet(checked_needs(self.needs), learner)
                or self.reason_against(learner)
                or next(filter(None, map(self.reason_against_task, tasks)), "")
            )
        except Exception as error:
            raise InputError(
                f"family {self.name!r} cannot say whether it fits {learner.name}: {one_line(error)}"
            ) from error


class ReplicatedFamily(Family):
    """A family with as many changed models as one likes.

    Parameters
    ----------
    replicates
        How many changed models there are.
    """

    def __init__(self, *, replicates: int = REPLICATES) -> None:
        if not isinstance(replicates, int) or replicates < 1:
            raise InputError(f"replicates must be a whole number of 1 or more; got {replicates!r}")
        self.replicates = replicates

    def shared_out(self, levels: Sequence[T], besides: int = 0) -> list[tuple[T, int]]:
        """Return (level, replicate) for all changed models but some; first levels get one more."""
        each, more = divmod(self.replicates - besides, len(levels))
        return [
            (level, r) for place, level in enumerate(levels) for r in range(each + (place < more))
        ]

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


def percent(share: float) -> str:
    """Return a share as the level's name."""
    return f"{100 * share:g}%"
