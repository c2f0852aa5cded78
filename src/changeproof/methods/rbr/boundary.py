"""The closest favourable point on the segments from a factual to favourable rows.

Every segment carries the same evenly spaced steps. The first step that is favourable on the
segment where that happens soonest is the closest favourable one of all the steps of all the
segments, so steps are judged in order of their distance, shell by shell, and the search ends
with the first shell that holds a favourable one. No step beyond that shell is ever judged, and
none before it is left out: the answer is that of judging them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.methods.shared.nearest_rows import nearest_rows
from changeproof.model import Floats, Model

SHELL_POINTS = 512
FACTUALS_AT_ONCE = 16


@dataclass(frozen=True, eq=False)
class Boundary:
    """Per factual: the closest favourable step [factuals, features] and its distance.

    Both are NaN for factuals on whose segments no step is favourable.
    """

    rows: Floats
    distances: Floats


def nearest_boundary(
    model: Model, factuals: Floats, favourable_rows: Floats, *, n_rows: int, n_steps: int
) -> Boundary:
    """Look on the segments from each factual to their nearest rows for a favourable point.

    Parameters
    ----------
    model
        Judges the points.
    factuals
        Where the segments start [factuals, features].
    favourable_rows
        Where they may end [rows, features]; at least one.
    n_rows
        How many of these a factual is connected with, by absolute distance.
    n_steps
        Points per segment, both ends included.
    """
    fractions = np.arange(n_steps) / (n_steps - 1)
    found = Boundary(np.full(factuals.shape, np.nan), np.full(len(factuals), np.nan))
    for first in range(0, len(factuals), FACTUALS_AT_ONCE):
        some = slice(first, first + FACTUALS_AT_ONCE)
        part = Boundary(found.rows[some], found.distances[some])
        _search_some(model, factuals[some], favourable_rows, n_rows, fractions, part)
    return found


def _search_some(
    model: Model, factuals: Floats, rows: Floats, n_rows: int, fractions: Floats, found: Boundary
) -> None:
    ends, lengths = nearest_rows(factuals, rows, n_rows)
    # The next step to judge on each segment; step 0 is the factual.
    steps = np.ones(ends.shape, dtype=np.int64)
    reached = np.zeros(len(factuals))
    searching = np.arange(len(factuals))
    while len(searching):
        counts = _plan_shells(lengths, steps, fractions, searching, SHELL_POINTS, reached)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        points = np.empty((offsets[-1], factuals.shape[1]))
        distances = np.empty(len(points))
        _fill_shells(
            factuals, rows, ends, lengths, steps, fractions, searching, reached, points, distances
        )
        if len(points):
            favourable = model.favourable(points)
            best = found.rows, found.distances
            _settle(favourable, points, distances, offsets, searching, *best)
        searching = searching[(counts > 0) & np.isnan(found.distances[searching])]


@compiled
def _plan_shells(
    lengths: Any, steps: Any, fractions: Any, searching: Any, quota: int, reached: Any
) -> Any:
    """Move each factual's reach outwards to hold about `quota` more steps; return how many.

    At least one is added where any is left.
    """
    n_steps = len(fractions)
    counts = np.zeros(len(searching), np.int64)
    for place, factual in enumerate(searching):
        density, nearest = 0.0, np.inf
        for i in range(lengths.shape[1]):
            if steps[factual, i] < n_steps:
                density += (n_steps - 1) / lengths[factual, i]
                nearest = min(nearest, fractions[steps[factual, i]] * lengths[factual, i])
        if nearest == np.inf:
            continue
        reach = max(reached[factual] + quota / density, nearest)
        reached[factual] = reach
        for i in range(lengths.shape[1]):
            step = steps[factual, i]
            while step < n_steps and fractions[step] * lengths[factual, i] <= reach:
                step += 1
            counts[place] += step - steps[factual, i]
    return counts


@compiled
def _fill_shells(
    factuals: Any,
    rows: Any,
    ends: Any,
    lengths: Any,
    steps: Any,
    fractions: Any,
    searching: Any,
    reached: Any,
    points: Any,
    distances: Any,
) -> None:
    """Write down the planned steps, nearest segment first, and go past them."""
    n_steps, n_features = len(fractions), factuals.shape[1]
    n = 0
    for factual in searching:
        for i in range(lengths.shape[1]):
            step, length, end = steps[factual, i], lengths[factual, i], ends[factual, i]
            while step < n_steps and fractions[step] * length <= reached[factual]:
                distances[n] = fractions[step] * length
                for k in range(n_features):
                    start = factuals[factual, k]
                    points[n, k] = start + fractions[step] * (rows[end, k] - start)
                n += 1
                step += 1
            steps[factual, i] = step


@compiled
def _settle(
    favourable: Any,
    points: Any,
    distances: Any,
    offsets: Any,
    searching: Any,
    found: Any,
    found_distances: Any,
) -> None:
    """Keep each factual's closest favourable step of this shell, of equals the first."""
    for place, factual in enumerate(searching):
        best, closest = -1, np.inf
        for n in range(offsets[place], offsets[place + 1]):
            if favourable[n] and distances[n] < closest:
                best, closest = n, distances[n]
        if best >= 0:
            for k in range(found.shape[1]):
                found[factual, k] = points[best, k]
            found_distances[factual] = closest


def largest_distance(rows: Floats) -> float:
    """Return the largest Euclidean distance between two rows."""
    radii = np.sqrt(((rows - rows.mean(axis=0)) ** 2).sum(axis=1))
    outermost_first = np.argsort(-radii, kind="stable")
    return float(_largest_distance(rows[outermost_first], radii[outermost_first]))


@compiled
def _largest_distance(rows: Any, radii: Any) -> float:
    """Compare pairs, outermost rows first, and pass over those too near the centre to matter."""
    slack = 1.0 + 1e-9
    largest = 0.0
    for i in range(len(rows)):
        for j in range(i):
            if (radii[i] + radii[j]) * slack < largest:
                break
            square = 0.0
            for k in range(rows.shape[1]):
                square += (rows[i, k] - rows[j, k]) ** 2
            largest = max(largest, np.sqrt(square))
    return largest
