"""The nearest training row that the base model calls favourable."""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree as SpatialTree

from changeproof.methods.method import Candidates, Columns, Cost, Factuals, Method, People
from changeproof.model import Floats
from changeproof.plugins import PAPER

NONE_FAVOURABLE = "no training row is predicted favourable"


class KDTree(Method):
    """Send people to the nearest favourable training row (Euclidean distance).

    A row is good enough if the model is as sure of it as of that one, put on feasible rows.
    """

    name = "kdtree"
    label = "KD-tree"
    cost = Cost(per_person=0.0001, feasible=0.001, own_model=0.0001)
    summary = "nearest training row that the base model calls favourable"
    source = f"the nearest-neighbour baseline of {PAPER}"

    def _prepare(self) -> None:
        rows = self.context.task.rows("train")
        self._favourable = rows[self.context.model.favourable(rows)]
        self._tree = SpatialTree(self._favourable) if len(self._favourable) else None

    def _search(self, factuals: Factuals) -> Candidates:
        if self._tree is None:
            nothing = np.full_like(factuals.rows, np.nan)
            return Candidates(nothing, reasons=[NONE_FAVOURABLE] * len(factuals))
        distances, nearest = self._tree.query(factuals.rows)
        return Candidates(
            self._favourable[nearest], diagnostics={"l2_distance": np.asarray(distances)}
        )

    def _measure(self, rows: Floats, people: People) -> Columns:
        return {"l2_distance": np.sqrt(((rows - people.factuals) ** 2).sum(axis=1))}
