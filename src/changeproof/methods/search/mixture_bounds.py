"""The likeliest and least likely that a sample can make a point, within a Wasserstein radius.

A sample stands for a Gaussian around it with deviation `sigma` in each of p directions. Its mean
and covariance may move by a radius. With c the distance from the point to the sample,

- `optimistic` is the least negative log-density, the minimum over v >= 0, |v| <= radius, of
  log(sigma + v1) + (c - v0)^2 / (2 (sigma + v1)^2)  + (p - 1) log sigma;
- `pessimistic` is the least log-density, the minimum over u >= 0, p u0^2 + u1^2 <= radius^2, of
  -log(sigma + u1) - (c + sqrt(p) u0)^2 / (2 (sigma + u1)^2)
  - (p - 1) log(sigma + sqrt((radius^2 - p u0^2 - u1^2) / (p - 1))).

Both come with their derivative by c, which by the envelope theorem is the derivative of the
objective with v or u held at the minimum. (The constants that densities share are left out.)

The published code never finds the least log-density: the gradient of its inner search has a sign
error in u0, and every search ends in the corner sqrt(p) u0 = radius, u1 = 0. `corner` is the value
there. All three are made of operations that every processor rounds alike.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.arithmetic.functions import log

# Newton steps that reach the last digit of `optimistic` for every sigma, radius and distance.
OPTIMISTIC_STEPS = 5
# A step this small means that the next one, if taken, would be lost in rounding.
ROOT_TOLERANCE = 1e-9
MAX_ROOT_STEPS = 80
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
TABLE_CELLS = 512
TABLE_SCAN = 64
GOLDEN_STEPS = 40


@compiled
def optimistic(c: float, n_features: int, sigma: float, radius: float) -> tuple[float, float]:
    """Return the least negative log-density at distance c, and its derivative.

    Up to c = radius the mean reaches the point; up to radius + sigma the whole radius is spent
    on the mean; from there on a part of it goes into the deviation. There the tangent of the
    split is (1 - t^2) / t, where t is deviation over distance, and t is the only root of
    t c - sigma - radius / sqrt(1 - t^2 + t^4), not far above (sigma + radius) / c. There are no
    branches, so that a loop over distances becomes vector instructions.
    """
    ratio = (sigma + radius) / c
    for _ in range(OPTIMISTIC_STEPS):
        square = ratio * ratio
        norm = 1.0 - square * (1.0 - square)
        root = math.sqrt(norm)
        value = ratio * c - sigma - radius / root
        slope = c + radius * ratio * (2.0 * square - 1.0) / (norm * root)
        ratio -= value / slope
    square = ratio * ratio
    share = radius / math.sqrt(1.0 - square * (1.0 - square))
    near = c <= radius + sigma
    deviation = sigma if near else sigma + share * (1.0 - square)
    gap = c - radius if near else c - share * ratio
    gap = 0.0 if c <= radius else gap
    scaled = gap / deviation
    value = log(deviation) + 0.5 * scaled * scaled + (n_features - 1) * log(sigma)
    return value, scaled / deviation


@compiled
def corner(c: float, n_features: int, sigma: float, radius: float) -> tuple[float, float]:
    """Return the log-density at distance c if the mean moves away by the radius; its derivative."""
    scaled = (c + radius) / sigma
    return -0.5 * scaled * scaled - n_features * log(sigma), -scaled / sigma


@compiled
def pessimistic_given(
    c: float, n_features: int, sigma: float, radius: float, widening: float
) -> tuple[float, float]:
    """Return the least log-density at distance c if the deviation grows by `widening`.

    What is left of the radius is split between the mean (cosine) and the deviations across
    (sine); the split is the only root of a function that rises from negative values. It is
    looked for by the tangent of half its angle, of which both are plain fractions.
    """
    deviation = sigma + widening
    left = math.sqrt(max(0.0, radius * radius - widening * widening))
    across = math.sqrt(n_features - 1.0)
    half = 0.0
    if n_features > 1:
        low, high = 0.0, 1.0
        square = deviation * deviation
        # Where the angle would be if sine and tangent were one.
        opposite, adjacent = across * square, sigma * (c + left) + across * left
        half = opposite / (adjacent + math.sqrt(adjacent * adjacent + opposite * opposite))
        for _ in range(MAX_ROOT_STEPS):
            cosine, sine, turn = angle_of(half)
            pull = sine * (c + left * cosine) / square
            width = sigma + left * sine / across
            value = pull * width - across * cosine
            if value > 0.0:
                high = half
            else:
                low = half
            pull_slope = (c * cosine + left * (cosine * cosine - sine * sine)) / square
            slope = pull_slope * width + pull * left * cosine / across + across * sine
            following = half - value / (slope * turn)
            if not low <= following <= high:
                following = 0.5 * (low + high)
            moved = abs(following - half)
            half = following
            if moved < ROOT_TOLERANCE:
                break
    cosine, sine, _ = angle_of(half)
    scaled = (c + left * cosine) / deviation
    value = -log(deviation) - 0.5 * scaled * scaled
    if n_features > 1:
        value -= (n_features - 1) * log(sigma + left * sine / across)
    return value, -scaled / deviation


@compiled
def angle_of(half: float) -> tuple[float, float, float]:
    """Return cosine, sine and the angle's derivative, given the tangent of half of the angle."""
    square = half * half
    whole = 1.0 + square
    return (1.0 - square) / whole, 2.0 * half / whole, 2.0 / whole


@compiled
def solve_pessimistic(
    c: float, n_features: int, sigma: float, radius: float
) -> tuple[float, float]:
    """Return the least log-density at distance c, and its derivative.

    From c = sigma + radius on, a larger deviation only makes the point likelier. Below, the best
    widening is bracketed by a scan and then found by golden sections.
    """
    if c >= sigma + radius or radius == 0.0:
        return pessimistic_given(c, n_features, sigma, radius, 0.0)
    best, least = 0, np.inf
    for i in range(TABLE_SCAN + 1):
        value, _ = pessimistic_given(c, n_features, sigma, radius, radius * i / TABLE_SCAN)
        if value < least:
            best, least = i, value
    low = radius * max(best - 1, 0) / TABLE_SCAN
    high = radius * min(best + 1, TABLE_SCAN) / TABLE_SCAN
    for _ in range(GOLDEN_STEPS):
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        at_left, _ = pessimistic_given(c, n_features, sigma, radius, left)
        at_right, _ = pessimistic_given(c, n_features, sigma, radius, right)
        if at_left <= at_right:
            high = right
        else:
            low = left
    widening = low if low == 0.0 else 0.5 * (low + high)
    return pessimistic_given(c, n_features, sigma, radius, widening)


@compiled
def pessimistic_table(n_features: int, sigma: float, radius: float) -> Any:
    """Return values and derivatives of `solve_pessimistic` at even steps of [0, sigma + radius].

    Beyond, where samples are in practice, it is fast enough not to need a table.
    """
    table = np.empty((TABLE_CELLS + 1, 2))
    for i in range(TABLE_CELLS + 1):
        c = (sigma + radius) * i / TABLE_CELLS
        table[i, 0], table[i, 1] = solve_pessimistic(c, n_features, sigma, radius)
    return table


@compiled
def pessimistic(
    c: float, n_features: int, sigma: float, radius: float, table: Any
) -> tuple[float, float]:
    """Return what `solve_pessimistic` does, from its table where that would be slow."""
    if c >= sigma + radius:
        return pessimistic_given(c, n_features, sigma, radius, 0.0)
    step = (sigma + radius) / TABLE_CELLS
    cell = min(int(c / step), TABLE_CELLS - 1)
    t = c / step - cell
    here, there = table[cell, 0], table[cell + 1, 0]
    here_slope, there_slope = step * table[cell, 1], step * table[cell + 1, 1]
    # The cubic through both ends with their derivatives.
    square = 3.0 * (there - here) - 2.0 * here_slope - there_slope
    cube = 2.0 * (here - there) + here_slope + there_slope
    value = here + t * (here_slope + t * (square + t * cube))
    return value, (here_slope + t * (2.0 * square + 3.0 * t * cube)) / step
