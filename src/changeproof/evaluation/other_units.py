"""What other papers measure of counterfactuals, in their units, to put ours beside theirs.

They scale every column from 0 to 1. Distances are the mean absolute change of a column and the
Euclidean distance; plausibility is the local outlier factor among favourable rows (Breunig et al.,
2000), as PROPLACE's authors measure it.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree as SpatialTree

from changeproof.datasets.task import Task
from changeproof.model import Floats, Integers

# As PROPLACE's authors have it; scikit-learn's default is 20.
NEIGHBOURS = 10
# The factor is measured among so many rows at most.
MOST_ROWS = 4_000
# What keeps the density of rows that are all the same finite, as scikit-learn has it.
TINY = 1e-10


class OtherUnits:
    """Distances of a task whose columns go from 0 to 1, and the local outlier factor there.

    A column that is the same in all training rows keeps its unit. The factor is that of a row
    beside the training rows that really had the favourable outcome: 1 is as dense a place as its
    neighbours have, more is thinner. Of more than 4,000, it is among 4,000 of them, evenly spread
    over the table. PROPLACE's authors put the row among the others before they measure; here it is
    no neighbour of theirs ("novelty" in scikit-learn), so that rows do not depend on each other.
    """

    def __init__(self, task: Task) -> None:
        low, high = task.training_range
        self._low, self._width = low, np.where(high > low, high - low, 1.0)
        favourable = task.rows("train")[task.labels_of("train") == 1]
        count = len(favourable)
        some = np.linspace(0, count - 1, min(count, MOST_ROWS)).astype(np.int64)
        self._rows = self._scaled(favourable[some])
        self._wanted = min(NEIGHBOURS, len(some) - 1)
        if self._wanted < 1:
            return
        self._tree = SpatialTree(self._rows)
        near, far = self._nearest(self._rows, self._wanted + 1)
        # A row is the nearest to itself, or one that is the same.
        self._reach = far[:, -1]
        self._density = self._densities(near[:, 1:], far[:, 1:])

    def l1(self, rows: Floats, others: Floats) -> Floats:
        """Return the mean absolute change of a column."""
        return np.asarray((np.abs(others - rows) / self._width).mean(axis=1))

    def l2(self, rows: Floats, others: Floats) -> Floats:
        """Return the Euclidean distance."""
        return np.asarray(np.sqrt((((others - rows) / self._width) ** 2).sum(axis=1)))

    def lof(self, rows: Floats) -> Floats:
        """Return the local outlier factor; NaN where there are no rows to compare with."""
        if self._wanted < 1:
            return np.full(len(rows), np.nan)
        near, far = self._nearest(self._scaled(rows), self._wanted)
        return np.asarray(self._density[near].mean(axis=1) / self._densities(near, far))

    def _scaled(self, rows: Floats) -> Floats:
        return np.asarray((rows - self._low) / self._width)

    def _nearest(self, rows: Floats, wanted: int) -> tuple[Integers, Floats]:
        """Return so many nearest rows of every row, nearest first, and how far they are."""
        _, found = self._tree.query(rows, k=list(range(1, wanted + 1)))
        near = np.asarray(found, dtype=np.int64).reshape(len(rows), wanted)
        # Squares side by side: the same digits on every processor.
        return near, np.sqrt(((rows[:, None] - self._rows[near]) ** 2).sum(axis=2))

    def _densities(self, near: Integers, far: Floats) -> Floats:
        """Return one over the mean distance to neighbours, each no less than its own reach."""
        reached = np.maximum(far, self._reach[near])
        return np.asarray(1.0 / (reached.mean(axis=1) + TINY))
