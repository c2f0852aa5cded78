"""The minimum-l1 counterfactual with a logit margin inside a range: the fast engine.

From several starts (greedy coordinate steps, points on the way to training rows, the answer of a
smaller margin) a feasible point is shortened by sequential linearisation, where each step is a
knapsack, and then improved to the optimum of its linear region and of the regions around it.
The steps are in `minimal_steps.py`; `minimal_proof.py` is the engine that proves optimality.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from changeproof.methods.search.linear_regions import walk_regions
from changeproof.methods.search.minimal_proof import prove
from changeproof.methods.search.minimal_steps import SLACK, climb, cross_segment, distance, shorten
from changeproof.model import Floats
from changeproof.networks.flat import preactivations
from changeproof.networks.network import Network

TARGET_SLACK = 1e-7
# HiGHS keeps to rows up to a tolerance; where its answer misses the target by no more than that,
# it is asked for this much more.
SOLVER_SLACK = 1e-5

Engine = Literal["fast", "exact"]


@dataclass(frozen=True, eq=False)
class MinimalSearch:
    """The shortest change that lifts the logit of a network to a target.

    Parameters
    ----------
    network
        The network to persuade.
    low, high
        Range that the counterfactual must stay in. A factual outside is first moved inside.
    rows
        Training rows, which give directions to start in.
    segments
        How many of the nearest training rows that reach the target are tried.
    max_regions
        Linear programmes per start.
    engine
        "fast", or "exact": the fast answer is then proven shortest within 0.1 %, or replaced by
        the one that is (seconds per factual, and as far as the budget of nodes goes). Where the
        fast engine finds nothing, the whole range is searched.
    """

    network: Network
    low: Floats
    high: Floats
    rows: Floats
    segments: int = 6
    max_regions: int = 60
    engine: Engine = "fast"

    @cached_property
    def _row_logits(self) -> Floats:
        return self.network.logits(self.rows)

    def search(self, factuals: Floats, target: float, previous: Floats | None = None) -> Floats:
        """Return for every factual the shortest change found; NaN where there is none.

        Parameters
        ----------
        target
            The logit to reach.
        previous
            Answers for a smaller target, as further starts (NaN rows are ignored).
        """
        reaching = self.rows[self._row_logits >= target]
        reaching = np.clip(reaching, self.low, self.high)
        previous = np.full(factuals.shape, np.nan) if previous is None else previous
        answers = np.empty_like(factuals)
        for i, factual in enumerate(factuals):
            distances = np.abs(reaching - factual).sum(axis=1)
            nearest = np.argsort(distances, kind="stable")[: self.segments]
            fast = self.shortest(factual, target, reaching[nearest], previous[i])
            answers[i] = fast if self.engine == "fast" else self._proven(factual, target, fast)
        return answers

    def shortest(self, factual: Floats, target: float, goals: Floats, previous: Floats) -> Floats:
        """Return the shortest change found for one factual, or NaN; `goals` reach the target."""
        network, low, high = self.network.flat, self.low, self.high
        origin = np.minimum(np.maximum(factual, low), high)
        values = np.empty(network.n_neurons)
        if preactivations(*network[1:], origin, values) >= target:
            return origin
        starts = [cross_segment(network, origin, goal, target) for goal in goals]
        climbers = [origin] if np.isnan(previous[0]) else [origin, previous]
        starts += [climb(network, begin, low, high, target) for begin in climbers]
        best_length, best = np.inf, np.full(len(factual), np.nan)
        walked: set[bytes] = set()
        for start in starts:
            if np.isnan(start[0]):
                continue
            point = shorten(network, origin, low, high, target, start)
            if (length := distance(point, origin)) < best_length:
                best_length, best = length, point
            # Starts often meet in one region; the walk from there is the same.
            preactivations(*network[1:], point, values)
            region = (values[:-1] > 0.0).tobytes()
            if region in walked:
                continue
            walked.add(region)
            length, move = self._walk(origin, point, target)
            if length < best_length - SLACK:
                candidate = np.minimum(np.maximum(origin + move, low), high)
                if preactivations(*network[1:], candidate, values) >= target - TARGET_SLACK:
                    best_length, best = length, candidate
        return best

    def _walk(self, origin: Floats, point: Floats, target: float) -> tuple[float, Floats]:
        """Return length and move of the best that the regions around a point have."""
        room = self.high - origin, origin - self.low
        return walk_regions(self.network.flat, origin, *room, point, target, self.max_regions)

    def _proven(self, factual: Floats, target: float, known: Floats) -> Floats:
        """Return the known answer, or the shorter one that the exact engine has."""
        origin = np.clip(factual, self.low, self.high)
        if np.isnan(known).any():
            return self._found_anywhere(origin, target)
        length = float(np.abs(known - origin).sum())
        move = prove(self.network, origin, self.low, self.high, target, length).move
        if move is None or np.abs(move).sum() >= length - SLACK:
            return known
        # HiGHS is exact to its tolerance; the optimum of its region is exact to ours.
        better = origin + self._walk(origin, origin + move, target)[1]
        reached = self.network.logits(better[None])[0] >= target - TARGET_SLACK
        return better if reached and np.abs(better - origin).sum() < length else known

    def _found_anywhere(self, origin: Floats, target: float) -> Floats:
        """Return the answer that the exact engine has in the whole range, or NaN."""
        length = float(np.maximum(self.high - origin, origin - self.low).sum())
        for asked in (target, target - 0.5 * TARGET_SLACK, target + SOLVER_SLACK):
            move = prove(self.network, origin, self.low, self.high, asked, length).move
            if move is None:
                continue
            shortest, better = self._walk(origin, origin + move, target)
            moves = [better, move] if np.isfinite(shortest) else [move]
            for answer in np.clip(origin + np.array(moves), self.low, self.high):
                if self.network.logits(answer[None])[0] >= target - TARGET_SLACK:
                    return np.asarray(answer)
        return np.full_like(origin, np.nan)
