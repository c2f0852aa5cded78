"""The minimum-l1 counterfactual with a logit margin among the rows that a person may be told.

The fast engine repairs and shortens several realisable rows: the person's own, the answer of
`MinimalSearch` inside the person's limits, training rows put back to what may change, and the
answer of a smaller margin. From the shortest that is found, each change is given up in turn for
whatever else is shorter.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from changeproof.datasets.actions import Actions
from changeproof.methods.search.alternatives import undone
from changeproof.methods.search.minimal import Engine, MinimalSearch
from changeproof.methods.search.minimal_proof import prove
from changeproof.methods.search.repair import WORTHWHILE, Goal, lifted, repaired, shortened
from changeproof.model import Floats
from changeproof.networks.network import Network

EXCHANGES = 10
# HiGHS keeps to rows up to a tolerance; where its answer misses the target by no more than that,
# it is asked for this much more.
SOLVER_SLACK = 1e-5


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
    """

    network: Network
    actions: Actions
    rows: Floats
    starts: int = 6
    engine: Engine = "fast"

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
        answers = np.full_like(factuals, np.nan)
        if previous is not None:
            known = np.flatnonzero(np.isfinite(previous).all(axis=1))
            enough = known[self.network.logits(previous[known]) >= target]
            answers[enough] = previous[enough]
        for i in np.flatnonzero(np.isnan(answers[:, 0])):
            before = None if previous is None or np.isnan(previous[i, 0]) else previous[i]
            fast = self._fast(factuals[i], target, before)
            exact = self.engine == "exact"
            answers[i] = self._proven(factuals[i], target, fast) if exact else fast
        return answers

    @cached_property
    def _row_logits(self) -> Floats:
        return self.network.logits(self.rows)

    def _goal(self, target: float) -> Goal:
        weights = np.ones(self.network.n_features)
        return Goal(lambda rows, _: self.network.logits(rows), target, weights)

    def _fast(self, factual: Floats, target: float, previous: Floats | None) -> Floats:
        """Return the shortest change found for one factual, or NaN."""
        goal = self._goal(target)
        starts = self._starts(factual, target, previous)
        same = np.repeat(factual[None], len(starts), axis=0)
        found, reached = repaired(self.actions, same, starts, goal)
        if not reached.any():
            return np.full_like(factual, np.nan)
        found = found[reached]
        best = found[goal.lengths(same[reached], found).argmin()]
        return self._exchanged(factual, best, goal)

    def _starts(self, factual: Floats, target: float, previous: Floats | None) -> Floats:
        reaching = self.rows[self._row_logits >= target]
        allowed = self.actions.project(factual[None], reaching[None])[0]
        allowed = allowed[self.network.logits(allowed) >= target]
        order = np.argsort(self._goal(target).lengths(factual[None], allowed[None])[0], kind="stable")
        nearest = allowed[order[: self.starts]]
        low, high = self.actions.bounds(factual[None])
        inside = MinimalSearch(self.network, low[0], high[0], self.rows)
        none = np.full_like(factual, np.nan)
        relaxed = inside.shortest(factual, target, nearest, none)
        starts = [factual, *nearest]
        if np.isfinite(relaxed).all():
            starts.append(self.actions.project(factual[None], relaxed[None])[0])
        if previous is not None:
            starts.append(previous)
        return np.array(starts)

    def _exchanged(self, factual: Floats, best: Floats, goal: Goal) -> Floats:
        """Give up one change for others, as long as that is shorter."""
        for _ in range(EXCHANGES):
            without, differed = undone(self.actions, factual[None], best[None])
            starts, fixed = without[0][differed[0]], np.diag(differed[0])[differed[0]]
            same = np.repeat(factual[None], len(starts), axis=0)
            found, reached = lifted(self.actions, same, starts, goal, fixed)
            found = shortened(self.actions, same, found, goal, reached)[reached]
            lengths = goal.lengths(same[reached], found)
            now = goal.lengths(factual[None], best[None])[0]
            if not len(lengths) or lengths.min() >= now - WORTHWHILE:
                break
            best = found[lengths.argmin()]
        return best

    def _proven(self, factual: Floats, target: float, known: Floats) -> Floats:
        """Return the known answer, or the shorter one that the exact engine has."""
        low, high = (limit[0] for limit in self.actions.bounds(factual[None]))
        length = float((high - low).sum())
        if np.isfinite(known).all():
            length = float(np.abs(known - factual).sum())
        for asked in (target, target + SOLVER_SLACK):
            move = prove(
                self.network, factual, low, high, asked, length, actions=self.actions
            ).move
            if move is None:
                break
            better = self.actions.project(factual[None], (factual + move)[None])
            if self.network.logits(better)[0] >= target:
                shorter = np.abs(better[0] - factual).sum() < length - WORTHWHILE
                return better[0] if shorter or np.isnan(known).any() else known
        return known
