"""The closest favourable point on the segments from a factual to favourable rows.

Every segment carries the same evenly spaced steps. The first step that is favourable on the
segment where that happens soonest is the closest favourable one of all the steps of all the
segments, so steps are judged in order of their distance, shell by shell, and the search ends
with the first shell that holds a favourable one. No step beyond that shell is ever judged, and
none before it is left out: the answer is that of judging them all.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.methods.shared.nearest_rows import nearest_rows
from changeproof.model import Floats, Model

SHELL_POINTS = 512
LAST_SHELL = np.iinfo(np.uint16).max
FACTUALS_AT_ONCE = 16


class Boundary(NamedTuple):
    """The closest favourable step of each factual, and its distance; NaN where there is none."""

    rows: Floats
    distances: Floats


def nearest_boundary(
    model: Model, factuals: Floats, favourable_rows: Floats, *, n_rows: int, n_steps: int
) -> Boundary:
    """Look on the segments from each factual to their nearest rows for a favourable point.

    A factual is connected with its `n_rows` nearest rows by absolute distance; there are `n_steps`
    points on every segment, both ends included.
    """
    found = Boundary(np.full(factuals.shape, np.nan), np.full(len(factuals), np.nan))
    if not len(favourable_rows):
        return found
    fractions = np.arange(1, n_steps) / (n_steps - 1)
    for first in range(0, len(factuals), FACTUALS_AT_ONCE):
        some = slice(first, first + FACTUALS_AT_ONCE)
        ends, lengths = nearest_rows(factuals[some], favourable_rows, n_rows)
        searching = {
            first + i: _shells(factuals[first + i], favourable_rows[ends[i]], lengths[i], fractions)
            for i in range(len(ends))
        }
        while searching:
            shells = {i: shell for i, steps in searching.items() if (shell := next(steps, None))}
            if not shells:
                break
            # One question for everybody: some models take long to be asked at all.
            favourable = model.favourable(np.concatenate([points for points, _ in shells.values()]))
            counts = [len(points) for points, _ in shells.values()]
            parts = np.split(favourable, np.cumsum(counts)[:-1])
            for (i, (points, distances)), accepted in zip(shells.items(), parts, strict=True):
                if accepted.any():
                    best = np.where(accepted, distances, np.inf).argmin()
                    found.rows[i], found.distances[i] = points[best], distances[best]
            searching = {i: searching[i] for i in shells if np.isnan(found.distances[i])}
    return found


def _shells(
    factual: Floats, ends: Floats, lengths: Floats, fractions: Floats
) -> Iterator[tuple[Floats, Floats]]:
    """Yield the points of all segments and their distances, shell by shell from the inside.

    Within a shell, points are in the order of the segments: of equally near ones the first counts.
    """
    distances = (lengths[:, None] * fractions).ravel()
    width = SHELL_POINTS / (len(fractions) / lengths).sum()
    shells = np.minimum(distances / width, LAST_SHELL).astype(np.uint16)
    order = np.argsort(shells, kind="stable")  # a radix sort, since there are few shells
    borders = np.flatnonzero(np.diff(shells[order])) + 1
    for first, last in pairwise([0, *borders, len(order)]):
        some = order[first:last]
        segment, step = np.divmod(some, len(fractions))
        yield factual + fractions[step, None] * (ends[segment] - factual), distances[some]


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
