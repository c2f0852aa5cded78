"""Robust votes (Forel et al.): accepted by enough trees of a forest for another one to agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Annotated, Literal, cast

import numpy as np
from pydantic import Field

from changeproof.arithmetic.functions import normal_tail
from changeproof.arithmetic.votes import needed_share
from changeproof.methods.method import Candidates, Columns, Cost, Factuals, People, Promise
from changeproof.methods.shared.free_search import SearchedMethod
from changeproof.model import Access, Booleans, Floats, Integers, Model, VotingModel

# What is promised, of both variants.
CHANCE = (
    "is accepted with a chance of at least {level:g} % by a forest that is trained anew on the "
    "same table, with another seed"
)
GROUND = "new-initialization"
DIRECT = Promise(
    f"{CHANCE}, if new trees vote for it as often as those at hand. The search chose it by the "
    "votes of these, so that new ones vote for it less often",
    GROUND,
)
ROBUST = Promise(
    f"{CHANCE}, with {{sure:g}} % confidence. That is the confidence for a point chosen in "
    "advance. Here the votes that chose the point also give its bound",
    GROUND,
)
# Halving the interval of a normal quantile, and the highest quantile that is asked for.
HALVINGS, HIGHEST = 60, 40.0


@dataclass(kw_only=True, eq=False, repr=False)
class ForestVotes(SearchedMethod):
    """The nearest row that so many trees accept that a forest trained anew does, too.

    Every tree of a forest is taken to vote for a row by a coin of its own, with the same chance p.
    A forest of N other trees, grown in the same way from the same data, then accepts it with the
    chance that more than half of N coins fall so. That is at least `robustness` from a certain p
    on, p*. A row is good enough if the base model accepts it and the share of its trees that vote
    for it is at least p* ("direct"), or if the lower bound of Agresti and Coull on p is, given
    these votes ("robust").

    That covers another seed, and with it other bootstrap samples: those that the trees draw for
    themselves. It does not cover a table that has changed, nor one that is drawn anew as a whole:
    trees then share what has changed. Boosted trees do not vote. And the search looks for rows with
    just enough votes, which often have them by luck: on diabetes with 100 trees, other seeds accept
    76 % of what "direct" finds for 95 %, and 96 % of what "robust" does.

    The paper's programme for a solver is replaced by the search of the base class, which tries the
    values just across the splits of the forest; the row that it finds is accepted as the paper asks
    but not proven to be the nearest. Trees vote here for their likeliest class, as the paper counts
    them, while scikit-learn's forest decides by the mean of their shares: both have to accept. The
    bound has the paper's form, (votes + 2) / (N + 4) less a normal quantile times the deviation
    over N trees, on one side. The paper varies `robustness` from 0.5 to 0.99 and `confidence` over
    0.9 and 0.95, and has no defaults.

    Parameters
    ----------
    variant
        "direct" takes the share of votes for the chance, "robust" a lower bound on it.
    robustness
        The chance with which a forest trained anew shall accept (the paper's 1 - alpha).
    confidence
        How sure the lower bound is (the paper's 1 - beta).
    """

    name = "forest-votes"
    label = "Forest votes"
    cost = Cost(own_model=0.05, feasible=0.05)
    summary = "the nearest row with so many votes of trees that another forest agrees"
    source = (
        "Forel, Parmentier, Vidal: Don't Explain Noise: Robust Counterfactuals for Randomized "
        "Ensembles, CPAIOR 2024 (https://arxiv.org/abs/2205.14116)"
    )
    promise = DIRECT
    needs = Access.VOTES

    variant: Literal["direct", "robust"] = "direct"
    robustness: Annotated[float, Field(gt=0, lt=1)] = 0.95
    confidence: Annotated[float, Field(gt=0.5, lt=1)] = 0.95

    fine = 0.001

    @property
    def promised(self) -> Promise:
        """What it promises, by its variant."""
        return self.promise if self.variant == "direct" else ROBUST

    def _prepare(self) -> None:
        self._voting = cast("VotingModel", self.context.model)
        n = self._voting.n_voters
        self.needed_share = needed_share(self.robustness, n // 2 + 1, n)
        shares = np.arange(n + 1) / n
        if self.variant == "robust":
            shares = np.array([lower_bound(votes, n, self.confidence) for votes in range(n + 1)])
        # More than there are where not even all votes are enough.
        self.needed_votes = int(np.searchsorted(shares, self.needed_share))

    def _search(self, factuals: Factuals) -> Candidates:
        n_voters = self._voting.n_voters
        if self.needed_votes > n_voters:
            reason = (
                f"a forest of {n_voters} trees cannot show a chance of {self.robustness:g} with "
                f"confidence {self.confidence:g}"
            )
            return Candidates(np.full_like(factuals.rows, np.nan), [reason] * len(factuals))
        found = super()._search(factuals)
        there = np.flatnonzero(np.isfinite(found.rows).all(axis=1))
        votes, certified = np.full(len(factuals), np.nan), np.zeros(len(factuals), dtype=np.bool_)
        measured = self._measured(found.rows[there])
        votes[there], certified[there] = measured["votes"], measured["certified"]
        return Candidates(found.rows, found.reasons, {"votes": votes, "certified": certified})

    def _measured(self, rows: Floats) -> dict[str, Floats | Integers | Booleans]:
        votes = self._voting.votes(rows)
        return {"votes": votes, "certified": votes >= self.needed_votes}

    def _measure(self, rows: Floats, people: People) -> Columns:
        return self._measured(rows)

    def _accepts(self, rows: Floats, people: People) -> Booleans:
        return np.asarray(self._voting.votes(rows) >= self.needed_votes)

    def _score(self, rows: Floats, people: People) -> Floats:
        return self._voting.votes(rows).astype(np.float64)

    def _deciding_models(self) -> Sequence[Model]:
        return (self.context.model,)


def lower_bound(votes: int, trees: int, confidence: float) -> float:
    """Return the lower bound of Agresti and Coull on the chance of a vote, as the paper has it."""
    share = (votes + 2.0) / (trees + 4.0)
    return share - normal_quantile(confidence) * sqrt(share * (1.0 - share) / trees)


def normal_quantile(confidence: float) -> float:
    """Return what a standard normal number is below with this confidence, at least a half."""
    low, high = 0.0, HIGHEST
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if normal_tail(middle) > 1.0 - confidence else (low, middle)
    return high
