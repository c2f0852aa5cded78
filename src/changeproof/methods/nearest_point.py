"""The nearest point that the base network accepts (MCE, Mohammadi and others)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from changeproof.methods.method import Candidates, Columns, Cost, Factuals, Method, People, WarmUp
from changeproof.methods.shared.minimal import TARGET_SLACK, MinimalSearch, l1_distances
from changeproof.model import Access, Floats
from changeproof.networks.network import Network

NOTHING_REACHES = "no point was found whose logit reaches {margin:g}"


@dataclass(kw_only=True, eq=False, repr=False)
class NearestPoint(Method):
    """Make the smallest change, in l1, with which the base network gives a logit of a margin.

    It is the counterfactual that asks for least and is robust to nothing: others are read beside
    it. The paper solves a mixed-integer programme per person. Here it is the search that AP-Delta-S
    uses, thousands of times faster. That the answer reaches the margin is proven; that none is
    nearer is not, but where the programme could be solved to its end, both found the same distance
    (`benchmarks/minimal.py`). The paper leaves open how far features may go. Here they stay in the
    range of the training rows, which is widened to the person where that is outside.

    A row is good enough if it reaches the margin.

    Parameters
    ----------
    margin
        The least logit: what stands for "above zero" in published programmes.
    """

    name = "nearest-point"
    label = "Nearest point"
    cost = Cost(per_person=0.001, feasible=0.03)
    warm_up = WarmUp(seconds=10)
    summary = "the smallest change with which the base network says yes"
    source = (
        "Mohammadi et al., Scaling Guarantees for Nearest Counterfactual Explanations, AIES 2021 "
        "(https://arxiv.org/abs/2010.04965)"
    )
    needs = Access.RELU_PARAMETERS

    margin: Annotated[float, Field(ge=0.0)] = 1e-4

    def _prepare(self) -> None:
        task = self.context.task
        self._minimal = MinimalSearch(
            self._network, *task.training_range, task.rows("train"), widened=True
        )

    @property
    def _network(self) -> Network:
        assert isinstance(self.context.model, Network)
        return self.context.model

    def _search(self, factuals: Factuals) -> Candidates:
        rows = self._minimal.search(factuals.rows, self.margin + TARGET_SLACK)
        found = np.asarray(np.isfinite(rows).all(axis=1))
        logits, lengths = np.full((2, len(rows)), np.nan)
        logits[found] = self._network.logits(rows[found])
        lengths[found] = l1_distances(rows[found], factuals.rows[found])
        reason = NOTHING_REACHES.format(margin=self.margin)
        return Candidates(rows, [reason] * len(rows), {"logit": logits, "l1_distance": lengths})

    def _score(self, rows: Floats, people: People) -> Floats:
        return self._network.logits(rows)

    def _level(self, people: People) -> Floats:
        return np.full(len(people.places), self.margin)

    def _measure(self, rows: Floats, people: People) -> Columns:
        logits, lengths = self._network.logits(rows), l1_distances(rows, people.factuals)
        return {"logit": logits, "l1_distance": lengths}
