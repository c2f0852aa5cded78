"""Models of a method's own: what the base model may become, as far as the method expects.

The kinds of change are those of the evaluation, with its shares, radii, hidden layers and
optimisers (`models/recipes.py`). The models are not: new initialisations and samples have seeds
that are half the range of seeds away from those of the changed models, and learning rates lie
between theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Protocol, TypeVar

import numpy as np

from changeproof.arithmetic.functions import normal_tails
from changeproof.arithmetic.votes import least_share
from changeproof.errors import InputError, unknown
from changeproof.methods.method import Context
from changeproof.methods.quorum.points import TINY, Jury
from changeproof.model import Booleans, Floats, Integers, Model
from changeproof.models.private import FAR_AWAY, SEEDS, PrivateLearner
from changeproof.models.recipes import (
    ADDED_SHARES,
    DELETED_SHARES,
    FLIPPED_SHARES,
    HIDDEN_LAYERS,
    RADII,
    addition_recipe,
    bootstrap_recipe,
    configuration_recipes,
    deletion_recipe,
    label_flip_recipe,
)
from changeproof.networks.training import TrainingRecipe

# What a private model is for: to agree, to choose the threshold, or to bound what came out.
Role = Literal["member", "judge", "witness"]
# The seeds of changed models are less than this above the base seed.
SEEDS_OF_A_BANK = 2**20
# Kinds of change in a pool, by turns: only those that move a model far, if any of them is expected.
# Points that these accept, the others mostly accept as well.
FAR_REACHING = (
    *(3 * ("bootstrap", "architecture", "label-update", "new-initialization")),
    *("bootstrap", "label-update", "architecture", "bootstrap"),
)
# Kinds of change among judges, by turns: all kinds, and more of those whose models differ most in
# what they refuse. All kinds count the same, so one odd judge decides less where there are more.
JUDGING = (
    *("new-initialization", "bootstrap", "data-deletion", "data-addition", "label-update"),
    *("training-configuration", "architecture", "parameter-perturbation"),
    *("architecture", "label-update", "bootstrap", "training-configuration", "architecture"),
    *("label-update", "new-initialization", "bootstrap", "architecture", "label-update"),
    *("training-configuration", "architecture", "bootstrap", "label-update", "architecture"),
    *("new-initialization", "training-configuration", "bootstrap", "label-update"),
    "new-initialization",
)
# Shares of flipped labels, by turns: in a pool the largest, among judges all of them.
FLIPPED: dict[Role, tuple[float, ...]] = {
    "member": FLIPPED_SHARES[-1:],
    "judge": tuple(FLIPPED_SHARES[place] for place in (2, 1, 2, 0, 2, 1)),
    "witness": FLIPPED_SHARES,
}
# Small networks refuse most. For judges to be like all architectures, the small, the middling and
# the large third take turns.
_BY_SIZE = tuple(sorted(HIDDEN_LAYERS, key=sum))
HIDDEN_FOR_JUDGES = (_BY_SIZE[17:], _BY_SIZE[8:17], _BY_SIZE[:8])
# Neighbours in a list of settings are alike, so members take every seventh.
STRIDE = 7
# What is left out of the training rows where nothing else makes a model another.
FEW = DELETED_SHARES[1]
CONFIDENCE = 0.95
HALF_AN_OCTAVE = 2.0**0.5


T = TypeVar("T")


class Member(NamedTuple):
    """A model still to be trained, by another learner if one is named, or a finished one.

    `kind` says what happened to it, and `strength` how much, where that makes another model of it.
    """

    change: TrainingRecipe | Model
    learner: PrivateLearner | None = None
    kind: str = ""
    strength: float = 0.0


class Turn(NamedTuple):
    """What a member depends on; `number` counts the members of its kind."""

    context: Context
    seed: int
    number: int
    role: Role

    def next_of(self, values: Sequence[T]) -> T:
        """Return one of few, by turns; of witnesses each is drawn, whatever the others are."""
        return self._drawn(values) if self.role == "witness" else values[self.number % len(values)]

    def one_of(self, values: Sequence[T]) -> T:
        """Return one of many: a pool shall be diverse, and the others like changed models."""
        if self.role == "member":
            return values[STRIDE * self.number % len(values)]
        return self._drawn(values)

    def _drawn(self, values: Sequence[T]) -> T:
        count = len(values)
        return values[int(np.random.default_rng((self.seed, count)).integers(count))]


def private_seed(base_seed: int, number: int) -> int:
    """Return a seed that no changed model of this base model has."""
    if not 0 <= number < FAR_AWAY - SEEDS_OF_A_BANK:
        raise InputError(f"a private seed has a number from 0 to about 2^30; got {number}")
    return (base_seed + FAR_AWAY + number) % SEEDS


def _initialised(turn: Turn) -> Member:
    return Member(TrainingRecipe(initialisation_seed=turn.seed))


def _resampled(turn: Turn) -> Member:
    return Member(bootstrap_recipe(turn.context.task, turn.context.base_seed, turn.seed))


def _shortened(turn: Turn) -> Member:
    share = turn.next_of(DELETED_SHARES)
    return Member(deletion_recipe(turn.context.task, share, turn.context.base_seed, turn.seed))


def _extended(turn: Turn) -> Member:
    # Not the whole: that can be added in one way only, which is a changed model's.
    share = turn.next_of(ADDED_SHARES)
    return Member(addition_recipe(turn.context.task, share, turn.context.base_seed, turn.seed))


def _relabelled(turn: Turn) -> Member:
    share = turn.next_of(FLIPPED[turn.role])
    return Member(
        label_flip_recipe(turn.context.task, share, turn.context.base_seed, turn.seed),
        strength=share,
    )


def _reconfigured(turn: Turn) -> Member:
    if "optimiser" not in turn.context.learner.traits.follows:
        return _alternative(turn, turn.context.learner.configurations())
    recipes = configuration_recipes(turn.context.base_seed)
    recipe = turn.one_of(recipes)
    # Another learning rate, up to half an octave away, between those of the same optimiser.
    rates = [other.learning_rate for other in recipes if other.optimiser == recipe.optimiser]
    low = max(min(rates), recipe.learning_rate / HALF_AN_OCTAVE)
    high = min(max(rates), recipe.learning_rate * HALF_AN_OCTAVE)
    rate = float(np.random.default_rng(turn.seed).uniform(low, high))
    return Member(replace(recipe, learning_rate=rate))


def _rebuilt(turn: Turn) -> Member:
    if "hidden" not in turn.context.learner.traits.follows:
        return _alternative(turn, turn.context.learner.replacements())
    shapes = turn.next_of(HIDDEN_FOR_JUDGES) if turn.role == "judge" else HIDDEN_LAYERS
    return Member(TrainingRecipe(initialisation_seed=turn.seed, hidden=turn.one_of(shapes)))


def _alternative(turn: Turn, learners: Sequence[PrivateLearner]) -> Member:
    """Train another kind of model; one without seeds on other rows, to be none of the bank's.

    A member of the pool is trained on a sample. A judge or a witness shall be like changed models,
    which know all rows: few are left out.
    """
    other, task = turn.next_of(learners), turn.context.task
    if other.traits.has_seeds:
        return Member(TrainingRecipe(initialisation_seed=turn.seed), other)
    if turn.role == "member":
        return Member(bootstrap_recipe(task, turn.seed, turn.seed), other)
    return Member(deletion_recipe(task, FEW, turn.seed, turn.seed), other)


def _perturbed(turn: Turn) -> Member:
    # Such a seed becomes a private one when the model is moved.
    seed = turn.seed - FAR_AWAY
    return Member(turn.context.learner.perturbed(turn.context.model, turn.next_of(RADII), seed))


KINDS: dict[str, Callable[[Turn], Member]] = {
    "new-initialization": _initialised,
    "bootstrap": _resampled,
    "data-deletion": _shortened,
    "data-addition": _extended,
    "label-update": _relabelled,
    "training-configuration": _reconfigured,
    "architecture": _rebuilt,
    "parameter-perturbation": _perturbed,
}


def supported_kinds(learner: PrivateLearner) -> tuple[str, ...]:
    """Return the kinds of change that can happen to a kind of model."""
    possible = {
        "new-initialization": learner.traits.has_seeds,
        "training-configuration": "optimiser" in learner.traits.follows or learner.configurations(),
        "architecture": "hidden" in learner.traits.follows or learner.replacements(),
        "parameter-perturbation": learner.traits.has_parameters,
    }
    return tuple(kind for kind in KINDS if possible.get(kind, True))


def checked_kinds(expect: Sequence[str]) -> tuple[str, ...]:
    """Return kinds of change in the order of the families; none stands for all of them."""
    for kind in expect:
        if kind not in KINDS:
            raise unknown("kind of change", kind, tuple(KINDS))
    return tuple(kind for kind in KINDS if kind in expect)


class Sizes(NamedTuple):
    """How many private models there are of each role."""

    members: int
    judges: int
    witnesses: int


class PrivateModels(NamedTuple):
    members: list[Member]
    judges: list[Member]
    witnesses: list[Member]


def expected_members(context: Context, kinds: Sequence[str], sizes: Sizes) -> PrivateModels:
    """Describe so many models of each role, kind after kind; no two of all are the same."""

    def described(turns: Sequence[str], first: int, count: int, role: Role) -> list[Member]:
        turns = [kind for kind in turns if kind in kinds] or kinds
        found, numbers = [], dict.fromkeys(kinds, 0)
        for place in range(count):
            kind = turns[place % len(turns)]
            seed = private_seed(context.base_seed, first + place)
            turn = Turn(context, seed, numbers[kind], role)
            found.append(KINDS[kind](turn)._replace(kind=kind))
            numbers[kind] += 1
        return found

    members, judges, witnesses = sizes
    return PrivateModels(
        described(FAR_REACHING, 0, members, "member"),
        described(JUDGING, members, judges, "judge"),
        described(tuple(KINDS), members + judges, witnesses, "witness"),
    )


@dataclass(frozen=True, eq=False)
class Judges:
    """Models by whose refusals a threshold is chosen, and which have no part in searching advice.

    `groups` are the places of each kind and strength of change; by `weights` all kinds count the
    same, and so do the strengths of a kind.
    """

    jury: Jury
    groups: tuple[Integers, ...]
    weights: Floats

    @classmethod
    def of(cls, members: Sequence[Member], models: Sequence[Model], rows: Floats) -> Judges:
        """Let models judge who became what they are as members say; rows are for training."""
        places: dict[str, dict[float, list[int]]] = {}
        for place, member in enumerate(members):
            places.setdefault(member.kind, {}).setdefault(member.strength, []).append(place)
        groups = [np.array(found) for kind in places.values() for found in kind.values()]
        weights = [1.0 / (len(places) * len(kind)) for kind in places.values() for _ in kind]
        return cls(Jury.in_own_units(tuple(models), rows), tuple(groups), np.array(weights))

    def refusals(self, rows: Floats) -> tuple[Floats, Floats]:
        """Return the share that refuses each row, and an estimate of the share that such models do.

        The second is what a normal distribution with a group's mean and deviation has below
        nought: it counts how narrowly models accept, so that few of them tell of rare failures, as
        far as their log odds are normally distributed.
        """
        refused, expected = np.zeros((2, len(rows)))
        sure = self.jury.log_odds(rows)
        against = ~self.jury.stack.favourable(rows)
        for group, weight in zip(self.groups, self.weights, strict=True):
            middle, spread = sure[group].mean(axis=0), sure[group].std(axis=0)
            refused += weight * against[group].mean(axis=0)
            expected += weight * normal_tails(middle / (spread + TINY))
        return refused, expected


class Voters(Protocol):
    """Models, or whole futures, that accept rows or do not."""

    def __len__(self) -> int: ...

    def favourable(self, rows: Floats) -> Booleans: ...


@dataclass(frozen=True, eq=False)
class Witnesses:
    """Models that had no part in anything, asked about the advice that is given.

    Each is drawn by itself, from a fixed kind of change. So for one piece of advice their votes are
    independent, and bound the share of all such models that accepts it, kinds counted as often as
    they are among the witnesses. Where advice is to last, a witness is a future.
    """

    stack: Voters

    def accepted(self, rows: Floats) -> Integers:
        return np.asarray(self.stack.favourable(rows).sum(axis=0))

    def at_least(self, accepted: Integers) -> Floats:
        """Return the share that accepts at least, with a confidence of 95 %."""
        asked = len(self.stack)
        bounds = [least_share(CONFIDENCE, votes, asked) for votes in range(asked + 1)]
        return np.array(bounds)[accepted]
