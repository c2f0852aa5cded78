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
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from changeproof.networks.kernels import compiled

# A step this small means that the next one, if taken, would be lost in rounding.
ROOT_TOLERANCE = 1e-9
MAX_ROOT_STEPS = 80
QUARTER = math.pi / 2.0
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
TABLE_CELLS = 512
TABLE_SCAN = 64
GOLDEN_STEPS = 40


@compiled
def optimistic(c: float, n_features: int, sigma: float, radius: float) -> tuple[float, float]:
    """Return the least negative log-density at distance c, and its derivative.

    Up to c = radius the mean reaches the point; up to radius + sigma the whole radius is spent
    on the mean; from there on a part of it, sin(angle), goes into the deviation. That split is
    the only root of cos(angle) (t^2 - 1) + t sin(angle), where t is deviation over distance.
    """
    constant = n_features * math.log(sigma)
    if c <= radius:
        return constant, 0.0
    if c <= radius + sigma:
        scaled = (c - radius) / sigma
        return constant + 0.5 * scaled * scaled, scaled / sigma
    low, high = 0.0, QUARTER
    ratio = sigma / (c - radius)
    angle = math.atan((1.0 - ratio * ratio) / ratio)
    for _ in range(MAX_ROOT_STEPS):
        cosine, sine = math.cos(angle), math.sin(angle)
        gap = c - radius * cosine
        ratio = (sigma + radius * sine) / gap
        value = cosine * (ratio * ratio - 1.0) + ratio * sine
        if value > 0.0:
            high = angle
        else:
            low = angle
        ratio_slope = radius * (cosine - ratio * sine) / gap
        slope = sine * (1.0 - ratio * ratio) + ratio * cosine
        slope += ratio_slope * (2.0 * ratio * cosine + sine)
        following = angle - value / slope
        if not low <= following <= high:
            following = 0.5 * (low + high)
        moved = abs(following - angle)
        angle = following
        if moved < ROOT_TOLERANCE:
            break
    deviation = sigma + radius * math.sin(angle)
    gap = c - radius * math.cos(angle)
    scaled = gap / deviation
    value = math.log(deviation) + 0.5 * scaled * scaled + (n_features - 1) * math.log(sigma)
    return value, scaled / deviation


@compiled
def pessimistic_given(
    c: float, n_features: int, sigma: float, radius: float, widening: float
) -> tuple[float, float]:
    """Return the least log-density at distance c if the deviation grows by `widening`.

    What is left of the radius is split between the mean, cos(angle), and the deviations across,
    sin(angle); the split is the only root of a function that rises from negative values.
    """
    deviation = sigma + widening
    left = math.sqrt(max(0.0, radius * radius - widening * widening))
    across = math.sqrt(n_features - 1.0)
    angle = 0.0
    if n_features > 1:
        low, high = 0.0, QUARTER
        square = deviation * deviation
        angle = math.atan(across * square / (sigma * (c + left) + across * left))
        for _ in range(MAX_ROOT_STEPS):
            cosine, sine = math.cos(angle), math.sin(angle)
            pull = sine * (c + left * cosine) / square
            width = sigma + left * sine / across
            value = pull * width - across * cosine
            if value > 0.0:
                high = angle
            else:
                low = angle
            pull_slope = (c * cosine + left * (cosine * cosine - sine * sine)) / square
            slope = pull_slope * width + pull * left * cosine / across + across * sine
            following = angle - value / slope
            if not low <= following <= high:
                following = 0.5 * (low + high)
            moved = abs(following - angle)
            angle = following
            if moved < ROOT_TOLERANCE:
                break
    scaled = (c + left * math.cos(angle)) / deviation
    value = -math.log(deviation) - 0.5 * scaled * scaled
    if n_features > 1:
        value -= (n_features - 1) * math.log(sigma + left * math.sin(angle) / across)
    return value, -scaled / deviation


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

    Beyond, where people's samples are in practice, it is fast enough not to need a table.
    """
    table = np.empty((TABLE_CELLS + 1, 2))
    for i in range(TABLE_CELLS + 1):
        c = (sigma + radius) * i / TABLE_CELLS
        table[i, 0], table[i, 1] = solve_pessimistic(c, n_features, sigma, radius)
    return table


@compiled
def pessimistic(
    c: float, n_features: int, sigma: float, radius: float, table: npt.NDArray[np.float64]
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
