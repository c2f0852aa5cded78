"""Outcomes of several classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from changeproof.feasible.feature import text_of
from changeproof.model import Floats, Integers


@dataclass(frozen=True)
class Classes:
    """Several classes of an outcome, adverse ones first, and the number of each row's class."""

    outcomes: tuple[Any, ...]
    n_adverse: int
    numbers: Integers

    def __len__(self) -> int:
        return len(self.outcomes)

    def number_of(self, outcome: Any) -> int:
        return list(map(text_of, self.outcomes)).index(text_of(outcome))

    def shares(self, positions: Integers) -> Floats:
        """Return the shares of classes [rows, classes] of rows: 1 of a row's own, 0 of others."""
        return np.eye(len(self))[self.numbers[positions]]
