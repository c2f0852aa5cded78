"""The minimum-l1 counterfactual with a logit margin among the rows that a person may be told.

The fast engine starts from several realisable rows (see `shortest.py`): the person's own, the
answer of `MinimalSearch` inside the person's limits, training rows put back to what may change,
and the answer of a smaller margin. The exact engine is that of `minimal_proof.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from changeproof.datasets.actions import Actions
from changeproof.methods.search.few_features import FewFeatures
from changeproof.methods.search.minimal import SOLVER_SLACK, Engine, MinimalSearch
from changeproof.methods.search.minimal_proof import prove
from changeproof.methods.search.repair import WORTHWHILE, Goal
from changeproof.methods.search.shortest import EXCHANGES, shortest
from changeproof.model import Floats
from changeproof.networks.network import Network


@dataclass(frozen=True, eq=False)
class RealisableSearch:
    """The shortest realisable change that lifts the logit of a network to a target.

    Parameters
    ----------
    network
        The network to persuade.
    actions
        What may change.
    rows
        Training rows, to start from.
    starts
        How many of the nearest training rows that reach the target are tried.
    engine
        "fast", or "exact": the fast answer is then proven shortest within 0.1 %, or replaced by
        the one that is (as far as the budget of nodes goes).
    exchanges
        See `shortest`.
    """

    network: Network
    actions: Actions
    rows: Floats
    starts: int = 6
    engine: Engine = "fast"
    exchanges: int = EXCHANGES

    def search(self, factuals: Floats, target: float, previous: Floats | None = None) -> Floats:
        """Return for every factual the shortest change found; NaN where there is none.

        Parameters
        ----------
        target
            The logit to reach.
        previous
            Answers for a smaller target (NaN rows are ignored). Where they reach this one too,
            they are the answers.
        """
        few = FewFeatures(self.actions, self.network, factuals)
        if isinstance(few.model, Network) and few.few:
            rows = few.seen(self.rows, np.arange(len(self.rows)), self.rows)
            search = replace(
                self,
                network=few.model,
                actions=few.actions,
                rows=rows,
                exchanges=few.exchanges(self.exchanges),
            )
            before = None if previous is None else few.rows(previous)
            return few.back(search.search(few.people, target, before))
        answers = np.full_like(factuals, np.nan)
        if previous is not None:
            known = np.flatnonzero(np.isfinite(previous).all(axis=1))
            enough = known[self.network.logits(previous[known]) >= target]
            answers[enough] = previous[enough]
        waiting = np.flatnonzero(np.isnan(answers[:, 0]))
        if not len(waiting):
            return answers
        starts = [self._starts(factuals[i], target) for i in waiting]
        if previous is not None:
            for place, i in enumerate(waiting):
                starts[place] += [previous[i]] if np.isfinite(previous[i]).all() else []
        owners = np.repeat(np.arange(len(waiting)), [len(some) for some in starts])
        rows = np.array([row for some in starts for row in some])
        goal = self._goal(target)
        answers[waiting] = shortest(
            self.actions, factuals[waiting], rows, owners, goal, self.exchanges
        )
        if self.engine == "exact":
            for i in waiting:
                answers[i] = self._proven(factuals[i], target, answers[i])
        return answers

    @cached_property
    def _row_logits(self) -> Floats:
        return self.network.logits(self.rows)

    def _goal(self, target: float) -> Goal:
        weights = np.ones(self.network.n_features)
        return Goal(lambda rows, _: self.network.logits(rows), target, weights)

    def _starts(self, factual: Floats, target: float) -> list[Floats]:
        goal = self._goal(target)
        reaching = self.rows[self._row_logits >= target]
        allowed = self.actions.project(factual[None], reaching[None])[0]
        allowed = allowed[self.network.logits(allowed) >= target]
        lengths = goal.lengths(factual[None], allowed[None])[0]
        nearest = allowed[np.argsort(lengths, kind="stable")[: self.starts]]
        low, high = self.actions.bounds(factual[None])
        inside = MinimalSearch(self.network, low[0], high[0], self.rows)
        relaxed = inside.shortest(factual, target, nearest, np.full_like(factual, np.nan))
        starts = [factual, *nearest]
        if np.isfinite(relaxed).all():
            starts.append(self.actions.project(factual[None], relaxed[None])[0])
        return starts

    def _proven(self, factual: Floats, target: float, known: Floats) -> Floats:
        """Return the known answer, or the shorter one that the exact engine has."""
        low, high = (limit[0] for limit in self.actions.bounds(factual[None]))
        length = float((high - low).sum())
        if np.isfinite(known).all():
            length = float(np.abs(known - factual).sum())
        for asked in (target, target + SOLVER_SLACK):
            move = prove(self.network, factual, low, high, asked, length, actions=self.actions).move
            if move is None:
                break
            better = self.actions.project(factual[None], (factual + move)[None])
            if self.network.logits(better)[0] >= target:
                shorter = np.abs(better[0] - factual).sum() < length - WORTHWHILE
                return better[0] if shorter or np.isnan(known).any() else known
        return known
