"""The nearest of many rows by absolute distance, tile by tile: memory does not grow with them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from changeproof.model import Floats, Integers

POINTS_AT_ONCE, ROWS_AT_ONCE = 256, 8_192


class NearestRows(NamedTuple):
    """Per point, nearest first: the places of rows [points, wanted], and how far they are."""

    places: Integers
    distances: Floats


def nearest_rows(points: Floats, rows: Floats, wanted: int) -> NearestRows:
    """Return so many nearest rows of every point; of those that are equally far, the first.

    What one unit of distance is has been settled before.
    """
    kept = min(wanted, len(rows))
    found = NearestRows(
        np.zeros((len(points), kept), dtype=np.int64), np.full((len(points), kept), np.inf)
    )
    for first in range(0, len(points), POINTS_AT_ONCE):
        some = slice(first, first + POINTS_AT_ONCE)
        _fill(points[some], rows, NearestRows(found.places[some], found.distances[some]))
    return found


def _fill(points: Floats, rows: Floats, found: NearestRows) -> None:
    """Go through the rows; those of a tile that are nearer than the farthest so far come in."""
    from scipy.spatial.distance import cdist  # 0.2 s that reports do without

    kept = found.places.shape[1]
    for start in range(0, len(rows) if kept else 0, ROWS_AT_ONCE):
        distances = cdist(points, rows[start : start + ROWS_AT_ONCE], "cityblock")
        nearer = distances < found.distances[:, -1:]
        if distances.shape[1] > kept:
            nearer &= distances <= np.partition(distances, kept - 1, axis=1)[:, kept - 1 : kept]
        for i in np.flatnonzero(nearer.any(axis=1)):
            (fresh,) = np.nonzero(nearer[i])
            far = np.concatenate([found.distances[i], distances[i, fresh]])
            places = np.concatenate([found.places[i], start + fresh])
            # Stable: what was there before is of earlier rows.
            order = np.argsort(far, kind="stable")[:kept]
            found.distances[i], found.places[i] = far[order], places[order]
