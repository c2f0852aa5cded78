"""The minimum-l1 counterfactual with a logit margin inside a range.

From several starts (greedy coordinate steps, points on the way to training rows, the answer of a
smaller margin) a point that reaches the margin is shortened by sequential linearisation, where each
step is a knapsack, and then improved to the optimum of its linear region and of the regions around
it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.arithmetic.functions import fma
from changeproof.feasible.wide_tables import affordable
from changeproof.methods.shared.dual_simplex import OPTIMAL, solve
from changeproof.model import Floats
from changeproof.networks.flat import layer_at, preactivations
from changeproof.networks.network import Network

GREEDY_STEP = 0.2
GREEDY_STEPS = 2_000
LINEARISATIONS = 30
SEGMENT_POINTS = 32
BISECTIONS = 40
SLACK = 1e-9
TARGET_SLACK = 1e-7
MAX_PIVOTS = 1_000
# How much shorter a move has to become, or how dear a neuron has to be.
WORTHWHILE = 1e-7


@compiled
def distance(point: Any, other: Any) -> float:
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
def slope(parameters: Any, layers: Any, values: Any) -> Any:
    """Return the derivative of the logit by the features, given the pre-activations."""
    back = parameters[layers[-1, 2] : len(parameters) - 1].copy()
    for layer in range(len(layers) - 2, -1, -1):
        n_in, n_out, start, first = layer_at(layers, layer)
        before = np.zeros(n_in)
        for j in range(n_out):
            if values[first + j] > 0:
                for k in range(n_in):
                    before[k] += back[j] * parameters[start + j * n_in + k]
        back = before
    return back


@compiled
def cross_segment(network: Any, origin: Any, goal: Any, target: float) -> Any:
    """Return the first point found on the way to a goal that reaches the target."""
    turned, layers = network.turned, network.layers
    values, point = np.empty(layers[-1, 3] + 1), np.empty(len(origin))
    above = 1.0
    for k in range(1, SEGMENT_POINTS + 1):
        share = k / SEGMENT_POINTS
        if preactivations(turned, layers, between(origin, goal, share, point), values) >= target:
            above = share
            break
        if k == SEGMENT_POINTS:
            point.fill(np.nan)
            return point
    below = above - 1.0 / SEGMENT_POINTS
    for _ in range(BISECTIONS):
        middle = 0.5 * (below + above)
        if preactivations(turned, layers, between(origin, goal, middle, point), values) >= target:
            above = middle
        else:
            below = middle
    return between(origin, goal, above, point)


@compiled
def climb(network: Any, start: Any, low: Any, high: Any, target: float) -> Any:
    """Take small steps in the steepest feature that has room, until the target is reached."""
    parameters, turned, layers = network
    point = start.copy()
    values = np.empty(layers[-1, 3] + 1)
    for _ in range(GREEDY_STEPS):
        logit = preactivations(turned, layers, point, values)
        if logit >= target:
            return point
        gradient = slope(parameters, layers, values)
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
def shorten(network: Any, origin: Any, low: Any, high: Any, target: float, point: Any) -> Any:
    """Shorten a feasible point: solve the linearised problem, go there as far as one may."""
    parameters, turned, layers = network
    values = np.empty(layers[-1, 3] + 1)
    here = point.copy()
    length = distance(here, origin)
    for _ in range(LINEARISATIONS):
        logit = preactivations(turned, layers, here, values)
        gradient = slope(parameters, layers, values)
        gain = target - logit
        for j in range(len(here)):
            gain += gradient[j] * (here[j] - origin[j])
        goal = knapsack(origin, low, high, gradient, gain)
        share, improved = 1.0, False
        while share > 1e-3 and not improved:
            tried = between(here, goal, share, np.empty(len(here)))
            if (
                distance(tried, origin) < length - 1e-7
                and preactivations(turned, layers, tried, values) >= target
            ):
                here, improved = tried, True
                length = distance(here, origin)
            share *= 0.5
        if not improved:
            break
    return here


@compiled
def affine_forms(network: Any, active: Any, slopes: Any, constants: Any) -> None:
    """Fill the affine forms of all pre-activations and, last, of the logit in a region."""
    flat, n_features = network.parameters, network.layers[0, 0]
    for layer in range(len(network.layers)):
        n_in, n_out, start, first = layer_at(network.layers, layer)
        before = first - n_in
        for j in range(n_out):
            slopes[first + j] = 0.0
            constants[first + j] = flat[start + n_out * n_in + j]
            for k in range(n_in):
                weight = flat[start + j * n_in + k]
                if layer == 0:
                    slopes[first + j, k] = weight
                elif active[before + k]:
                    constants[first + j] += weight * constants[before + k]
                    for f in range(n_features):
                        slopes[first + j, f] = fma(
                            weight, slopes[before + k, f], slopes[first + j, f]
                        )


@compiled
def region_optimum(
    network: Any, origin: Any, up: Any, down: Any, active: Any, target: float
) -> tuple[float, Any, Any]:
    """Return the shortest move to the target within a region: length, move, neuron prices.

    Features may rise by `up` and fall by `down` from the origin. A length is infinite where the
    region holds no such point.
    """
    n_features, n_neurons = len(origin), len(active)
    slopes = np.empty((n_neurons + 1, n_features))
    constants = np.empty(n_neurons + 1)
    affine_forms(network, active, slopes, constants)
    both = np.empty((n_neurons + 1, 2 * n_features))
    starts = np.empty(n_neurons + 1)
    for i in range(n_neurons + 1):
        sign = 1.0
        total = constants[i]
        for f in range(n_features):
            total += slopes[i, f] * origin[f]
        if i == n_neurons:
            total -= target
        elif not active[i]:
            sign = -1.0
        starts[i] = sign * total
        for f in range(n_features):
            both[i, f] = sign * slopes[i, f]
            both[i, n_features + f] = -sign * slopes[i, f]
    room = np.empty(2 * n_features)
    for f in range(n_features):
        room[f], room[n_features + f] = up[f], down[f]
    status, moves, prices = solve(both, starts, room, MAX_PIVOTS)
    move, length = np.empty(n_features), 0.0
    for f in range(n_features):
        move[f] = moves[f] - moves[n_features + f]
        length += abs(move[f])
    return length if status == OPTIMAL else np.inf, move, prices


@compiled
def walk_regions(
    network: Any, origin: Any, up: Any, down: Any, point: Any, target: float, max_regions: int
) -> tuple[float, Any]:
    """Go from the region of a feasible point to better neighbours, one neuron at a time.

    The optimum of a region lies in its neighbours too, so crossing a wall that the optimum
    leans on can only make the move shorter.
    """
    n_neurons = network.layers[-1, 3]
    values, active = np.empty(n_neurons + 1), np.empty(n_neurons, np.bool_)
    preactivations(network.turned, network.layers, point, values)
    for neuron in range(n_neurons):
        active[neuron] = values[neuron] > 0
    length, move, prices = region_optimum(network, origin, up, down, active, target)
    regions = 1
    improved = length < np.inf
    while improved and regions < max_regions:
        improved = False
        while regions < max_regions:
            neuron = 0
            for other in range(n_neurons):
                if prices[other] > prices[neuron]:
                    neuron = other
            if n_neurons == 0 or prices[neuron] <= WORTHWHILE:
                break
            prices[neuron] = 0.0
            active[neuron] = not active[neuron]
            regions += 1
            tried = region_optimum(network, origin, up, down, active, target)
            if tried[0] < length - WORTHWHILE:
                length, move, prices = tried
                improved = True
                break
            active[neuron] = not active[neuron]
    return length, move


def l1_distances(rows: Floats, others: Floats) -> Floats:
    return np.asarray(np.abs(rows - others).sum(axis=1))


@dataclass(frozen=True, eq=False)
class MinimalSearch:
    """The shortest change, within a range, that lifts the logit of a network to a target.

    A factual outside of the range is first moved inside; with `widened`, the range of every factual
    reaches to it. Searches start towards so many of the nearest training rows that reach the target
    (`segments`), and walk through at most `max_regions` linear regions each, fewer on wide tables.

    What is proven: answers reach the target. Each is the optimum of its linear region, and no
    region across one wall that this optimum leans on has a shorter one, unless the walk ended
    early. That no other is shorter anywhere is not proven (`benchmarks/minimal.py` compares).
    """

    network: Network
    low: Floats
    high: Floats
    rows: Floats
    segments: int = 6
    max_regions: int = 60
    widened: bool = False

    @cached_property
    def _row_logits(self) -> Floats:
        return self.network.logits(self.rows)

    def search(
        self, factuals: Floats, target: float | Floats, previous: Floats | None = None
    ) -> Floats:
        """Return for every factual the shortest change found; NaN where there is none.

        The target is one for all or one each. `previous` are answers for a smaller target, as
        further starts; NaN rows are ignored.
        """
        inside = np.clip(self.rows, self.low, self.high)
        previous = np.full(factuals.shape, np.nan) if previous is None else previous
        targets = np.broadcast_to(np.asarray(target, dtype=np.float64), len(factuals)).tolist()
        answers, known, reaching = np.empty_like(factuals), np.nan, inside
        for i, (factual, wanted) in enumerate(zip(factuals, targets, strict=True)):
            if wanted != known:
                known, reaching = wanted, inside[self._row_logits >= wanted]
            distances = np.abs(reaching - factual).sum(axis=1)
            nearest = np.argsort(distances, kind="stable")[: self.segments]
            answers[i] = self.shortest(factual, wanted, reaching[nearest], previous[i])
        return answers

    def shortest(self, factual: Floats, target: float, goals: Floats, previous: Floats) -> Floats:
        """Return the shortest change found for one factual, or NaN; `goals` reach the target."""
        network, low, high = self.network.flat, self.low, self.high
        if self.widened:
            low, high = np.minimum(low, factual), np.maximum(high, factual)
        origin = np.minimum(np.maximum(factual, low), high)
        values = np.empty(network.n_neurons)
        if preactivations(*network[1:], origin, values) >= target:
            return origin
        starts = [cross_segment(network, origin, goal, target) for goal in goals]
        climbers = [origin] if np.isnan(previous[0]) else [origin, previous]
        starts += [climb(network, begin, low, high, target) for begin in climbers]
        best_length, best = np.inf, np.full(len(factual), np.nan)
        room, regions = (high - origin, origin - low), affordable(self.max_regions, len(origin))
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
            length, move = walk_regions(network, origin, *room, point, target, regions)
            if length < best_length - SLACK:
                candidate = np.minimum(np.maximum(origin + move, low), high)
                if preactivations(*network[1:], candidate, values) >= target - TARGET_SLACK:
                    best_length, best = length, candidate
        return best
