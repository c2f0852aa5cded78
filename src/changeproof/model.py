"""What a model offers, and so which methods can ask it for recourse."""

from __future__ import annotations

from enum import IntEnum
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]


class Access(IntEnum):
    """How far a method may look into a model; each level includes the ones before."""

    PREDICTIONS = 1
    GRADIENTS = 2
    RELU_PARAMETERS = 3

    def __str__(self) -> str:
        return self.name.lower().replace("_", " ")


class Model(Protocol):
    """Anything that judges standardised rows."""

    @property
    def offers(self) -> Access:
        """How far a method may look into it."""

    def probabilities(self, rows: Floats) -> Floats:
        """Return the probability of the favourable class, one per row."""

    def favourable(self, rows: Floats) -> Booleans:
        """Return whether the favourable class is predicted: probability >= 0.5."""


@runtime_checkable
class DifferentiableModel(Model, Protocol):
    """A model that also tells how its logit moves with the features."""

    def logits_and_gradients(self, rows: Floats) -> tuple[Floats, Floats]:
        """Return the logits [rows] and their derivatives by the features [rows, features]."""
