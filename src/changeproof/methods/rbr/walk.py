"""The walk down the worst-case odds, in the precision and order of RBR's published code.

The odds are those of adverse to favourable under the mixtures of Gaussians least kind to a point:
of adverse samples the likeliest, and of favourable ones the least likely, within Wasserstein radii.

The published code walks in PyTorch's single precision and ends where it finds itself on the surface
of a ball, without a tolerance. Whether a row on the surface comes out a rounding error inside hangs
on the order of every sum, so these are PyTorch's, which are the same for all of its vector widths
(tried with 2.13.0):

- `single_length`, its 1-norm: one feature after the other;
- `single_sum`, its sum: eight lanes, in which feature k goes to lane k modulo 8; what is left
  over at the end first, then the lanes one after the other;
- its running sums: in double precision, each of them rounded.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.arithmetic.functions import exp, fma, log

LANES = 8
# Groups of lanes that take turns where a row is long enough to fill all of them.
GROUPS = 4
# Newton steps that reach the last digit of `optimistic` for every sigma, radius and distance.
OPTIMISTIC_STEPS = 5


class Mixtures(NamedTuple):
    """Gaussians of deviation sigma around samples; how far the adverse and the others may move."""

    sigma: float
    optimistic_radius: float
    pessimistic_radius: float


@compiled
def walk(
    rows: Any,
    starts: Any,
    features: Any,
    adverse: Any,
    mixtures: Any,
    extra_distance: float,
    step_size: float,
    max_iterations: int,
    patience: int,
    tolerance: float,
) -> Any:
    """Move single precision rows, in place, down their log-odds; return how many steps each took.

    `features` [people, columns, samples] have the adverse samples first, of which there are
    `adverse` [people].
    """
    iterations = np.zeros(len(rows), np.int64)
    gradient = np.empty(rows.shape[1])
    step = np.float32(step_size)
    for i in range(len(rows)):
        here, start = rows[i], starts[i]
        radius = single_length(here, start) + np.float32(extra_distance)
        least, idle = np.inf, 0
        while iterations[i] < max_iterations and idle < patience:
            if single_length(here, start) >= radius:
                break
            odds = log_odds(here, features[i], adverse[i], mixtures, gradient)
            value = float(np.float32(odds))
            for k in range(len(here)):
                here[k] = here[k] - step * np.float32(gradient[k]) - start[k]
            project(here, radius)
            for k in range(len(here)):
                here[k] += start[k]
            iterations[i] += 1
            idle = 0 if least - value > tolerance else idle + 1
            least = min(least, value)
    return iterations


@compiled
def single_length(here: Any, start: Any) -> Any:
    """Return the absolute distance of two single precision rows."""
    length = np.float32(0.0)
    for k in range(len(here)):
        length += abs(here[k] - start[k])
    return length


@compiled
def single_sum(sizes: Any) -> Any:
    """Return the sum of a single precision row of up to 512 numbers as PyTorch has it.

    Fewer than eight numbers go to single lanes. Beyond 512 PyTorch adds up in more stages.
    """
    n = len(sizes)
    width = LANES if n >= LANES else 1
    n_turns = n // width
    n_full_turns = n_turns - n_turns % GROUPS
    lanes = np.zeros((GROUPS, width), np.float32)
    for turn in range(n_turns):
        group = turn % GROUPS if turn < n_full_turns else 0
        for lane in range(width):
            lanes[group, lane] += sizes[turn * width + lane]
    for group in range(1, GROUPS):
        for lane in range(width):
            lanes[0, lane] += lanes[group, lane]
    total = np.float32(0.0)
    for k in range(n_turns * width, n):
        total += sizes[k]
    for lane in range(width):
        total += lanes[0, lane]
    return total


@compiled
def project(changes: Any, radius: Any) -> None:
    """Move single precision changes, in place, to the nearest ones of a total of at most `radius`.

    Every change shrinks by the same amount, or to nothing where it is smaller than that. The
    amount is what the largest changes have too much, shared by them; those that shrink to nothing
    have no part in it.
    """
    sizes = np.abs(changes)
    nothing = np.zeros_like(sizes)
    if single_sum(sizes) <= radius or single_length(sizes, nothing) == radius:
        return
    largest_first = np.sort(sizes)[::-1]
    cut, running = largest_first[0], 0.0
    for k in range(len(sizes)):
        running += largest_first[k]
        excess = np.float32(running) - radius
        sharers = np.float32(k + 1)
        if largest_first[k] * sharers > excess:
            cut = excess / sharers
    for k in range(len(sizes)):
        size = max(sizes[k] - cut, np.float32(0.0))
        changes[k] = size if changes[k] > 0.0 else -size


@compiled
def all_log_odds(rows: Any, people: Any, features: Any, adverse: Any, mixtures: Any) -> Any:
    """Return the worst-case log-odds of rows, each for the person at the given place."""
    result, gradient = np.empty(len(rows)), np.empty(rows.shape[1])
    for i in range(len(rows)):
        person = people[i]
        result[i] = log_odds(rows[i], features[person], adverse[person], mixtures, gradient)
    return result


@compiled
def log_odds(here: Any, features: Any, n_adverse: int, mixtures: Any, gradient: Any) -> float:
    """Return the worst-case log-odds of adverse to favourable, and fill in their gradient.

    A class without samples is left out.
    """
    n_features, n_samples = features.shape
    sigma, optimistic_radius, pessimistic_radius = mixtures
    distances, logs, slopes = np.zeros(n_samples), np.empty(n_samples), np.empty(n_samples)
    for k in range(n_features):
        x = float(here[k])
        for n in range(n_samples):
            gap = x - features[k, n]
            distances[n] = fma(gap, gap, distances[n])
    for n in range(n_samples):
        distances[n] = math.sqrt(distances[n])
    for n in range(n_adverse):
        negative, rise = optimistic(distances[n], n_features, sigma, optimistic_radius)
        logs[n], slopes[n] = -negative, -rise
    for n in range(n_adverse, n_samples):
        logs[n], slopes[n] = corner(distances[n], n_features, sigma, pessimistic_radius)
    value = 0.0
    if n_adverse > 0:
        value += log_sum(logs[:n_adverse])
    if n_adverse < n_samples:
        value -= log_sum(logs[n_adverse:])
    gradient[:] = 0.0
    for n in range(n_samples):
        # After `log_sum` a log is the sample's share in its class.
        weight = logs[n] * slopes[n] / distances[n] if distances[n] > 0.0 else 0.0
        weight = weight if n < n_adverse else -weight
        for k in range(n_features):
            gradient[k] += weight * (here[k] - features[k, n])
    return value


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
