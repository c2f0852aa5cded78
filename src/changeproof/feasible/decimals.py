"""How many decimals numbers are written with, and back from standardised rows exactly."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from decimal import Decimal

import numpy as np

from changeproof.feasible.feature import Feature
from changeproof.model import Floats

SIGNIFICANT_DIGITS, COMPUTED_DECIMALS = 3, 4
MOST_DECIMALS = 17


def written_decimals(
    features: Sequence[Feature], raw: Floats, scale: Floats, computed: Collection[int] = ()
) -> list[int]:
    """Return the decimals that every feature is written with; 0 for categories.

    Features that are `computed` from others, by their places, have all decimals of the data.
    """
    return [
        0
        if f.categories
        else _decimals(raw[:, f.columns[0]], float(scale[f.columns[0]]), place in computed)
        for place, f in enumerate(features)
    ]


def _decimals(values: Floats, scale: float, computed: bool) -> int:
    """As many as its values have, up to those that still say something."""
    useful = max(1, SIGNIFICANT_DIGITS - 1 - math.floor(math.log10(scale)))
    tolerance = 1e-9 * max(1.0, float(np.abs(values).max()))
    for decimals in range(max(useful, COMPUTED_DECIMALS + 1) if computed else useful):
        if np.abs(values - np.round(values, decimals)).max() <= tolerance:
            return decimals
    return useful


def written(value: float) -> str:
    return f"{value:.0f}" if value == round(value) else repr(float(value))


def decimals_of(value: float) -> int:
    exponent = Decimal(repr(float(value))).normalize().as_tuple().exponent
    return max(0, -int(exponent))


def unscaled(column: Floats, mean: float, scale: float) -> Floats:
    """Return the shortest decimal numbers that are standardised to exactly these.

    Where none is, the floating-point numbers next to the nearest are tried.
    """
    near = column * scale + mean
    result, left = near.copy(), np.isfinite(column)

    def keep(tried: Floats) -> None:
        fits = left & ((tried - mean) / scale == column)
        result[fits] = tried[fits]
        left[fits] = False

    for decimals in range(MOST_DECIMALS + 1):
        power = 10.0**decimals
        keep(np.rint(near * power) / power)
        if not left.any():
            return result
    for direction in (-np.inf, np.inf):
        tried = near
        for _ in range(4):
            tried = np.nextafter(tried, direction)
            keep(tried)
    return result
