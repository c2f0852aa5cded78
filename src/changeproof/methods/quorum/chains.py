"""Private chains of updates: for advice that is to hold through all of so many.

Of a chain for the pool one state counts, at a random update. Judges and witnesses are whole
futures: advice holds in one if all of its updates accept it.

People and futures are both samples. Let F futures judge the advice of n people, and count, of every
person, one more future that breaks the advice, and then one more person whose advice is always
broken. If people are exchangeable, and so are futures, then with

    (broken + n + F + 1) / ((n + 1) (F + 1)) <= 1 - target,

where `broken` counts people and futures, the next person's advice is broken in the next future with
a probability of at most 1 - target. For the share of all n + 1 people and F + 1 futures that is
broken is at most what stands there, and which of them came last does not matter: this is conformal
risk control with both at once. A broken pair stays broken with all smaller thresholds that are
tried, as its theorem asks.

With few futures, to count the next one would send people far for its sake. Then it is not counted,
and by the same theorem, at another level, 1 / (F + 1) less is promised.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Self

import numpy as np

from changeproof.methods.method import Context
from changeproof.methods.quorum.points import Jury
from changeproof.methods.quorum.pool import Member, PrivateModels, Sizes, Voters, private_seed
from changeproof.model import Booleans, Floats, Integers, Model, Stack
from changeproof.models.chains import MOST_UPDATES, Chain, State, checked_steps
from changeproof.models.learner import stacked
from changeproof.models.private import PrivateLearner
from changeproof.randomness import stream

# How clearly networks have to accept, in units of their own (their usual log odds); one is chosen.
# Some have to be surer than usual: twelve updates meet networks that were trained badly.
MARGINS = tuple(
    n / 64.0 for n in (88, 80, 72, 64, 57, 50, 44, 39, 34, 30, 26, 22, 18, 15, 12, 8, 4, 0)
)
# How far other models have to agree, in log odds of the mean vote.
AGREEMENTS = (5.0, 4.5, 4.0, 3.6, 3.3, 3.0, 2.8, 2.6, 2.4, 2.2, 2.0, 1.8, 1.6, 1.3, 1.0, 0.5, 0.0)
# Such a share of a pool of networks may refuse, person by person: single states are odd, and most
# futures have none that is odd in the same way.
DISSENT = 0.02
# States of the pool, and futures; of networks, and of models that take longer to train.
SIZES, SIZES_OF_OTHERS = Sizes(192, 96, 16), Sizes(96, 40, 8)
# The next future is counted if it takes no more than this share of what is allowed: otherwise
# people would be sent far for the sake of that one.
TAKEN_BY_ONE = 0.1
ROLES = ("member", "judge", "witness")


def lasting_members(
    context: Context, updates: int, steps: Sequence[str], sizes: Sizes
) -> PrivateModels:
    """Describe one state per member, and all states of the futures that judge and witness."""
    learner, task, seed = context.learner, context.task, context.base_seed
    others = learner.configurations(), learner.replacements()
    chain: Chain[PrivateLearner] = Chain(learner, *others, steps=checked_steps(steps))

    def future(role: str, place: int) -> list[State[PrivateLearner]]:
        first = MOST_UPDATES * (len(ROLES) * place + ROLES.index(role))

        def seed_of(number: int) -> int:
            return private_seed(seed, first + number)

        address = "quorum updates", role, seed, place
        return list(islice(chain.states(task, seed, seed_of, *address), updates))

    def drawn(place: int) -> int:
        return int(stream("quorum updates", "member", seed, place, "which").integers(updates))

    states = [
        [future("member", place)[drawn(place)] for place in range(sizes.members)],
        *(
            [state for place in range(count) for state in future(role, place)]
            for role, count in zip(ROLES[1:], sizes[1:], strict=True)
        ),
    ]
    return PrivateModels(*([Member(*state, kind="updates") for state in each] for each in states))


def deployed(context: Context, models: Sequence[Model], gate: float | None) -> Booleans:
    """Return which models would be deployed: those that are hardly worse than the base model.

    With a `gate`, their balanced accuracy on validation rows is at most so much lower.
    """
    if gate is None or not models:
        return np.ones(len(models), dtype=np.bool_)
    rows, labels = (getattr(context.task, part)("validation") for part in ("rows", "labels_of"))
    predicted = stacked([context.model, *models]).favourable(rows)
    shares = [(predicted[:, labels == c] == c).mean(axis=1) for c in np.unique(labels)]
    accuracy = np.mean(shares, axis=0)
    return np.asarray(accuracy[1:] >= accuracy[0] - gate)


@dataclass(frozen=True, eq=False)
class Futures:
    """Whole futures of so many updates each, asked about advice as if each were one model.

    An update that is not deployed leaves the model before it in place.
    """

    stack: Stack
    updates: int
    deployed: Booleans

    @classmethod
    def of(
        cls, context: Context, models: Sequence[Model], updates: int, gate: float | None
    ) -> Futures:
        return cls(stacked(models), updates, deployed(context, models, gate))

    def __len__(self) -> int:
        return len(self.deployed) // self.updates

    def favourable(self, rows: Floats) -> Booleans:
        """Return in which futures rows hold through all updates [futures, rows]."""
        holds = self.stack.favourable(rows) | ~self.deployed[:, None]
        return np.asarray(holds.reshape(len(self), self.updates, len(rows)).all(axis=1))


@dataclass(frozen=True, eq=False)
class FutureJudges:
    """Futures by which a threshold is chosen, and what they have broken so far."""

    futures: Voters
    target: float
    _broken: dict[int, Booleans] = field(default_factory=dict)

    @property
    def taken(self) -> float:
        """What the next future, which may break everything, takes of what people may lose.

        Nothing where there are too few futures: then it is not counted, and less is promised.
        """
        return self.one if self.one <= TAKEN_BY_ONE * (1.0 - self.target) else 0.0

    @property
    def promised_less(self) -> float:
        return 0.0 if self.taken else self.one

    @property
    def one(self) -> float:
        """The share of one future, of these and the next."""
        return 1.0 / (len(self.futures) + 1.0)

    def lost(self, found: Floats, first: int) -> Floats:
        """Return the share of futures that break each person's advice; NaN rows are no advice.

        The people are those from the `first` on. What was broken with a larger threshold counts as
        broken, and the next future, if it is counted, breaks everything.
        """
        there = np.isfinite(found).all(axis=1)
        now = np.zeros((len(self.futures), len(found)), dtype=np.bool_)
        now[:, there] = ~self.futures.favourable(found[there])
        broken = now | self._broken.get(first, False)
        self._broken[first] = broken
        return np.asarray(broken.sum(axis=0) * self.one + self.taken)


@dataclass(frozen=True, eq=False)
class Assent:
    """A base network, which has to accept, and a pool of which all but a few have to.

    Soft votes cannot tell a network that is surer than usual from one that is much surer, and
    advice that is to last in 99 % of futures needs the latter.
    """

    jury: Jury
    dissent: int

    @classmethod
    def of(cls, base: Model, pool: Sequence[Model], rows: Floats) -> Self:
        jury = Jury.in_own_units((base, *pool), rows)
        return cls(jury, math.ceil(DISSENT * len(pool)) if len(pool) > 1 else 0)

    def log_odds(self, rows: Floats) -> Floats:
        """Return the lowest log odds in units of each network's own, without those that may fail.

        Those of the base model count in any case.
        """
        return self.least(self.scores(rows))

    def guide(self, rows: Floats) -> Floats:
        return self.log_odds(rows)

    def reaches(self, rows: Floats, threshold: float) -> Booleans:
        return self.log_odds(rows) >= threshold

    def scores(self, rows: Floats) -> Floats:
        return self.jury.scores(rows)

    def least(self, scores: Floats, failures: int = 0) -> Floats:
        return self.jury.least(scores, self.dissent)

    def linear(
        self, rows: Floats, scores: Floats, margin: float, failures: int
    ) -> tuple[Floats, Floats]:
        return self.jury.linear(rows, scores, margin, self.dissent)

    def at_most(self, before: Floats, rows: Floats, failures: int) -> Floats:
        return self.jury.at_most(before, rows, self.dissent)

    def fill(self, rows: Floats, places: Integers, scores: Floats) -> None:
        self.jury.fill(rows, places, scores)
