"""The nearest training row that the base model calls favourable."""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree as SpatialTree

from changeproof.datasets.actions import Actions
from changeproof.methods.method import Candidates, Factuals, Method
from changeproof.methods.search.realisable_rows import nearest_accepted

NONE_FAVOURABLE = "no training row is predicted favourable"
NONE_LEFT = "no favourable training row stays favourable with only what may change"


class KDTree(Method):
    """Send people to the nearest favourable training row (Euclidean distance).

    Where not everything may change, training rows are put back to what may, and the nearest that
    is still favourable counts, in the distance of the task.
    """

    name = "kdtree"
    summary = "nearest training row that the base model calls favourable"

    def _prepare(self) -> None:
        rows = self.context.task.rows("train")
        self._favourable = rows[self.context.model.favourable(rows)]
        self._tree = SpatialTree(self._favourable) if len(self._favourable) else None

    def _search(self, factuals: Factuals) -> Candidates:
        if self._tree is None:
            nothing = np.full_like(factuals.rows, np.nan)
            return Candidates(nothing, reasons=[NONE_FAVOURABLE] * len(factuals))
        if self.context.actions is not None:
            return self._realisable(self.context.actions, factuals)
        distances, nearest = self._tree.query(factuals.rows)
        diagnostics = {"l2_distance": np.asarray(distances)}
        return Candidates(self._favourable[nearest], diagnostics=diagnostics)

    def _realisable(self, actions: Actions, factuals: Factuals) -> Candidates:
        accept = self.context.model.favourable
        rows = nearest_accepted(actions, factuals.rows, self._favourable, accept).rows[:, 0]
        diagnostics = {"l2_distance": np.sqrt(((rows - factuals.rows) ** 2).sum(axis=1))}
        return Candidates(rows, reasons=[NONE_LEFT] * len(rows), diagnostics=diagnostics)
