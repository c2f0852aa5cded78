"""Odds of adverse to favourable under the mixtures of Gaussians least kind to a point.

The likeliest and the least likely that a sample can make a point, within a Wasserstein radius, and
what that comes to for a whole mixture.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.arithmetic.functions import exp, fma, log

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


# Given instead of a table of least log-densities: every favourable sample is in the corner.
NO_TABLE = np.empty((0, 2))


class Mixtures(NamedTuple):
    """Gaussians of deviation sigma around samples, and how far they may move.

    The radii are those of the adverse and of the favourable mixture; the table is that of
    `pessimistic_table`, or `NO_TABLE`.
    """

    sigma: float
    optimistic_radius: float
    pessimistic_radius: float
    table: Any


@compiled
def by_class(samples: Any, labels: Any) -> Any:
    """Return samples with the adverse first, the same feature by feature, and how many are adverse.

    Loops over features read the one, loops over samples the other; neither jumps in memory.
    """
    n_samples, n_features = samples.shape
    sorted_samples = np.empty((n_samples, n_features))
    features = np.empty((n_features, n_samples))
    place, n_adverse = 0, 0
    for label in (False, True):
        for n in range(n_samples):
            if labels[n] == label:
                for k in range(n_features):
                    sorted_samples[place, k] = samples[n, k]
                    features[k, place] = samples[n, k]
                place += 1
        if not label:
            n_adverse = place
    return sorted_samples, features, n_adverse


@compiled
def log_odds(
    here: Any, samples: Any, features: Any, n_adverse: int, mixtures: Any, gradient: Any
) -> float:
    """Return the worst-case log-odds of adverse to favourable, and fill in their gradient.

    Samples come as `by_class` gives them; the part of a class without samples is left out.
    Favourable samples are in the corner if there is no table.
    """
    n_samples, n_features = samples.shape
    distances, logs, slopes = np.zeros(n_samples), np.empty(n_samples), np.empty(n_samples)
    value = odds_at(here, features, n_adverse, mixtures, n_features, distances, logs, slopes)
    gradient[:] = 0.0
    for n in range(n_samples):
        # After `log_sum` a log is the sample's share in its class.
        weight = logs[n] * slopes[n] / distances[n] if distances[n] > 0.0 else 0.0
        weight = weight if n < n_adverse else -weight
        for k in range(n_features):
            gradient[k] += weight * (here[k] - samples[n, k])
    return value


@compiled
def all_log_odds(rows: Any, people: Any, features: Any, adverse: Any, mixtures: Any) -> Any:
    """Return the worst-case log-odds of rows, each for the person at the given place.

    `features` [people, columns, samples] and `adverse` [people] are what `by_class` gives.
    """
    n_features, n_samples = features.shape[1:]
    result, logs, slopes = np.empty(len(rows)), np.empty(n_samples), np.empty(n_samples)
    for i in range(len(rows)):
        distances, person = np.zeros(n_samples), people[i]
        result[i] = odds_at(
            rows[i],
            features[person],
            adverse[person],
            mixtures,
            n_features,
            distances,
            logs,
            slopes,
        )
    return result


@compiled
def odds_at(
    here: Any,
    features: Any,
    n_adverse: int,
    mixtures: Any,
    n_features: int,
    distances: Any,
    logs: Any,
    slopes: Any,
) -> float:
    """Return the log-odds; fill in how far samples are, their shares, and how these change.

    Squared distances are added to what `distances` hold.
    """
    sigma, optimistic_radius, pessimistic_radius, table = mixtures
    n_samples = len(distances)
    for k in range(len(features)):
        x = float(here[k])
        for n in range(n_samples):
            gap = x - features[k, n]
            distances[n] = fma(gap, gap, distances[n])
    for n in range(n_samples):
        distances[n] = math.sqrt(distances[n])
    for n in range(n_adverse):
        negative, rise = optimistic(distances[n], n_features, sigma, optimistic_radius)
        logs[n], slopes[n] = -negative, -rise
    if len(table):
        for n in range(n_adverse, n_samples):
            c = distances[n]
            logs[n], slopes[n] = pessimistic(c, n_features, sigma, pessimistic_radius, table)
    else:
        for n in range(n_adverse, n_samples):
            logs[n], slopes[n] = corner(distances[n], n_features, sigma, pessimistic_radius)
    value = 0.0
    if n_adverse > 0:
        value += log_sum(logs[:n_adverse])
    if n_adverse < n_samples:
        value -= log_sum(logs[n_adverse:])
    return value


@compiled
def log_sum(logs: Any) -> float:
    """Return the logarithm of the sum of exponentials, and leave each one's share in that sum."""
    most = -np.inf
    for n in range(len(logs)):
        most = max(most, logs[n])
    for n in range(len(logs)):
        logs[n] = exp(logs[n] - most)
    total = 0.0
    for n in range(len(logs)):
        total += logs[n]
    for n in range(len(logs)):
        logs[n] /= total
    return float(most + log(total))
