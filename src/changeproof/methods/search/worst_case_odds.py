"""The odds of adverse to favourable under the mixtures of Gaussians least kind to a point."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.arithmetic.functions import exp, fma, log
from changeproof.methods.search.mixture_bounds import corner, optimistic, pessimistic

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
def log_odds_beyond(
    here: Any, features: Any, n_adverse: int, mixtures: Any, n_features: int, beyond: Any
) -> float:
    """Return the same, without a gradient, of what few of the features are.

    `beyond` is what the others add to the squared distances from the samples.
    """
    distances, logs, slopes = beyond.copy(), np.empty(len(beyond)), np.empty(len(beyond))
    return odds_at(here, features, n_adverse, mixtures, n_features, distances, logs, slopes)


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
