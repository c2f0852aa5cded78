"""Where forests change their mind: the only values that are worth trying."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from changeproof.model import Booleans, Floats, Integers
from changeproof.models.forests.forest import Forest


class SplitPoints(NamedTuple):
    """The splits of some forests at one column.

    Between a number of `first_right` and the next of `last_left`, nothing changes; both are sorted,
    and `last_left[i]` is the float64 just before `first_right[i]`. `sets` are the different sets
    of codes of categorical splits. `missing` says whether anything is asked of the column at all,
    so that a missing value can count.
    """

    last_left: Floats
    first_right: Floats
    sets: tuple[Booleans, ...]
    missing: bool

    def groups(self, n_codes: int) -> Integers:
        """Return a number per code; codes that no split tells apart have the same."""
        told_apart = np.zeros((n_codes, len(self.sets)), np.bool_)
        for k, members in enumerate(self.sets):
            known = members[2 : 2 + n_codes]
            told_apart[:, k] = members[1]
            told_apart[: len(known), k] = known
        return np.asarray(np.unique(told_apart, axis=0, return_inverse=True)[1].reshape(-1))


def split_points(forests: Iterable[Forest]) -> list[SplitPoints]:
    """Return the split points of every column, of all forests together."""
    forests = list(forests)
    thresholds: list[list[Floats]] = [[] for _ in range(forests[0].n_features)]
    sets: list[dict[bytes, Booleans]] = [{} for _ in thresholds]
    for forest in forests:
        numbers: list[Floats] = [np.zeros(0)]
        columns = [np.zeros(0, np.int64)]
        for tree in forest.trees:
            inner = tree.left >= 0
            plain = inner if tree.categorical is None else inner & (tree.categorical < 0)
            numbers.append(tree.threshold[plain])
            columns.append(tree.feature[plain].astype(np.int64))
            for place in np.flatnonzero(inner & ~plain):
                assert tree.categorical is not None
                one = forest.sets[tree.categorical[place]]
                members = np.concatenate([[one.missing, one.other], one.codes])
                sets[tree.feature[place]].setdefault(members.tobytes(), members)
        every, column = np.concatenate(numbers), np.concatenate(columns)
        for place in np.unique(column):
            thresholds[place].append(every[column == place])
    found = []
    for numbers, own in zip(thresholds, sets, strict=True):
        last = np.unique(np.concatenate([np.zeros(0), *numbers]))
        # At infinity only missing values are told from others.
        last = last[np.isfinite(last)]
        first = np.nextafter(last, np.inf)
        found.append(SplitPoints(last, first, tuple(own.values()), bool(numbers or own)))
    return found
