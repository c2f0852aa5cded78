"""The nearest training row whose favourable class is proven for every small parameter change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial import KDTree as SpatialTree

from changeproof.certificates.box import ParameterBox, check_radius
from changeproof.certificates.exact import MAX_NODES, proven_rows
from changeproof.datasets.actions import Actions
from changeproof.methods.method import Candidates, Factuals, Method
from changeproof.methods.profile import PARAMETERS, Cost, Promise, WarmUp
from changeproof.methods.search.realisable_rows import nearest_accepted
from changeproof.methods.search.undoing import undone
from changeproof.model import Access, Booleans, Floats
from changeproof.networks.network import Network
from changeproof.plugins import PAPER

NONE_LEFT = "no certified training row stays favourable with only what may change"
# Where not everything may change: how many of a person's nearest rows are certified again before
# one that is not has to do, and how many at a time.
MOST_ROWS, ROWS_AT_ONCE = 1_000, 8


@dataclass(kw_only=True, eq=False, repr=False)
class RNCE(Method):
    """Send people to the nearest training row that stays favourable whatever moves a little.

    Training rows count whatever their label; a row is a candidate if every network whose
    parameters differ by at most the radius gives it a positive logit, by an exact certificate.
    Where not everything may change, candidates are put back to what may, and certified again; so
    are single features of the nearest, put back to what people have, where it stays certified.
    Who has no candidate that is then still certified gets the nearest that is favourable, and the
    answer does not count as certified.

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
        if self.context.actions is not None:
            return self._realisable(self.context.actions, factuals, diagnostics)
        distances, nearest = self._tree.query(factuals.rows)
        diagnostics["l2_distance"] = np.asarray(distances)
        return Candidates(self._candidates[nearest], diagnostics=diagnostics)

    def _realisable(
        self, actions: Actions, factuals: Factuals, diagnostics: dict[str, npt.NDArray[Any]]
    ) -> Candidates:
        nearest = nearest_accepted(
            actions,
            factuals.rows,
            self._candidates,
            lambda rows, _: self._stays(rows),
            most_asked=MOST_ROWS,
            at_once=ROWS_AT_ONCE,
        )
        rows = nearest.rows[:, 0]
        certified = np.asarray(np.isfinite(rows).all(axis=1))
        own = factuals.rows[certified]
        rows[certified] = undone(actions, own, rows[certified], lambda rows, _: self._stays(rows))
        favourable = self.context.model.favourable
        rows[~certified] = nearest_accepted(
            actions, factuals.rows[~certified], self._candidates, lambda rows, _: favourable(rows)
        ).rows[:, 0]
        diagnostics["certified"] = certified
        diagnostics["l2_distance"] = np.sqrt(((rows - factuals.rows) ** 2).sum(axis=1))
        return Candidates(rows, reasons=[NONE_LEFT] * len(rows), diagnostics=diagnostics)

    def _stays(self, rows: Floats) -> Booleans:
        """Return which rows are certified; what is not even favourable is told quickly."""
        stays = self.context.model.favourable(rows)
        stays[stays] = proven_rows(self._box, rows[stays], max_nodes=self.max_nodes)
        return stays
