"""Models over other models: what they are shown, or what they say, is changed on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from changeproof.arithmetic.functions import log, logarithms
from changeproof.model import Access, Booleans, Floats, Model

# Log odds of probabilities nearer to 0 and 1 are those of the bound: a forest says 0 and 1 often.
SMALLEST_PROBABILITY = 1e-3


class Adjustment(Protocol):
    """A monotone change of what a model says; from 0.5 on, the outcome is favourable."""

    @property
    def line(self) -> tuple[float, float] | None:
        """Slope and shift, where it is a line of the model's log odds."""

    def probabilities(self, model: Model, rows: Floats) -> Floats:
        """Return the adjusted probabilities of a model, one per row."""


@dataclass(frozen=True, eq=False)
class AdjustedModel:
    """A model whose probabilities are adjusted."""

    model: Model
    adjustment: Adjustment
    offers: ClassVar[Access] = Access.PREDICTIONS

    def probabilities(self, rows: Floats) -> Floats:
        """Return the adjusted probability of the favourable class, one per row."""
        return self.adjustment.probabilities(self.model, rows)

    def favourable(self, rows: Floats) -> Booleans:
        """Return whether the favourable class is predicted: adjusted probability >= 0.5."""
        return self.probabilities(rows) >= 0.5


@dataclass(frozen=True, eq=False)
class RemeasuredModel:
    """A model that is shown rows as other instruments would measure them."""

    model: Model
    gains: Floats
    offsets: Floats
    offers: ClassVar[Access] = Access.PREDICTIONS

    def probabilities(self, rows: Floats) -> Floats:
        """Return the probability of the favourable class, one per row."""
        return self.model.probabilities(rows * self.gains + self.offsets)

    def favourable(self, rows: Floats) -> Booleans:
        """Return whether the favourable class is predicted: probability >= 0.5."""
        return self.model.favourable(rows * self.gains + self.offsets)


@dataclass(frozen=True)
class MovedThreshold:
    """The favourable side begins at another probability than 0.5.

    The odds are divided by those of the threshold, so that it becomes 0.5.
    """

    threshold: float

    @property
    def line(self) -> tuple[float, float]:
        """The log odds less those of the threshold."""
        return 1.0, -(float(log(self.threshold)) - float(log(1.0 - self.threshold)))

    def probabilities(self, model: Model, rows: Floats) -> Floats:
        """Return probabilities that are 0.5 or more from the threshold on, to the last digit."""
        given = model.probabilities(rows)
        ours, theirs = given * (1.0 - self.threshold), (1.0 - given) * self.threshold
        moved = ours / (ours + theirs)
        below = np.nextafter(0.5, 0.0)
        accepted = given >= self.threshold
        return np.where(accepted, np.maximum(moved, 0.5), np.minimum(moved, below))


@runtime_checkable
class GivesLogits(Protocol):
    """A model that tells its log odds itself."""

    def logits(self, rows: Floats) -> Floats:
        """Return the log odds of the favourable class, one per row."""


def log_odds(model: Model, rows: Floats) -> Floats:
    """Return a model's own log odds, or those of its probabilities, which are then bounded."""
    if isinstance(model, GivesLogits):
        return model.logits(rows)
    given = model.probabilities(rows)
    bounded = np.clip(given, SMALLEST_PROBABILITY, 1.0 - SMALLEST_PROBABILITY)
    return logarithms(bounded) - logarithms(1.0 - bounded)
