"""The four parts of a task: which rows models are trained on, updated with and asked about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

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
        train, rest = _cut(np.arange(len(labels)), 0.5, labels, seed)
        update, remainder = _cut(rest, 0.2, labels, seed)
        validation, test = _cut(remainder, 0.25, labels, seed)
        return cls(train, update, validation, test)

    @classmethod
    def of_two(
        cls,
        train: Integers,
        test: Integers,
        labels: npt.NDArray[np.int8],
        seed: int = SPLIT_SEED,
    ) -> Self:
        """Keep the training rows, and share out the test rows.

        20 % become the update pool and 20 % validation rows, as the protocol shares out what is no
        training row; 60 % stay test rows. Stratified, by the seed of the protocol's split.
        """
        counts = np.bincount(labels[test], minlength=2)
        if counts.min() < 5:
            raise InputError(
                "a split into train and test only takes update pool and validation rows from the "
                f"test rows, and needs 5 of each label there; got {counts[0]} adverse and "
                f"{counts[1]} favourable"
            )
        if np.bincount(labels[train], minlength=2).min() == 0:
            raise InputError("the split's part 'train' has rows of one class only")
        update, remainder = _cut(test, 0.2, labels, seed)
        validation, kept = _cut(remainder, 0.25, labels, seed)
        return cls(train, update, validation, kept)

    @classmethod
    def by_time(
        cls, times: npt.NDArray[Any], labels: npt.NDArray[np.int8], seed: int = SPLIT_SEED
    ) -> Self:
        """Cut where half of the rows are known: 35 % train, 5 % validation, 10 % test.

        These three are drawn from the earlier half. The later half is the update pool, ordered by
        time, and by position where times are equal. Rows of the same time stay together: where
        many share it, the halves are as nearly equal as they can be.
        """
        order = np.argsort(times, kind="stable")
        begins = np.flatnonzero(times[order][1:] != times[order][:-1]) + 1
        if not len(begins):
            raise InputError("all rows have the same time; expected earlier and later ones")
        known = order[: begins[np.abs(begins - len(order) // 2).argmin()]]
        if len(known) < 20 or np.bincount(labels[known], minlength=2).min() < 10:
            raise InputError(
                "the earlier half of the rows needs at least 20 rows and 10 of each label; got "
                f"{len(known)} rows, {int(labels[known].sum())} of them favourable"
            )
        train, rest = _cut(known, 0.7, labels, seed)
        validation, test = _cut(rest, 1 / 3, labels, seed)
        return cls(train, order[len(known) :], validation, test)


def _cut(
    positions: Integers, share: float, labels: npt.NDArray[np.int8], seed: int
) -> tuple[Integers, Integers]:
    from sklearn.model_selection import train_test_split  # Slow to import.

    first, second = train_test_split(
        positions, train_size=share, stratify=labels[positions], random_state=seed
    )
    return first, second
