"""The votes of members that take long to ask, remembered: a search meets most rows several times.

It does so with every threshold that is tried, and where the ways of a climb cross.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.arithmetic.functions import logarithms, sigmoid
from changeproof.model import Booleans, Floats, Integers, Stack

# Members that guide a search; they are asked about every row, and the others so many at a time, as
# long as a row can still pass.
GUIDES, ASKED_AT_ONCE = 8, 8
# What rows may take up that votes are remembered of, in bytes.
REMEMBERED = 2**27
BELOW_ONE = 1.0 - 1e-15


class Ballot:
    """What members have voted on rows so far."""

    def __init__(self, models: Stack, slopes: Floats) -> None:
        self._models, self._slopes = models, slopes
        self._members = len(slopes) - 1
        self._guides = min(GUIDES, self._members)
        self._seen: SeenRows | None = None
        # Per row: how far the base model is from a half, the votes of the guides, those of all who
        # were asked, and how many that is.
        self._known = np.empty((4, 0))
        self._parts: dict[tuple[int, int], Stack] = {}

    def guide(self, rows: Floats) -> Floats:
        """Return how far the guides agree, in log odds."""
        places = self._found(rows)
        short, guided = self._known[:2, places]
        return lacking(guided / self._guides, short)

    def reaches(self, rows: Floats, threshold: float) -> Booleans:
        """Return where all agree up to a threshold, in log odds, if the base model accepts."""
        places = self._found(rows)
        going = np.arange(len(rows))
        for stop in (*range(self._guides, self._members, ASKED_AT_ONCE), self._members):
            due = going[self._known[3, places[going]] < stop]
            if len(due):
                self._ask(rows[due], places[due], stop)
            votes, asked = self._known[2:, places[going]]
            # With everybody else's full vote.
            most = (votes + (self._members - asked)) / self._members
            going = going[log_odds_of(np.minimum(most, BELOW_ONE)) >= threshold]
            if not len(going):
                break
        result = np.zeros(len(rows), dtype=np.bool_)
        result[going] = True
        return result

    def _found(self, rows: Floats) -> Integers:
        """Return where votes on rows are kept; the guides are asked about new ones."""
        if self._seen is None or self._seen.size > REMEMBERED:
            self._seen = SeenRows(rows.shape[1])
        before = len(self._seen)
        places = self._seen.places(rows)
        if (count := len(self._seen)) > before:
            if count > self._known.shape[1]:
                more = np.empty((4, 2 * count))
                more[:, :before] = self._known[:, :before]
                self._known = more
            self._ask_guides(self._seen.rows(before), slice(before, count))
        return places

    def _ask_guides(self, rows: Floats, places: slice) -> None:
        probabilities = self._part(0, 1 + self._guides).probabilities(rows)
        votes = np.zeros(len(rows))
        add_votes(probabilities[1:], self._slopes[1 : 1 + self._guides], votes)
        self._known[:3, places] = probabilities[0] - 0.5, votes, votes
        self._known[3, places] = self._guides

    def _ask(self, rows: Floats, places: Integers, stop: int) -> None:
        """Ask members up to one about rows; all before the last few were asked already."""
        start = int(self._known[3, places[0]])
        votes = self._known[2, places]
        probabilities = self._part(1 + start, 1 + stop).probabilities(rows)
        add_votes(probabilities, self._slopes[1 + start : 1 + stop], votes)
        self._known[2, places], self._known[3, places] = votes, stop

    def _part(self, start: int, stop: int) -> Stack:
        return self._parts.setdefault((start, stop), self._models.part(start, stop))


class SeenRows:
    """Rows that were seen, each with a place: as many as before it, the same for the same bits."""

    def __init__(self, columns: int) -> None:
        self._count, self._bits = 0, np.empty((64, columns), np.uint64)
        self._table = np.full(256, -1)

    def __len__(self) -> int:
        return self._count

    @property
    def size(self) -> int:
        """What the rows take up, in bytes."""
        return self._count * self._bits.shape[1] * self._bits.itemsize

    def rows(self, start: int) -> Floats:
        """Return the rows from a place on."""
        return self._bits[start : self._count].view(np.float64)

    def places(self, rows: Floats) -> Integers:
        """Return the places of rows; those not seen before get new ones."""
        bits = np.ascontiguousarray(rows, np.float64).view(np.uint64)
        most = self._count + len(bits)
        if most > len(self._bits):
            more = np.empty((2 * most, bits.shape[1]), np.uint64)
            more[: self._count] = self._bits[: self._count]
            self._bits = more
            # A power of two, at most half full.
            self._table = np.full(1 << int(4 * most).bit_length(), -1)
            _fill_table(self._bits, self._count, self._table)
        places = np.empty(len(bits), np.int64)
        self._count = _find_places(bits, self._bits, self._count, self._table, places)
        return places


def lacking(votes: Floats, short: Floats) -> Floats:
    """Return the log odds of mean votes or, where the base model rejects, what it falls short."""
    agreed = log_odds_of(votes)
    return np.where(short < 0.0, np.minimum(agreed, short), agreed)


def log_odds_of(votes: Floats) -> Floats:
    return logarithms(votes) - logarithms(1.0 - votes)


@compiled
def add_votes(probabilities: Any, slopes: Any, votes: Any) -> None:
    """Add the votes of models [models, rows], one after the other."""
    for i in range(len(votes)):
        for m in range(len(slopes)):
            votes[i] += sigmoid(slopes[m] * (probabilities[m, i] - 0.5))


@compiled
def _slot_of(row: Any, bits: Any, table: Any) -> int:
    """Return where the table has a row's place, or where that belongs."""
    mixed = np.uint64(len(row))
    for each in row:
        mixed = (mixed ^ each) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    slot = np.int64(mixed & np.uint64(len(table) - 1))
    while table[slot] >= 0:
        known, same = bits[table[slot]], True
        for j in range(len(row)):
            same &= known[j] == row[j]
        if same:
            break
        slot = (slot + 1) % len(table)
    return int(slot)


@compiled
def _fill_table(bits: Any, count: int, table: Any) -> None:
    for place in range(count):
        table[_slot_of(bits[place], bits, table)] = place


@compiled
def _find_places(rows: Any, bits: Any, count: int, table: Any, places: Any) -> int:
    """Fill in the places of rows, keep new ones, and return how many there are then."""
    for r in range(len(rows)):
        slot = _slot_of(rows[r], bits, table)
        if table[slot] < 0:
            table[slot] = count
            for j in range(rows.shape[1]):
                bits[count, j] = rows[r, j]
            count += 1
        places[r] = table[slot]
    return count
