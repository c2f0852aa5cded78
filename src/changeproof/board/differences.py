"""Differences between entries that answered the same people, and groups of no clear difference.

The intervals are those of `evaluation.people`: over people and base models at once, with what two
entries have in common taken out. A bootstrap over five base models would be too narrow for its
level (see `evaluation.uncertainty`). Datasets are not drawn: a difference over several is the mean
of theirs, and its interval says nothing about other datasets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from changeproof.evaluation.metrics import People
from changeproof.evaluation.people import Sampled, difference
from changeproof.evaluation.uncertainty import FEWEST_PEOPLE, Value, student_reach
from changeproof.model import Booleans, Floats

UNKNOWN = Value(math.nan, math.nan, math.nan)


def mean_of(parts: Sequence[Value]) -> Value:
    """Return the mean of independent numbers, with its interval from theirs.

    The ends of the intervals are put together as Newcombe's are, so that they need not be
    symmetric. Undefined if one of them is.
    """
    if not parts or any(math.isnan(part.value) for part in parts):
        return UNKNOWN
    number = len(parts)
    value = math.fsum(part.value for part in parts) / number
    below = math.hypot(*(part.value - part.low for part in parts)) / number
    above = math.hypot(*(part.high - part.value for part in parts)) / number
    return Value(value, value - below, value + above)


class Differences(NamedTuple):
    """Row less column [entries, entries], with the ends of the intervals; NaN where unknown."""

    value: Floats
    low: Floats
    high: Floats

    @property
    def clear(self) -> Booleans:
        """Which intervals exclude 0."""
        return np.asarray((self.low > 0.0) | (self.high < 0.0))

    def at(self, row: int, column: int) -> Value:
        return Value(*(float(part[row, column]) for part in self))


def end_to_end_differences(cells: Sequence[Sequence[Sampled]]) -> Differences:
    """Return the differences in end-to-end robustness, in points, of entries [cells][entries].

    In a cell all entries were asked by the same people, in the same order. The same numbers as
    `evaluation.people.difference` has, for all pairs at once.
    """
    each = [_in_cell(entries) for entries in cells]
    value, low, high = (np.array(parts) for parts in zip(*each, strict=True))
    below = np.sqrt(((value - low) ** 2).sum(axis=0)) / len(each)
    above = np.sqrt(((high - value) ** 2).sum(axis=0)) / len(each)
    mean = value.mean(axis=0)
    return Differences(100.0 * mean, 100.0 * (mean - below), 100.0 * (mean + above))


def _in_cell(entries: Sequence[Sampled]) -> Differences:
    row_ids = entries[0].row_ids
    assert all(np.array_equal(each.row_ids, row_ids) for each in entries)
    people, which = np.unique(row_ids, return_inverse=True)
    added = np.array([np.bincount(which, each.added, len(people)) for each in entries])
    means = np.array([each.means for each in entries])
    number, bases = len(people), means.shape[1]
    # How far a standard deviation of 1 reaches: for people, and for base models if there are some.
    by_person = student_reach(number / max(number - 1, 1), number)
    by_base = student_reach(1.0 / bases, bases) if bases > 1 else 0.0
    reach = np.empty((len(entries), len(entries)))
    for place in range(len(entries)):
        apart = added - added[place]
        moved = (apart * apart).sum(axis=1)
        off = means - means[place]
        off = off - off.mean(axis=1, keepdims=True)
        spread = (off * off).sum(axis=1) / max(bases - 1, 1)
        # Equal answers are equal, also where one person shows no spread.
        with np.errstate(invalid="ignore"):
            far = np.sqrt(by_person**2 * moved + by_base**2 * spread)
        reach[place] = np.where(moved + spread > 0.0, far, 0.0 if number > 1 else math.inf)
    value = means.mean(axis=1)[:, None] - means.mean(axis=1)[None, :]
    return Differences(value, np.maximum(value - reach, -1.0), np.minimum(value + reach, 1.0))


def price_difference(
    one: Sequence[Sequence[People]], other: Sequence[Sequence[People]]
) -> tuple[Value, int]:
    """Return how much farther one entry goes than another, and for how few people in a cell.

    Of the people [cells][base models] to whom both give valid advice. Distances may be in any unit,
    such as that of the limit.
    """
    parts, fewest = [], []
    for here, there in zip(one, other, strict=True):
        both = [(a.valid > 0.0) & (b.valid > 0.0) for a, b in zip(here, there, strict=True)]
        mine, theirs = (
            Sampled.of([p.some(b) for p, b in zip(each, both, strict=True)], "distance")
            for each in (here, there)
        )
        fewest.append(mine.people)
        if not mine.people:
            return UNKNOWN, 0
        parts.append(difference(theirs, mine, same_people=True, same_bases=True))
    return mean_of(parts), min(fewest)


def enough(people: int) -> bool:
    """Say whether anything is decided from so many people."""
    return people >= FEWEST_PEOPLE


def grouped(values: Sequence[float], clear: Booleans, *, least: bool = False) -> list[str]:
    """Return the group of each entry: "A", "B", and so on.

    The first of A is the entry with the highest value (or the `least`), and in A are all whose
    difference to it is not clear. The rest is grouped in the same way. Entries without a value are
    in no group.
    """
    sign = 1.0 if least else -1.0
    waiting = [n for n, value in enumerate(values) if not math.isnan(value)]
    waiting.sort(key=lambda n: sign * values[n])
    groups = [""] * len(values)
    letter = 0
    while waiting:
        first = waiting[0]
        for each in waiting:
            if each == first or not clear[first, each]:
                groups[each] = letters(letter)
        waiting = [each for each in waiting if not groups[each]]
        letter += 1
    return groups


def letters(place: int) -> str:
    """Return A to Z, then AA, AB, and so on."""
    text = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        text = chr(ord("A") + rest) + text
    return text
