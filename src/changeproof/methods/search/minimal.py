"""The minimum-l1 counterfactual with a logit margin inside a range: the fast engine.

From several starts (greedy coordinate steps, points on the way to training rows, the answer of a
smaller margin) a feasible point is shortened by sequential linearisation, where each step is a
knapsack, and then improved to the optimum of its linear region and of the regions around it.
See `minimal_proof.py` for the engine that proves optimality.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.datasets.task import Floats, Integers
from changeproof.methods.search.linear_regions import preactivations, walk_regions
from changeproof.methods.search.minimal_proof import prove
from changeproof.networks.network import Network

GREEDY_STEP = 0.2
GREEDY_STEPS = 2_000
LINEARISATIONS = 30
SEGMENT_POINTS = 32
BISECTIONS = 40
SLACK = 1e-9
TARGET_SLACK = 1e-7

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
        the one that is (seconds per factual, and as far as the budget of nodes goes).
    """

    network: Network
    low: Floats
    high: Floats
    rows: Floats
    segments: int = 6
    max_regions: int = 60
    engine: Engine = "fast"

    @cached_property
    def _flat(self) -> Floats:
        pairs = zip(self.network.weights, self.network.biases, strict=True)
        return np.concatenate(
            [array.astype(np.float64).ravel() for pair in pairs for array in pair]
        )

    @cached_property
    def _turned(self) -> Floats:
        pairs = zip(self.network.weights, self.network.biases, strict=True)
        return np.concatenate(
            [array.astype(np.float64).T.ravel() for pair in pairs for array in pair]
        )

    @cached_property
    def _widths(self) -> Integers:
        return np.array([self.network.n_features, *self.network.hidden], dtype=np.int64)

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
            fast = self._shortest(factual, target, reaching[nearest], previous[i])
            answers[i] = fast if self.engine == "fast" else self._proven(factual, target, fast)
        return answers

    def _shortest(self, factual: Floats, target: float, goals: Floats, previous: Floats) -> Floats:
        """Return the shortest change found for one factual, or NaN."""
        network = self._flat, self._turned, self._widths
        origin = np.minimum(np.maximum(factual, self.low), self.high)
        values = np.empty(self._widths[1:].sum())
        if preactivations(*network[1:], origin, values) >= target:
            return origin
        starts = [cross_segment(*network[1:], origin, goal, target) for goal in goals]
        climbers = [origin] if np.isnan(previous[0]) else [origin, previous]
        starts += [climb(*network, begin, self.low, self.high, target) for begin in climbers]
        best_length, best = np.inf, np.full(len(factual), np.nan)
        walked: set[bytes] = set()
        for start in starts:
            if np.isnan(start[0]):
                continue
            point = shorten(*network, origin, self.low, self.high, target, start)
            if (length := distance(point, origin)) < best_length:
                best_length, best = length, point
            # Starts often meet in one region; the walk from there is the same.
            preactivations(*network[1:], point, values)
            region = (values > 0.0).tobytes()
            if region in walked:
                continue
            walked.add(region)
            room = self.high - origin, origin - self.low
            length, move = walk_regions(*network, origin, *room, point, target, self.max_regions)
            if length < best_length - SLACK:
                candidate = np.minimum(np.maximum(origin + move, self.low), self.high)
                if preactivations(*network[1:], candidate, values) >= target - TARGET_SLACK:
                    best_length, best = length, candidate
        return best

    def _proven(self, factual: Floats, target: float, known: Floats) -> Floats:
        if np.isnan(known).any():
            return known
        origin = np.clip(factual, self.low, self.high)
        length = float(np.abs(known - origin).sum())
        move = prove(self.network, origin, self.low, self.high, target, length).move
        if move is None or np.abs(move).sum() >= length - SLACK:
            return known
        # HiGHS is exact to its tolerance; the optimum of its region is exact to ours.
        better = (
            origin
            + walk_regions(
                self._flat,
                self._turned,
                self._widths,
                origin,
                self.high - origin,
                origin - self.low,
                origin + move,
                target,
                self.max_regions,
            )[1]
        )
        reached = self.network.logits(better[None])[0] >= target - TARGET_SLACK
        return better if reached and np.abs(better - origin).sum() < length else known


@compiled
def distance(point: Any, other: Any) -> float:
    """Return the l1 distance of two points."""
    total = 0.0
    for j in range(len(point)):
        total += abs(point[j] - other[j])
    return total


@compiled
def between(point: Any, other: Any, share: float, result: Any) -> Any:
    """Fill in the point that lies a share of the way to another."""
    for j in range(len(point)):
        result[j] = point[j] + share * (other[j] - point[j])
    return result


@compiled
def slope(flat: Any, widths: Any, values: Any) -> Any:
    """Return the derivative of the logit by the features, given the pre-activations."""
    last = len(widths) - 1
    stop = len(flat) - 1
    back = flat[stop - widths[last] : stop].copy()
    start, first = stop - widths[last], len(values)
    for layer in range(last, 0, -1):
        n_in, n_out = widths[layer - 1], widths[layer]
        first -= n_out
        start -= n_out * n_in + n_out
        before = np.zeros(n_in)
        for j in range(n_out):
            if values[first + j] > 0:
                for k in range(n_in):
                    before[k] += back[j] * flat[start + j * n_in + k]
        back = before
    return back


@compiled
def cross_segment(turned: Any, widths: Any, origin: Any, goal: Any, target: float) -> Any:
    """Return the first point found on the way to a goal that reaches the target."""
    values, point = np.empty(widths[1:].sum()), np.empty(len(origin))
    above = 1.0
    for k in range(1, SEGMENT_POINTS + 1):
        share = k / SEGMENT_POINTS
        if preactivations(turned, widths, between(origin, goal, share, point), values) >= target:
            above = share
            break
        if k == SEGMENT_POINTS:
            point.fill(np.nan)
            return point
    below = above - 1.0 / SEGMENT_POINTS
    for _ in range(BISECTIONS):
        middle = 0.5 * (below + above)
        if preactivations(turned, widths, between(origin, goal, middle, point), values) >= target:
            above = middle
        else:
            below = middle
    return between(origin, goal, above, point)


@compiled
def climb(
    flat: Any, turned: Any, widths: Any, start: Any, low: Any, high: Any, target: float
) -> Any:
    """Take small steps in the steepest feature that has room, until the target is reached."""
    point = start.copy()
    values = np.empty(widths[1:].sum())
    for _ in range(GREEDY_STEPS):
        logit = preactivations(turned, widths, point, values)
        if logit >= target:
            return point
        gradient = slope(flat, widths, values)
        best, chosen = 0.0, -1
        for j in range(len(point)):
            room = high[j] - point[j] if gradient[j] > 0 else point[j] - low[j]
            if room > SLACK and abs(gradient[j]) > best:
                best, chosen = abs(gradient[j]), j
        if chosen < 0:
            break
        size = min(GREEDY_STEP, (target - logit) / best + SLACK)
        if gradient[chosen] > 0:
            point[chosen] = min(high[chosen], point[chosen] + size)
        else:
            point[chosen] = max(low[chosen], point[chosen] - size)
    return np.full(len(point), np.nan)


@compiled
def knapsack(origin: Any, low: Any, high: Any, gradient: Any, gain: float) -> Any:
    """Return the shortest move whose linear gain suffices (all there is, if none does)."""
    point = origin.copy()
    steepness = np.abs(gradient)
    for _ in range(len(gradient)):
        j = steepness.argmax()
        if gain <= 0.0 or steepness[j] == 0.0:
            break
        steepness[j] = 0.0
        room = high[j] - origin[j] if gradient[j] > 0 else origin[j] - low[j]
        size = min(room, gain / abs(gradient[j]))
        point[j] += size if gradient[j] > 0 else -size
        gain -= size * abs(gradient[j])
    return point


@compiled
def shorten(
    flat: Any,
    turned: Any,
    widths: Any,
    origin: Any,
    low: Any,
    high: Any,
    target: float,
    point: Any,
) -> Any:
    """Shorten a feasible point: solve the linearised problem, go there as far as one may."""
    values = np.empty(widths[1:].sum())
    here = point.copy()
    length = distance(here, origin)
    for _ in range(LINEARISATIONS):
        logit = preactivations(turned, widths, here, values)
        gradient = slope(flat, widths, values)
        gain = target - logit
        for j in range(len(here)):
            gain += gradient[j] * (here[j] - origin[j])
        goal = knapsack(origin, low, high, gradient, gain)
        share, improved = 1.0, False
        while share > 1e-3 and not improved:
            tried = between(here, goal, share, np.empty(len(here)))
            if (
                distance(tried, origin) < length - 1e-7
                and preactivations(turned, widths, tried, values) >= target
            ):
                here, improved = tried, True
                length = distance(here, origin)
            share *= 0.5
        if not improved:
            break
    return here
