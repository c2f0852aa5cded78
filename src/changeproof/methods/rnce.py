"""The nearest training row whose favourable class is proven for every small parameter change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial import KDTree as SpatialTree

from changeproof.certificates.box import ParameterBox, check_radius
from changeproof.certificates.exact import MAX_NODES, proven_rows
from changeproof.methods.method import Candidates, Factuals, Method, People
from changeproof.methods.profile import PARAMETERS, Cost, Promise, WarmUp
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
        network = self.context.model
        assert isinstance(network, Network)
        rows = self.context.task.rows("train")
        self._box = ParameterBox(network, self.radius)
        self._candidates = rows[proven_rows(self._box, rows, max_nodes=self.max_nodes)]
        self._tree = SpatialTree(self._candidates) if len(self._candidates) else None

    def _search(self, factuals: Factuals) -> Candidates:
        n_factuals = len(factuals)
        diagnostics = {
            "certified": np.full(n_factuals, self._tree is not None),
            "candidates": np.full(n_factuals, len(self._candidates)),
            "l2_distance": np.full(n_factuals, np.nan),
        }
        if self._tree is None:
            reason = f"no training row is certified favourable at radius {self.radius:g}"
            nothing = np.full_like(factuals.rows, np.nan)
            return Candidates(nothing, reasons=[reason] * n_factuals, diagnostics=diagnostics)
        distances, nearest = self._tree.query(factuals.rows)
        diagnostics["l2_distance"] = np.asarray(distances)
        return Candidates(self._candidates[nearest], diagnostics=diagnostics)

    def _accepts(self, rows: Floats, people: People) -> Booleans:
        return proven_rows(self._box, rows, max_nodes=self.max_nodes)

    def _measure(self, rows: Floats, people: People) -> Mapping[str, npt.NDArray[Any]]:
        return {
            "certified": proven_rows(self._box, rows, max_nodes=self.max_nodes),
            "l2_distance": np.sqrt(((rows - people.factuals) ** 2).sum(axis=1)),
        }
