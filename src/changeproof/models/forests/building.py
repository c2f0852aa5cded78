"""What the readers of forests share."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from changeproof.model import Floats, Singles
from changeproof.models.forests.forest import Tree

SINGLE_LIMIT = 2.0**128


class OpaqueError(Exception):
    """Why a model cannot be read as a forest, in words that follow "cannot be read: "."""


def last_rounded_to(thresholds: Singles) -> Floats:
    """Return, per float32 number, the largest float64 that is not above it once it is rounded."""
    above = _next(thresholds, np.inf)
    ends = [_wide(number) for number in (thresholds, above)]
    middle = (ends[0] + ends[1]) / 2.0
    # Numbers in the middle are rounded to the float32 whose last bit is 0.
    odd = (thresholds.view(np.int32) & 1).astype(np.bool_)
    middle = np.where(odd, np.nextafter(middle, -np.inf), middle)
    return np.where(thresholds == np.inf, np.inf, middle)


def _wide(numbers: Singles) -> Floats:
    """Infinity stands where the next float32 would be: numbers in the middle are rounded to it."""
    return np.clip(numbers.astype(np.float64), -SINGLE_LIMIT, SINGLE_LIMIT)


def _next(numbers: Singles, towards: float) -> Singles:
    with np.errstate(over="ignore", under="ignore"):
        return np.nextafter(numbers, np.float32(towards))


def last_below(thresholds: Singles) -> Floats:
    """Return, per float32 number, the largest float64 that is below it once it is rounded."""
    return last_rounded_to(_next(thresholds, -np.inf))


def last_single_at_most(thresholds: Floats) -> Singles:
    """Return the largest float32 numbers that are not above float64 thresholds."""
    with np.errstate(over="ignore"):
        rounded = thresholds.astype(np.float32)
    return np.where(rounded.astype(np.float64) > thresholds, _next(rounded, -np.inf), rounded)


def integers(numbers: Any) -> npt.NDArray[np.int64]:
    return np.asarray(numbers, np.int64)


def reachable(tree: Tree) -> Tree:
    """Leave out nodes that were pruned away."""
    seen = [0]
    for place in seen:
        if tree.left[place] >= 0:
            seen += [int(tree.left[place]), int(tree.right[place])]
    places = np.full(len(tree.left), -1)
    places[seen] = np.arange(len(seen))
    inner = tree.left[seen] >= 0
    return Tree(
        feature=tree.feature[seen],
        threshold=tree.threshold[seen],
        left=np.where(inner, places[tree.left[seen]], -1),
        right=np.where(inner, places[tree.right[seen]], -1),
        missing_left=tree.missing_left[seen],
        values=tree.values[seen],
        categorical=None if tree.categorical is None else tree.categorical[seen],
    )
