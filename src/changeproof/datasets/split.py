"""One frozen split of a task's rows into four parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import train_test_split

from changeproof.errors import InputError
from changeproof.model import Integers

Part = Literal["train", "update", "validation", "test"]
PARTS: tuple[Part, ...] = ("train", "update", "validation", "test")
SPLIT_SEED = 2026


@dataclass(frozen=True)
class Split:
    """Positions of the rows in the four parts of a task."""

    train: Integers
    update: Integers
    validation: Integers
    test: Integers

    @classmethod
    def stratified(cls, labels: npt.NDArray[np.int8], seed: int = SPLIT_SEED) -> Self:
        """Cut into 50 % train, 10 % update pool, 10 % validation and 30 % test."""
        counts = np.bincount(labels, minlength=2)
        if len(labels) < 20 or counts.min() < 10:
            raise InputError(
                f"the protocol's split needs at least 20 rows and 10 of each label; "
                f"got {len(labels)} rows, {counts[0]} adverse and {counts[1]} favourable"
            )

        def cut(positions: Integers, share: float) -> tuple[Integers, Integers]:
            first, second = train_test_split(
                positions, train_size=share, stratify=labels[positions], random_state=seed
            )
            return first, second

        train, rest = cut(np.arange(len(labels)), 0.5)
        update, remainder = cut(rest, 0.2)
        validation, test = cut(remainder, 0.25)
        return cls(train, update, validation, test)
