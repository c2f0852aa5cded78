"""The nearest training row whose favourable class is proven for every small parameter change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from changeproof.methods.method import (
    Candidates,
    Columns,
    Cost,
    Factuals,
    People,
    WarmUp,
)
from changeproof.methods.shared.proven import CertifiedRows
from changeproof.model import Floats
from changeproof.plugins import PAPER


@dataclass(kw_only=True, eq=False, repr=False)
class RNCE(CertifiedRows):
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
    summary = "nearest training row certified favourable for every small parameter change"
    source = f"Jiang et al. 2024 (https://arxiv.org/abs/2404.13736), as in {PAPER}"

    def _search(self, factuals: Factuals) -> Candidates:
        n = len(factuals)
        rows, distances = np.full_like(factuals.rows, np.nan), np.full(n, np.nan)
        if self._tree is not None:
            distances[:], nearest = self._tree.query(factuals.rows)
            rows = self._certified[nearest]
        diagnostics = {
            "certified": np.full(n, self._tree is not None),
            "candidates": np.full(n, len(self._certified)),
            "l2_distance": distances,
        }
        return Candidates(rows, [self._none_certified] * n, diagnostics)

    def _measure(self, rows: Floats, people: People) -> Columns:
        distances = np.sqrt(((rows - people.factuals) ** 2).sum(axis=1))
        return {"certified": self._proven(rows), "l2_distance": distances}
