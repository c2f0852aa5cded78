"""How long a change takes, as people write it down: "6 months per level", "1 month per 500"."""

from __future__ import annotations

import re
from typing import NamedTuple, Self

import numpy as np

from changeproof.errors import InputError
from changeproof.model import Floats

MONTHS = {"day": 12 / 365.25, "week": 7 * 12 / 365.25, "month": 1.0, "year": 12.0}
LEVEL = "level"
_TAKES = re.compile(
    r"(?:about )?(?P<count>an?|\d+(?:\.\d+)?) (?P<unit>day|week|month|year)s?"
    r"(?: per (?P<per>level|\d+(?:\.\d+)?))?"
)
EXPECTED = "'6 months', '6 months per level' or '1 month per 500'"


class Takes(NamedTuple):
    """So many months for a change, or for each `per` of it; None where its size does not matter."""

    months: float
    per: float | None

    @classmethod
    def parsed(cls, text: str) -> Self:
        """Return how long something takes, as people write it.

        >>> Takes.parsed("6 months per level"), Takes.parsed("a year")
        (Takes(months=6.0, per=1.0), Takes(months=12.0, per=None))
        """
        found = _TAKES.fullmatch(" ".join(text.lower().split()))
        if found is None:
            raise InputError(f"takes is {text!r}; expected such as {EXPECTED}")
        count = 1.0 if found["count"].startswith("a") else float(found["count"])
        per = (
            None if found["per"] is None else 1.0 if found["per"] == LEVEL else float(found["per"])
        )
        if per == 0.0:
            raise InputError(f"takes is {text!r}; expected more than 0 after per")
        return cls(count * MONTHS[found["unit"]], per)

    def lasting(self, sizes: Floats) -> Floats:
        """Return how many months changes of these sizes take; 0 for no change."""
        each = self.months * (np.ones_like(sizes) if self.per is None else sizes / self.per)
        return np.where(sizes > 0.0, each, 0.0)
