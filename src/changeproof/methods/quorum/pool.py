"""Models of a method's own: what the base model may become, as far as the method expects.

The kinds of change are those of the evaluation, with its shares, radii, hidden layers and
optimisers (`models/recipes.py`). The models are not: new initialisations and samples have seeds
that are half the range of seeds away from those of the changed models, and learning rates lie
between theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.stats import beta

from changeproof.arithmetic.functions import normal_tails
from changeproof.errors import InputError, unknown
from changeproof.methods.method import Context
from changeproof.methods.quorum.points import TINY, Jury
from changeproof.model import Floats, Integers, Model
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

# The seeds of changed models are less than this above the base seed.
SEEDS_OF_A_BANK = 2**20
# Kinds of change in a pool, by turns: only those that move a model far, if any of them is expected.
# Points that these accept, the others mostly accept as well.
FAR_REACHING = (
    *(3 * ("bootstrap", "architecture", "label-update", "new-initialization")),
    *("bootstrap", "label-update", "architecture", "bootstrap"),
)
# Kinds of change among judges, by turns: all kinds, and more of those that refuse more often.
JUDGING = (
    *("new-initialization", "bootstrap", "data-deletion", "data-addition", "label-update"),
    *("training-configuration", "architecture", "parameter-perturbation", "label-update"),
    *("bootstrap", "label-update", "new-initialization", "architecture", "label-update"),
    *("bootstrap", "label-update", "new-initialization", "architecture", "bootstrap"),
    "label-update",
)
# Shares of flipped labels, by turns: in a pool the largest, among judges all of them.
FLIPPED_IN_A_POOL = FLIPPED_SHARES[-1:]
FLIPPED_FOR_JUDGES = tuple(FLIPPED_SHARES[place] for place in (2, 1, 2, 0, 2, 1))
# Small networks refuse most. For judges to be like all architectures, the small, the middling and
# the large third take turns.
_BY_SIZE = tuple(sorted(HIDDEN_LAYERS, key=sum))
HIDDEN_FOR_JUDGES = (_BY_SIZE[17:], _BY_SIZE[8:17], _BY_SIZE[:8])
# Neighbours in a list of settings are alike, so members take every seventh.
STRIDE = 7
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
    judging: bool

    def next_of(self, values: Sequence[T]) -> T:
        return values[self.number % len(values)]

    def one_of(self, values: Sequence[T]) -> T:
        """Return one of many: a pool shall be diverse, and judges like changed models."""
        count = len(values)
        if self.judging:
            return values[int(np.random.default_rng((self.seed, count)).integers(count))]
        return values[STRIDE * self.number % count]


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
    share = turn.next_of(FLIPPED_FOR_JUDGES if turn.judging else FLIPPED_IN_A_POOL)
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
    shapes = turn.next_of(HIDDEN_FOR_JUDGES) if turn.judging else HIDDEN_LAYERS
    return Member(TrainingRecipe(initialisation_seed=turn.seed, hidden=turn.one_of(shapes)))


def _alternative(turn: Turn, learners: Sequence[PrivateLearner]) -> Member:
    """Train another kind of model; one without seeds on a sample, to be none of the bank's."""
    other = turn.next_of(learners)
    if other.traits.has_seeds:
        return Member(TrainingRecipe(initialisation_seed=turn.seed), other)
    return Member(bootstrap_recipe(turn.context.task, turn.seed, turn.seed), other)


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


def expected_members(
    context: Context, kinds: Sequence[str], members: int, judges: int
) -> tuple[list[Member], list[Member]]:
    """Describe so many members and judges, kind after kind; no two of all are the same."""

    def described(turns: Sequence[str], first: int, count: int, judging: bool) -> list[Member]:
        turns = [kind for kind in turns if kind in kinds] or kinds
        found, numbers = [], dict.fromkeys(kinds, 0)
        for place in range(count):
            kind = turns[place % len(turns)]
            seed = private_seed(context.base_seed, first + place)
            turn = Turn(context, seed, numbers[kind], judging)
            found.append(KINDS[kind](turn)._replace(kind=kind))
            numbers[kind] += 1
        return found

    return (
        described(FAR_REACHING, 0, members, judging=False),
        described(JUDGING, members, judges, judging=True),
    )


@dataclass(frozen=True, eq=False)
class Judges:
    """Models that are asked about advice and had no part in searching it.

    They do have a part in the margin that it is searched with: that is chosen by what they refuse.
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

    def accepted(self, rows: Floats) -> Integers:
        return np.asarray(self.jury.stack.favourable(rows).sum(axis=0))

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


def lower_bounds(accepted: Integers, asked: int, confidence: float) -> Floats:
    """Return Clopper-Pearson lower bounds on the share of models that accepts.

    They are too high if the answer was chosen to suit the models that were asked.
    """
    some = np.maximum(accepted, 1)
    bounds = beta.ppf(1.0 - confidence, some, asked - some + 1)
    return np.where(accepted > 0, bounds, 0.0)
