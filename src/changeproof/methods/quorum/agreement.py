"""What a pool is asked: how far its members agree that a row is favourable.

Every member has a soft vote between 0 and 1, by how sure it is, compared with how sure it usually
is. What counts is the mean of the votes, as log odds: nought where votes are even. So no single odd
model decides about everybody's advice, and every model that is a little surer helps a little, which
a search needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.arithmetic.functions import log, logarithms, sigmoid
from changeproof.model import Booleans, Floats, Integers, Model, Stack
from changeproof.models.learner import stacked
from changeproof.networks.blocks import fill_logits, fill_slopes
from changeproof.networks.network import checked_rows
from changeproof.networks.stack import NetworkStack

# How steeply a vote rises with how sure a model is, in units of how sure it usually is.
STEEPNESS = 4.0
# No model is taken as less sure than this, usually.
LEAST_SURE = 0.01
# Members that guide a search where all would take long; they are asked about every row, and the
# others so many at a time, as long as a row can still pass.
GUIDES, ASKED_AT_ONCE = 8, 8
# What rows may take up that votes are remembered of, in bytes.
REMEMBERED = 2**27
BELOW_ONE = 1.0 - 1e-15


@dataclass(frozen=True, eq=False)
class Agreement:
    """A base model, which has to accept, and a pool, which has to agree.

    `models` are the base model and the pool; `slopes` say how steeply each one's vote rises with
    its probability.
    """

    models: Stack
    slopes: Floats

    @classmethod
    def of(cls, base: Model, pool: Sequence[Model], rows: Floats) -> Self:
        """Take from rows how sure every model usually is: its median distance from one half."""
        models = stacked((base, *pool))
        usual = np.median(np.abs(models.probabilities(rows) - 0.5), axis=1)
        return cls(models, STEEPNESS / np.maximum(usual, LEAST_SURE))

    def log_odds(self, rows: Floats) -> Floats:
        """Return the log odds of the mean vote where the base model accepts, or what it lacks.

        Nothing that the base model rejects has more than nought.
        """
        if isinstance(self.models, NetworkStack):
            return self.least(self.scores(rows))
        probabilities, votes = self.models.probabilities(rows), np.zeros(len(rows))
        _add_votes(probabilities[1:], self.slopes[1:], votes)
        return _lacking(votes / (len(self.slopes) - 1), probabilities[0] - 0.5)

    def guide(self, rows: Floats) -> Floats:
        """Return about the same as `log_odds`, of a few members if all would take long."""
        if isinstance(self.models, NetworkStack):
            return self.log_odds(rows)
        return self._ballot.guide(rows)

    def reaches(self, rows: Floats, threshold: float) -> Booleans:
        """Return where the pool agrees up to a threshold; the base model has to accept all rows.

        Members that would take long are asked about rows only as long as those can reach it.
        """
        if isinstance(self.models, NetworkStack):
            return self.log_odds(rows) >= threshold
        return self._ballot.reaches(rows, threshold)

    @cached_property
    def _ballot(self) -> Ballot:
        return Ballot(self.models, self.slopes)

    # What a search of points asks, of networks.

    def scores(self, rows: Floats) -> Floats:
        """Return logits [rows, networks]."""
        assert isinstance(self.models, NetworkStack)
        result = np.empty((len(rows), len(self.slopes)))
        rows = checked_rows(rows, rows.shape[1])
        fill_logits(self.models.blocks, rows, np.arange(len(rows)), self._ones, result)
        return result

    def least(self, scores: Floats, failures: int = 0) -> Floats:
        """Return the log odds of the mean vote, given logits [rows, networks]."""
        votes = np.empty(len(scores))
        _fill_votes_of_logits(scores, self.slopes, votes)
        return _lacking(votes, scores[:, 0])

    def linear(
        self, rows: Floats, scores: Floats, margin: float, failures: int
    ) -> tuple[Floats, Floats]:
        """Return what has to reach the margin [rows, 2], and its slopes [rows, 2, columns].

        The first is about the base model, the second about the pool.
        """
        assert isinstance(self.models, NetworkStack)
        every = np.tile(np.arange(len(self.slopes)), (len(rows), 1))
        gradients = np.empty((*every.shape, rows.shape[1]))
        fill_slopes(self.models.blocks, rows, every, self._ones, gradients)
        values, slopes = np.empty((len(rows), 2)), np.empty((len(rows), 2, rows.shape[1]))
        values[:, 0], slopes[:, 0] = scores[:, 0] + margin, gradients[:, 0]
        _linearise(scores, gradients, self.slopes, values, slopes)
        return values, slopes

    def at_most(self, before: Floats, rows: Floats, failures: int) -> Floats:
        """Return infinity: a few members say too little about the mean of all, as was tried."""
        return np.full(len(rows), np.inf)

    def fill(self, rows: Floats, places: Integers, scores: Floats) -> None:
        assert isinstance(self.models, NetworkStack)
        fill_logits(self.models.blocks, rows, places, self._ones, scores)

    @cached_property
    def _ones(self) -> Floats:
        return np.ones(len(self.slopes))


class Ballot:
    """The votes of members that take long, remembered: a search meets most rows several times.

    It does so with every threshold that is tried, and where the ways of a climb cross.
    """

    def __init__(self, models: Stack, slopes: Floats) -> None:
        self._models, self._slopes = models, slopes
        self._members = len(slopes) - 1
        self._guides = min(GUIDES, self._members)
        self._places: dict[bytes, int] = {}
        # Per row: how far the base model is from a half, the votes of the guides, those of all who
        # were asked, and how many that is.
        self._known = np.empty((4, 0))
        self._parts: dict[tuple[int, int], Stack] = {}

    def guide(self, rows: Floats) -> Floats:
        places = self._found(rows)
        short, guided = self._known[:2, places]
        return _lacking(guided / self._guides, short)

    def reaches(self, rows: Floats, threshold: float) -> Booleans:
        places = self._found(rows)
        going = np.arange(len(rows))
        for stop in (*range(self._guides, self._members, ASKED_AT_ONCE), self._members):
            due = going[self._known[3, places[going]] < stop]
            if len(due):
                self._ask(rows[due], places[due], stop)
            votes, asked = self._known[2:, places[going]]
            # With everybody else's full vote.
            most = (votes + (self._members - asked)) / self._members
            going = going[_log_odds(np.minimum(most, BELOW_ONE)) >= threshold]
            if not len(going):
                break
        result = np.zeros(len(rows), dtype=np.bool_)
        result[going] = True
        return result

    def _found(self, rows: Floats) -> Integers:
        """Return where votes on rows are kept; the guides are asked about new ones."""
        keys = np.ascontiguousarray(rows).view(f"V{rows.itemsize * rows.shape[1]}").ravel().tolist()
        places = self._places
        if len(places) * rows.itemsize * rows.shape[1] > REMEMBERED:
            places.clear()
        before = len(places)
        found = np.array([places.setdefault(key, len(places)) for key in keys], dtype=np.int64)
        if len(places) > self._known.shape[1]:
            more = np.empty((4, 2 * len(places)))
            more[:, :before] = self._known[:, :before]
            self._known = more
        if len(places) > before:
            new, first = np.unique(found, return_index=True)
            self._ask_guides(rows[first[new >= before]], new[new >= before])
        return found

    def _ask_guides(self, rows: Floats, places: Integers) -> None:
        probabilities = self._part(0, 1 + self._guides).probabilities(rows)
        votes = np.zeros(len(rows))
        _add_votes(probabilities[1:], self._slopes[1 : 1 + self._guides], votes)
        self._known[:3, places] = probabilities[0] - 0.5, votes, votes
        self._known[3, places] = self._guides

    def _ask(self, rows: Floats, places: Integers, stop: int) -> None:
        """Ask members up to one about rows; all before the last few were asked already."""
        start = int(self._known[3, places[0]])
        votes = self._known[2, places]
        probabilities = self._part(1 + start, 1 + stop).probabilities(rows)
        _add_votes(probabilities, self._slopes[1 + start : 1 + stop], votes)
        self._known[2, places], self._known[3, places] = votes, stop

    def _part(self, start: int, stop: int) -> Stack:
        return self._parts.setdefault((start, stop), self._models.part(start, stop))


def _lacking(votes: Floats, short: Floats) -> Floats:
    """Return the log odds of mean votes or, where the base model rejects, what it falls short."""
    agreed = _log_odds(votes)
    return np.where(short < 0.0, np.minimum(agreed, short), agreed)


def _log_odds(votes: Floats) -> Floats:
    return logarithms(votes) - logarithms(1.0 - votes)


@compiled
def _add_votes(probabilities: Any, slopes: Any, votes: Any) -> None:
    """Add the votes of models [models, rows], one after the other."""
    for i in range(len(votes)):
        for m in range(len(slopes)):
            votes[i] += sigmoid(slopes[m] * (probabilities[m, i] - 0.5))


@compiled
def _fill_votes_of_logits(logits: Any, slopes: Any, votes: Any) -> None:
    for i in range(len(votes)):
        total = 0.0
        for m in range(1, len(slopes)):
            total += sigmoid(slopes[m] * (sigmoid(logits[i, m]) - 0.5))
        votes[i] = total / (len(slopes) - 1)


@compiled
def _linearise(logits: Any, gradients: Any, slopes: Any, values: Any, results: Any) -> None:
    """Fill in the log odds of the mean vote of all models but the first, and their derivatives."""
    n_rows, n_models = logits.shape
    n_columns = gradients.shape[2]
    for i in range(n_rows):
        total = 0.0
        for c in range(n_columns):
            results[i, 1, c] = 0.0
        for m in range(1, n_models):
            probability = sigmoid(logits[i, m])
            vote = sigmoid(slopes[m] * (probability - 0.5))
            total += vote
            steep = slopes[m] * vote * (1.0 - vote) * probability * (1.0 - probability)
            for c in range(n_columns):
                results[i, 1, c] += steep * gradients[i, m, c]
        mean = total / (n_models - 1)
        values[i, 1] = log(mean) - log(1.0 - mean)
        share = mean * (1.0 - mean) * (n_models - 1)
        for c in range(n_columns):
            results[i, 1, c] /= share
