"""Models that are forests, seen as such."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from changeproof.datasets.threshold import agreeing
from changeproof.model import Booleans, Floats, Integers
from changeproof.models.classes import TIE, favourable_share
from changeproof.models.forests.around import Surroundings
from changeproof.models.forests.forest import Forest, ForestStack, linked
from changeproof.models.forests.kernels import MOST_LEAVES
from changeproof.models.forests.reaching import Reaching
from changeproof.models.forests.splits import split_points

# Forests are evaluated together up to so many nodes: their arrays are copied for it.
MOST_NODES = 2**22


class Rows(Protocol):
    """How rows become the numbers that a forest takes."""

    @property
    def key(self) -> object:
        """Where it is equal, the numbers are."""
        ...

    def of_rows(self, rows: Floats) -> Floats: ...


@runtime_checkable
class MovedRows(Rows, Protocol):
    """The same, where it is known what moves of rows are to the numbers."""

    def of_moves(self, moves: Floats) -> Floats:
        """Return what moves of rows are to numbers; categories stay as they are."""
        ...

    def of_splits(self, splits: list[Floats]) -> list[Floats]:
        """Return splits per column of rows from those per number; categories have none."""
        ...

    def stays(self, rows: Floats, moves: Floats) -> Booleans:
        """Return which rows have the same categories, and the same missing, after every move."""
        ...


@dataclass(frozen=True, eq=False)
class ForestView:
    """A forest that judges rows as a fitted model does.

    `places` are the favourable ones of its classes; without any, it predicts numbers. It takes rows
    as they are or what `taken` makes of them, and decides as its library does (`own`), at a
    probability of a half or, with `at`, as that makes probabilities of its scores.
    """

    forest: Forest
    places: Sequence[int]
    taken: Rows | None = None
    own: bool = False
    at: Callable[[Floats], Floats] | None = None

    def matrix(self, rows: Floats) -> Floats:
        return rows if self.taken is None else self.taken.of_rows(rows)

    def scores(self, rows: Floats) -> Floats:
        return self._scores(self.forest.probabilities(self.matrix(rows)))

    def probabilities(self, rows: Floats) -> Floats:
        margins = self.forest.margins(self.matrix(rows))
        return self.decided(margins, linked(self.forest.link, margins))

    def reaches(self, rows: Floats, least: float) -> Booleans:
        """Return where the probability is at least this."""
        if self._reaching is None:
            return self.probabilities(rows) >= least
        return self._reaching.reaches(self.matrix(rows), least)

    @cached_property
    def _reaching(self) -> Reaching | None:
        """What needs fewer trees to know it: only where trees are walked through."""
        if not self.is_plain or self.is_small:
            return None
        return Reaching.of(self.forest, self.places[0])

    @cached_property
    def is_small(self) -> bool:
        """Whether its trees have few enough leaves not to be walked through."""
        return all(len(tree.left) < 2 * MOST_LEAVES for tree in self.forest.trees)

    @property
    def is_plain(self) -> bool:
        """Whether it decides at a half of the share of one class."""
        return self.at is None and not self.own and len(self.places) == 1

    def decided(self, margins: Floats, shares: Floats) -> Floats:
        """Return probabilities that are at least a half exactly where it accepts.

        `shares` are what the forest makes of its margins.
        """
        if self.at is not None:
            return self.at(self._scores(shares))
        if not self.own:
            return self._scores(shares)
        found, _ = favourable_share(shares, self.places)
        return agreeing(found, np.isin(self.forest.decided(margins), self.places))

    def _scores(self, shares: Floats) -> Floats:
        return np.asarray(shares[:, self.places].sum(axis=1) if self.places else shares[:, -1])

    @cached_property
    def voting(self) -> Forest | None:
        """The forest whose leaves are votes, where it is the mean of trees for two classes.

        None where it decides at a threshold of its own.
        """
        if self.at is not None or len(self.places) != 1:
            return None
        return self.forest.voting

    def votes(self, rows: Floats) -> Integers:
        """Return how many trees predict the favourable class."""
        assert self.voting is not None
        shares = self.voting.probabilities(self.matrix(rows))[:, self.places[0]]
        return np.rint(shares * len(self.forest.trees)).astype(np.int64)

    @cached_property
    def splits(self) -> list[Floats] | None:
        """The values, per column of rows, above which numbers are judged otherwise, if known."""
        if not (self.taken is None or isinstance(self.taken, MovedRows)):
            return None
        own = [points.last_left for points in split_points([self.forest])]
        return own if self.taken is None else self.taken.of_splits(own)

    def around(self, draws: Floats) -> Draws | None:
        """Return what judges points to which draws are added; None where that is not quick."""
        taken = self.taken
        if (
            self.at is not None
            or not self.places
            or not (taken is None or isinstance(taken, MovedRows))
        ):
            return None
        moves = draws if taken is None else taken.of_moves(draws)
        # Near a tie, the forest's probabilities give way to what it decides.
        near = Surroundings(self.forest, moves, self.places[0], TIE if self.own else 0.0)
        return Draws(near, draws, taken) if near.quick else None


class Draws(NamedTuple):
    """Draws [draws, features] that are added to rows, before a forest judges them."""

    surroundings: Surroundings
    draws: Floats
    taken: MovedRows | None

    def stable(self, rows: Floats, threshold: float) -> tuple[Booleans, Booleans]:
        """Return where the mean of the probability minus its deviation is above a threshold.

        The second says where that is not known.
        """
        if self.taken is None:
            return self.surroundings.stable(rows, threshold), np.zeros(len(rows), np.bool_)
        stable, stays = np.zeros(len(rows), np.bool_), self.taken.stays(rows, self.draws)
        decided = self.surroundings.decided(self.taken.of_rows(rows[stays]), threshold)
        stable[stays] = decided > 0
        stays[stays] = decided != 0
        return stable, ~stays


class ViewStack(NamedTuple):
    """Forests among some models that are evaluated together; `members` says which those are."""

    members: list[int]
    views: list[ForestView]
    stack: ForestStack

    def reaches(self, rows: Floats, least: Floats) -> Booleans:
        """Return where probabilities are at least these [members]."""
        if self.views[0].is_small:
            return self.probabilities(rows) >= least[:, None]
        # One by one, they need fewer trees to know it.
        return np.stack(
            [view.reaches(rows, own) for view, own in zip(self.views, least, strict=True)]
        )

    def probabilities(self, rows: Floats) -> Floats:
        """Return the probabilities of the favourable classes [members, rows]."""
        first = self.views[0]
        margins = self.stack.margins(first.matrix(rows))
        shares = self.stack.linked(margins)
        if all(view.is_plain and view.places == first.places for view in self.views):
            return np.asarray(shares[:, :, first.places[0]])
        parts = zip(self.views, margins, shares, strict=True)
        return np.stack([view.decided(own, found) for view, own, found in parts])


def together(views: Sequence[ForestView | None]) -> list[ViewStack]:
    """Return the forests among some models that are faster together: those of a kind.

    Trees of at most 64 leaves are of another kind than larger ones, which are walked through.
    """
    groups: dict[tuple[object, ...], list[int]] = {}
    nodes: dict[tuple[object, ...], int] = {}
    for number, view in enumerate(views):
        if view is None or not (view.places or view.at is not None):
            continue
        kind = _kind(view)
        nodes[kind] = nodes.get(kind, 0) + sum(len(tree.left) for tree in view.forest.trees)
        groups.setdefault((kind, nodes[kind] // MOST_NODES), []).append(number)
    found = []
    for members in (each for each in groups.values() if len(each) > 1):
        own = [view for n in members if (view := views[n]) is not None]
        found.append(ViewStack(members, own, ForestStack([view.forest for view in own])))
    return found


def _kind(view: ForestView) -> tuple[object, ...]:
    taken = None if view.taken is None else view.taken.key
    return taken, view.forest.n_features, view.forest.n_outputs, view.is_small
