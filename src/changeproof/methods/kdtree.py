"""The nearest training row that the base model calls favourable."""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree as SpatialTree

from changeproof.methods.method import Candidates, Factuals, Method


class KDTree(Method):
    """Send people to the nearest favourable training row (Euclidean distance)."""

    name = "kdtree"
    summary = "nearest training row that the base model calls favourable"

    def _prepare(self) -> None:
        rows = self.context.task.rows("train")
        self._favourable = rows[self.context.model.favourable(rows)]
        self._tree = SpatialTree(self._favourable) if len(self._favourable) else None

    def _search(self, factuals: Factuals) -> Candidates:
        if self._tree is None:
            reason = "no training row is predicted favourable"
            nothing = np.full_like(factuals.rows, np.nan)
            return Candidates(nothing, reasons=[reason] * len(factuals))
        distances, nearest = self._tree.query(factuals.rows)
        diagnostics = {"l2_distance": np.asarray(distances)}
        return Candidates(self._favourable[nearest], diagnostics=diagnostics)
