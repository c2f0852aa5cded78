"""The limit of networks of ours: linear programmes that know all changed networks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.datasets.task import Task
from changeproof.methods.shared.linear_steps import (
    WORTHWHILE,
    Jury,
    Room,
    nearest_accepted_points,
    pulled,
)
from changeproof.model import Booleans, Floats, Integers
from changeproof.networks.network import Network
from changeproof.networks.stack import NetworkStack


class NetworkSearch:
    """The nearest points that a base network and enough changed ones accept.

    Inside the range of the training rows, widened to what a person has now. Starts are the
    person's own row and the nearest accepted training rows, pulled towards the person.

    Parameters
    ----------
    task
        The task.
    base, bank
        The base network, which always has to accept, and all changed networks.
    factuals
        People [people, columns].
    """

    def __init__(self, task: Task, base: Network, bank: NetworkStack, factuals: Floats) -> None:
        self.networks = (base, *bank)
        self.factuals = factuals
        low, high = task.training_range
        self.room = Room(
            task.distance_weights, np.minimum(low, factuals), np.maximum(high, factuals)
        )
        self._train = task.rows("train")

    def __call__(
        self, start: int, stop: int, failures: int, starts: Sequence[Floats], nearest: int
    ) -> Floats:
        """Return the nearest points found; see `Search`."""
        jury = Jury((self.networks[0], *self.networks[1 + start : 1 + stop]))

        def accept(rows: Floats, _: Integers) -> Booleans:
            judged = jury.logits(rows) >= 0.0
            return np.asarray(judged[:, 0] & (np.sum(~judged[:, 1:], axis=1) <= failures))

        rows = self._nearest(self._accepted[1 + start : 1 + stop], failures, nearest)
        near = [pulled(self.factuals, each, accept) for each in (*starts, *rows)]
        found = self._stepped(jury, failures, [*starts, self.factuals, *near])
        if not nearest:
            return found
        # Once more from the best, in a wide trust region.
        return self._stepped(jury, failures, [found])

    def _stepped(self, jury: Jury, failures: int, starts: Sequence[Floats]) -> Floats:
        """Step from all starts side by side; of two that end equally near the first counts."""
        n, (weights, *limits) = len(starts), self.room
        people, *tiled = (np.tile(each, (n, 1)) for each in (self.factuals, *limits))
        found = nearest_accepted_points(
            jury,
            people,
            [np.concatenate(starts)],
            Room(weights, *tiled),
            margin=0.0,
            failures=failures,
        )
        rows, lengths = found.rows.reshape(n, *self.factuals.shape), found.lengths.reshape(n, -1)
        best: Floats = rows[0]
        least = lengths[0]
        for row, length in zip(rows[1:], lengths[1:], strict=True):
            shorter = length < least - WORTHWHILE
            best[shorter], least[shorter] = row[shorter], length[shorter]
        return best

    @cached_property
    def _accepted(self) -> Booleans:
        """Which networks accept which training rows [networks, rows]."""
        return Jury(self.networks).stack.favourable(self._train)

    def _nearest(self, accepted: Booleans, failures: int, nearest: int) -> list[Floats]:
        """Return the nearest training rows that enough networks accept."""
        if not nearest:
            return []
        enough = self._accepted[0] & (np.sum(~accepted, axis=0) <= failures)
        rows = self._train[enough]
        lengths = np.empty((len(self.factuals), len(rows)))
        _fill_lengths(lengths, self.factuals, rows, self.room.weights)
        order = np.argsort(lengths, axis=1, kind="stable")
        return [rows[order[:, place]] for place in range(min(nearest, len(rows)))]


@compiled
def _fill_lengths(lengths: Any, factuals: Any, rows: Any, weights: Any) -> None:
    """Fill in how far every row [people, rows] is from every person."""
    for i in range(len(factuals)):
        for k in range(len(rows)):
            length = 0.0
            for j in range(len(weights)):
                length += weights[j] * abs(rows[k, j] - factuals[i, j])
            lengths[i, k] = length
