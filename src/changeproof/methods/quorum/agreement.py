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
from changeproof.arithmetic.functions import log, sigmoid
from changeproof.methods.quorum.ballot import Ballot, add_votes, lacking
from changeproof.model import Booleans, Floats, Integers, Model, Stack
from changeproof.models.learner import stacked
from changeproof.networks.blocks import fill_logits, fill_slopes
from changeproof.networks.network import checked_rows
from changeproof.networks.stack import NetworkStack

# How steeply a vote rises with how sure a model is, in units of how sure it usually is.
STEEPNESS = 4.0
# No model is taken as less sure than this, usually.
LEAST_SURE = 0.01


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
        add_votes(probabilities[1:], self.slopes[1:], votes)
        return lacking(votes / (len(self.slopes) - 1), probabilities[0] - 0.5)

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
        return lacking(votes, scores[:, 0])

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
