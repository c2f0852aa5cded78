"""The nearest point that networks accept, with few features changed."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from changeproof.datasets.task import Task
from changeproof.methods.shared.linear_steps import (
    Jury,
    Nearest,
    Room,
    nearest_accepted_points,
    pulled,
)
from changeproof.model import Booleans, Floats, Integers
from changeproof.networks.network import Network

# Rounds in which the others make up for a feature that is put back, and how many features are
# tried one by one.
ROUNDS_LEFT, SINGLE_FEATURES = 4, 2
ROWS_AT_ONCE = 256


class AgreedPoints:
    """Searches points inside the training range, as far as people are not outside of it.

    Parameters
    ----------
    networks
        The base network, then the pool.
    task
        What distance is.
    rows
        Training rows.
    sparsity
        How much longer, as a share, a change may become to spare a feature.
    units
        What a margin of 1 is for each network, in log odds; 1 by default.
    """

    def __init__(
        self,
        networks: tuple[Network, ...],
        task: Task,
        rows: Floats,
        sparsity: float,
        units: Floats | None = None,
    ) -> None:
        self.jury, self.rows, self.sparsity = Jury(networks, units), rows, sparsity
        self._low, self._high = task.training_range
        self._weights = task.distance_weights

    @cached_property
    def _least(self) -> Floats:
        return self.jury.least(self.rows, 0)

    def search(
        self, factuals: Floats, margin: float, bounds: tuple[Floats, Floats] | None = None
    ) -> Floats:
        """Return the nearest point found that all accept with a margin; NaN where none is.

        The search begins with the people and, where it fails, with the nearest training row that
        is accepted, pulled towards them. Other bounds [people, columns] may be given than the
        training range.
        """
        low, high = bounds or (np.minimum(self._low, factuals), np.maximum(self._high, factuals))
        room = Room(self._weights, low, high)
        found = nearest_accepted_points(self.jury, factuals, [factuals], room, margin=margin)
        lost = np.flatnonzero(np.isinf(found.lengths))
        if len(lost):
            own, limits = factuals[lost], room.of(lost)
            starts = [self._nearest_rows(own, limits, margin)]
            again = nearest_accepted_points(self.jury, own, starts, limits, margin=margin)
            found.rows[lost], found.lengths[lost] = again
        return self._sparse(factuals, found, room, margin)

    def _nearest_rows(self, factuals: Floats, room: Room, margin: float) -> Floats:
        """Return the nearest accepted training row, pulled towards each person."""
        accepted = self.rows[self._least >= margin]
        result = np.full_like(factuals, np.nan)
        if not len(accepted):
            return result
        for i, factual in enumerate(factuals):
            inside = np.clip(accepted, room.low[i], room.high[i])
            people = np.broadcast_to(factual, inside.shape)
            result[i] = inside[room.lengths(people, inside).argmin()]
        return pulled(factuals, result, lambda rows, _: self.jury.least(rows, 0) >= margin)

    def _sparse(self, factuals: Floats, found: Nearest, room: Room, margin: float) -> Floats:
        """Put features back that others can make up for: small ones at once, then one by one."""
        rows = found.rows.copy()
        limits = (1.0 + self.sparsity) * found.lengths
        there = np.asarray(np.isfinite(rows).all(axis=1))
        if self.sparsity == 0.0 or not there.any():
            return rows
        parts = np.where(there[:, None], np.abs(rows - factuals) * room.weights, 0.0)
        small = (parts > 0.0) & (parts <= self.sparsity * found.lengths[:, None])
        who = np.flatnonzero(small.any(axis=1))
        self._without(factuals, rows, room, margin, limits, who, small)
        for _ in range(SINGLE_FEATURES):
            parts = np.where(there[:, None], np.abs(rows - factuals) * room.weights, 0.0)
            smallest = np.where(parts > 0.0, parts, np.inf).argmin(axis=1)
            one = np.arange(parts.shape[1]) == smallest[:, None]
            who = np.flatnonzero((parts > 0.0).sum(axis=1) > 1)
            there &= self._without(factuals, rows, room, margin, limits, who, one)
        return rows

    def _without(
        self,
        factuals: Floats,
        rows: Floats,
        room: Room,
        margin: float,
        limits: Floats,
        who: Integers,
        features: Booleans,
    ) -> Booleans:
        """Try, in place, to do without features [people, columns]; return for whom it works."""
        works: Booleans = np.zeros(len(rows), dtype=np.bool_)
        if not len(who):
            return works
        own, back = factuals[who], features[who]
        low = np.where(back, own, room.low[who])
        high = np.where(back, own, room.high[who])
        start = np.where(back, own, rows[who])
        left = nearest_accepted_points(
            self.jury,
            own,
            [start],
            Room(room.weights, low, high),
            margin=margin,
            rounds=ROUNDS_LEFT,
        )
        kept = left.lengths <= limits[who]
        rows[who[kept]] = left.rows[kept]
        works[who[kept]] = True
        return works
