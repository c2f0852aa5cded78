"""The nearest training row that the base model calls favourable."""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree as SpatialTree

from changeproof.datasets.actions import Actions
from changeproof.methods.method import Candidates, Factuals, Method
from changeproof.methods.profile import Cost
from changeproof.methods.realising import realised
from changeproof.methods.search.realisable_rows import nearest_accepted, no_farther
from changeproof.model import Booleans, Floats, Integers
from changeproof.plugins import PAPER

NONE_FAVOURABLE = "no training row is predicted favourable"
NONE_LEFT = "no favourable training row stays favourable with only what may change"


class KDTree(Method):
    """Send people to the nearest favourable training row (Euclidean distance).

    Where not everything may change, training rows are put back to what may. Of those that are
    still favourable, and as likely so as the published answer once it is put back, the nearest
    counts, in the distance of the task.
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
        if self.context.actions is not None:
            return self._realisable(self.context.actions, self._tree, factuals)
        distances, nearest = self._tree.query(factuals.rows)
        diagnostics = {"l2_distance": np.asarray(distances)}
        return Candidates(self._favourable[nearest], diagnostics=diagnostics)

    def _realisable(self, actions: Actions, tree: SpatialTree, factuals: Factuals) -> Candidates:
        model, own = self.context.model, factuals.rows
        published = self._favourable[tree.query(own)[1]]
        mended = realised(actions, model, own, published).rows
        likely = np.where(model.favourable(mended), model.probabilities(mended), 0.0)

        def accept(rows: Floats, who: Integers) -> Booleans:
            sure = model.probabilities(rows) >= likely[who]
            return np.asarray(sure & model.favourable(rows))

        rows = nearest_accepted(actions, own, self._favourable, accept).rows[:, 0]
        rows = no_farther(self.context.task, own, rows, mended, likely > 0.0)
        diagnostics = {"l2_distance": np.sqrt(((rows - factuals.rows) ** 2).sum(axis=1))}
        return Candidates(rows, reasons=[NONE_LEFT] * len(rows), diagnostics=diagnostics)
