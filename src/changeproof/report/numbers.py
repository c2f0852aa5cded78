"""Numbers as people read them, and as JSON holds them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

UNDEFINED = "undefined"
SIGNIFICANT_DIGITS = 6


class Measured(NamedTuple):
    """A mean with its standard deviation, either of which may be undefined (NaN)."""

    mean: float
    sd: float
    digits: int

    @property
    def mean_text(self) -> str:
        """The mean alone."""
        return UNDEFINED if math.isnan(self.mean) else f"{self.mean:.{self.digits}f}"

    @property
    def sd_text(self) -> str:
        """The standard deviation alone; nothing where there is none."""
        return "" if math.isnan(self.sd) else f"{self.sd:.{self.digits}f}"

    def text(self, plus_minus: str = " ± ") -> str:
        """Return mean and sd; only the mean where there is no sd."""
        if math.isnan(self.mean) or math.isnan(self.sd):
            return self.mean_text
        return f"{self.mean_text}{plus_minus}{self.sd_text}"


def number(value: Any) -> float | None:
    """Return a number as it stands in the CSV files; None where it is undefined."""
    value = float(value)
    return float(f"{value:.{SIGNIFICANT_DIGITS}g}") if math.isfinite(value) else None


def numbers(values: Any) -> list[Any]:
    """Return numbers like `number`, for values in any number of dimensions."""
    return [numbers(each) if hasattr(each, "__len__") else number(each) for each in values]


def percent(value: float) -> str:
    """Return a rate for reading; neither all nor none unless it is exactly that."""
    shown = f"{value:.1f}"
    if shown == "100.0" and value < 100.0:
        return "over 99.9 %"
    if shown == "0.0" and value > 0.0:
        return "under 0.1 %"
    return f"{shown} %"
