"""How many decimals numbers are written with, and back from standardised rows exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

import numpy as np

from changeproof.feasible.feature import Feature
from changeproof.model import Floats

SIGNIFICANT_DIGITS = 3
MOST_DECIMALS = 17


def written_decimals(features: Sequence[Feature], raw: Floats, scale: Floats) -> list[int]:
    """Return the decimals that every feature is written with; 0 for categories."""
    return [
        0 if f.categories else _decimals(raw[:, f.columns[0]], float(scale[f.columns[0]]))
        for f in features
    ]


def _decimals(values: Floats, scale: float) -> int:
    """Return a feature's own decimals, if they say something."""
    useful = max(1, SIGNIFICANT_DIGITS - 1 - math.floor(math.log10(scale)))
    tolerance = 1e-9 * max(1.0, float(np.abs(values).max()))
    for decimals in range(useful):
        if np.abs(values - np.round(values, decimals)).max() <= tolerance:
            return decimals
    return useful


def written(value: float) -> str:
    """Return a number as short as it can be written."""
    return f"{value:.0f}" if value == round(value) else repr(float(value))


def decimals_of(value: float) -> int:
    """Return how many decimals it takes to write a number."""
    exponent = Decimal(repr(float(value))).normalize().as_tuple().exponent
    return max(0, -int(exponent))


def unscaled(column: Floats, mean: float, scale: float) -> Floats:
    """Return the shortest decimal numbers that are standardised to exactly these."""
    near = column * scale + mean
    result = near.copy()
    open_ = np.isfinite(column)
    for decimals in range(MOST_DECIMALS + 1):
        if not open_.any():
            break
        power = 10.0**decimals
        written = np.rint(near * power) / power
        fits = open_ & ((written - mean) / scale == column)
        result[fits] = written[fits]
        open_ &= ~fits
    return np.asarray(_neighbours(result, column, mean, scale, open_))


def _neighbours(near: Floats, column: Floats, mean: float, scale: float, open_: object) -> Floats:
    """Where no short number fits, try the floating-point numbers next to it."""
    result, left = near.copy(), np.asarray(open_).copy()
    for direction in (-np.inf, np.inf):
        tried = near.copy()
        for _ in range(4):
            tried = np.nextafter(tried, direction)
            fits = left & ((tried - mean) / scale == column)
            result[fits] = tried[fits]
            left &= ~fits
    return result
