"""All linear models near one: what the least favourable of them thinks of a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from changeproof.model import Floats

Norm = Literal["inf", "1", "2"]
# What a sum or product in floating point is off by at most, as a share of the sizes added up.
ROUNDING = 2.0**-52


@dataclass(frozen=True, eq=False)
class ParameterBall:
    """The linear models whose coefficients and intercept are near given ones.

    Their differences from these, as one vector, are at most `radius` long. With "inf" every one of
    them moves by at most the radius; with "1" all moves together add up to no more; "2" is the
    Euclidean length.
    """

    coefficients: Floats
    intercept: float
    radius: float
    norm: Norm

    def logits(self, rows: Floats) -> Floats:
        """Return the logits of the model in the middle."""
        return np.asarray((rows * self.coefficients).sum(axis=1) + self.intercept)

    def reach(self, rows: Floats) -> Floats:
        """Return by how much logits differ within a ball of radius 1: the dual norm of (row, 1)."""
        sizes = np.abs(rows)
        if self.norm == "inf":
            return np.asarray(sizes.sum(axis=1) + 1.0)
        if self.norm == "1":
            return np.asarray(np.maximum(sizes.max(axis=1, initial=0.0), 1.0))
        return np.asarray(np.sqrt((rows * rows).sum(axis=1) + 1.0))

    def worst_logits(self, rows: Floats) -> Floats:
        """Return the least logits of rows, of all the models."""
        return np.asarray(self.logits(rows) - self.radius * self.reach(rows))

    def proven_logits(self, rows: Floats) -> Floats:
        """Return what the least logits are at least, whatever was lost to rounding."""
        sizes = (np.abs(rows) * np.abs(self.coefficients)).sum(axis=1) + abs(self.intercept)
        sizes += self.radius * self.reach(rows)
        lost = ROUNDING * (rows.shape[1] + 8) * sizes
        return np.asarray(self.worst_logits(rows) - lost)


def length(move: Floats, norm: Norm) -> float:
    """Return how long a move of parameters is."""
    sizes = np.abs(move)
    if norm == "inf":
        return float(sizes.max())
    return float(sizes.sum() if norm == "1" else np.sqrt((sizes * sizes).sum()))
