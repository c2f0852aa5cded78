"""The steps of the fast minimum-l1 search: find a point that reaches the target, shorten the way.

Networks come flat (see `FlatNetwork`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.networks.flat import layer_at, preactivations

GREEDY_STEP = 0.2
GREEDY_STEPS = 2_000
LINEARISATIONS = 30
SEGMENT_POINTS = 32
BISECTIONS = 40
SLACK = 1e-9


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
