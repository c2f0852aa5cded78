"""Which scores or outcomes are favourable: from a number on, up to one, or between two."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from changeproof.errors import InputError
from changeproof.feasible.decimals import written
from changeproof.model import Booleans, Floats

HALF = 0.5
BELOW_HALF = float(np.nextafter(HALF, 0.0))


@dataclass(frozen=True)
class Threshold:
    """The score from which on the outcome is favourable, itself included.

    `lower` says whether lower scores are better. With an `end`, only scores up to that one are
    favourable.
    """

    value: float
    lower: bool = False
    end: float | None = None

    @classmethod
    def of(cls, given: Any) -> Self:
        """Return the threshold that is written as 0.6, "620", ">=620", "<=0.2" or "200:300"."""
        if isinstance(given, cls):
            return given
        text = str(given).strip()
        lower, (first, colon, last) = text.startswith("<="), text.partition(":")
        try:
            if isinstance(given, bool):
                raise ValueError
            value = _finite(first if colon else text.removeprefix("<=").removeprefix(">="))
            end = _finite(last) if colon else None
        except ValueError:
            raise InputError(
                f"threshold {given!r} is not a number; expected for instance 0.6, 620 (higher "
                'scores are better), "<=0.2" (lower scores are better) or "200:300" (a range)'
            ) from None
        if end is not None and end < value:
            raise InputError(f"{text} is an empty range; expected the lower number first")
        return cls(value, lower, end)

    def __str__(self) -> str:
        if self.end is not None:
            return f"{written(self.value)}:{written(self.end)}"
        return f"<={written(self.value)}" if self.lower else written(self.value)

    @property
    def words(self) -> str:
        """Where the favourable side is: "from 620", "up to 0.2" or "200 to 300"."""
        if self.end is not None:
            return f"{written(self.value)} to {written(self.end)}"
        return f"{'up to' if self.lower else 'from'} {written(self.value)}"

    @property
    def is_share(self) -> bool:
        return 0.0 < self.value < 1.0 and self.end is None

    @property
    def fits_probabilities(self) -> bool:
        """Whether it can be the threshold of the probability of the favourable outcome."""
        return self.is_share and not self.lower

    def accepts(self, scores: Floats) -> Booleans:
        if self.end is not None:
            return (scores >= self.value) & (scores <= self.end)
        return scores <= self.value if self.lower else scores >= self.value

    def margins(self, scores: Floats) -> Floats:
        """Return how far scores are on the favourable side; below 0 on the other."""
        if self.end is not None:
            return np.minimum(scores - self.value, self.end - scores)
        return self.value - scores if self.lower else scores - self.value

    def scale_of(self, scores: Floats) -> float | None:
        """Return by how much scores differ; None where they and the threshold are probabilities."""
        if self.is_share and scores.min() >= 0.0 and scores.max() <= 1.0:
            return None
        return float(scores.std()) or 1.0

    def probabilities(self, scores: Floats, scale: float | None) -> Floats:
        """Map scores to 0 to 1, in the order of their margins, with the threshold at a half."""
        from changeproof.arithmetic.functions import sigmoids  # numba, when it is needed

        if scale is not None:
            mapped = sigmoids(self.margins(scores) / scale)
        else:
            # logit(score) - logit(threshold), as a probability
            share, at = (1.0 - scores, 1.0 - self.value) if self.lower else (scores, self.value)
            mapped = share * (1.0 - at) / (share * (1.0 - at) + (1.0 - share) * at)
        return agreeing(mapped, self.accepts(scores))

    def original(self, probabilities: Floats) -> Floats:
        """Undo the mapping: return the model's own probabilities."""
        at, share = self.value, probabilities
        return np.asarray(share * at / (share * at + (1.0 - share) * (1.0 - at)))

    @property
    def logit(self) -> float:
        from changeproof.arithmetic.functions import log  # numba, when it is needed

        return float(log(self.value / (1.0 - self.value)))


def agreeing(probabilities: Floats, accepted: Booleans) -> Floats:
    """Return probabilities that are at least a half exactly where a model accepts."""
    above, below = np.maximum(probabilities, HALF), np.minimum(probabilities, BELOW_HALF)
    return np.where(accepted, above, below)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError
    return value
