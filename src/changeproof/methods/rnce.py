"""The nearest training row whose favourable class is proven for every small parameter change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import KDTree as SpatialTree

from changeproof.certificates.box import ParameterBox, check_radius
from changeproof.certificates.exact import MAX_NODES, proven_rows
from changeproof.methods.method import (
    PARAMETERS,
    Candidates,
    Columns,
    Cost,
    Factuals,
    Method,
    People,
    Promise,
    WarmUp,
)
from changeproof.model import Access, Booleans, Floats
from changeproof.networks.network import Network
from changeproof.plugins import PAPER


@dataclass(kw_only=True, eq=False, repr=False)
class RNCE(Method):
    """Send people to the nearest training row that stays favourable whatever moves a little.

    Training rows count whatever their label; a row is a candidate if every network whose
    parameters differ by at most the radius gives it a positive logit, by an exact certificate.
    That certificate is what makes any other row good enough, too.

    Parameters
    ----------
    radius
        How far every weight and bias may move.
    max_nodes
        Nodes that the solver may explore for a row that cheaper arguments leave open; a row
        that needs more is no candidate.
    """

    name = "rnce"
    label = "RNCE"
    cost = Cost(per_person=0.001, feasible=0.2)
    warm_up = WarmUp(seconds=6)
    promise = Promise(
        "holds for every network whose weights and biases differ by at most {radius:g} from "
        "today's. This is proven exactly",
        PARAMETERS,
    )
    summary = "nearest training row certified favourable for every small parameter change"
    source = f"Jiang et al. 2024 (https://arxiv.org/abs/2404.13736), as in {PAPER}"
    needs = Access.RELU_PARAMETERS

    radius: float = 0.005
    max_nodes: int = MAX_NODES

    def __post_init__(self) -> None:
        check_radius(self.radius)

    def _prepare(self) -> None:
        network, rows = self.context.model, self.context.task.rows("train")
        assert isinstance(network, Network)
        self._box = ParameterBox(network, self.radius)
        self._candidates = rows[self._proven(rows)]
        self._tree = SpatialTree(self._candidates) if len(self._candidates) else None

    def _proven(self, rows: Floats) -> Booleans:
        return proven_rows(self._box, rows, max_nodes=self.max_nodes)

    def _search(self, factuals: Factuals) -> Candidates:
        n = len(factuals)
        rows, distances = np.full_like(factuals.rows, np.nan), np.full(n, np.nan)
        reason = f"no training row is certified favourable at radius {self.radius:g}"
        if self._tree is not None:
            distances[:], nearest = self._tree.query(factuals.rows)
            rows = self._candidates[nearest]
        diagnostics = {
            "certified": np.full(n, self._tree is not None),
            "candidates": np.full(n, len(self._candidates)),
            "l2_distance": distances,
        }
        return Candidates(rows, [reason] * n, diagnostics)

    def _accepts(self, rows: Floats, people: People) -> Booleans:
        return self._proven(rows)

    def _measure(self, rows: Floats, people: People) -> Columns:
        distances = np.sqrt(((rows - people.factuals) ** 2).sum(axis=1))
        return {"certified": self._proven(rows), "l2_distance": distances}
