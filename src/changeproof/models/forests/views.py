"""Models that are forests of two classes, seen as such."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from changeproof.model import Booleans, Floats
from changeproof.models.forests.around import Surroundings
from changeproof.models.forests.forest import Forest, ForestStack
from changeproof.models.forests.kernels import MOST_LEAVES
from changeproof.models.forests.reading import read_forest


class Rows(Protocol):
    """How rows become the numbers that a forest takes."""

    def of_rows(self, rows: Floats) -> Floats: ...

    def of_moves(self, moves: Floats) -> Floats:
        """Return what moves of rows are to numbers; categories stay as they are."""
        ...

    def stays(self, rows: Floats, moves: Floats) -> Booleans:
        """Return which rows have the same categories, and the same missing, after every move."""
        ...


class ForestView(NamedTuple):
    """A forest that judges rows, and the place of the favourable of its classes.

    It takes rows as they are, or what `taken` makes of them. The model's probabilities are those of
    the forest, or no farther from them than `spare`.
    """

    forest: Forest
    place: int
    taken: Rows | None = None
    spare: float = 0.0

    @classmethod
    def of(cls, estimator: Any, place: int) -> Self | None:
        """Return a fitted classifier of two classes as a forest; None where it is not one."""
        forest = read_forest(estimator).forest
        return cls(forest, place) if forest is not None and forest.n_classes == 2 else None

    def probabilities(self, rows: Floats) -> Floats:
        matrix = rows if self.taken is None else self.taken.of_rows(rows)
        return self.forest.probabilities(matrix)[:, self.place]

    def around(self, draws: Floats) -> Draws | None:
        """Return what judges points to which draws are added; None where that is not quick."""
        moves = draws if self.taken is None else self.taken.of_moves(draws)
        near = Surroundings(self.forest, moves, self.place, self.spare)
        return Draws(near, draws, self.taken) if near.quick else None


class Draws(NamedTuple):
    """Draws [draws, features] that are added to rows, before a forest judges them."""

    surroundings: Surroundings
    draws: Floats
    taken: Rows | None

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
    """The forests among some models that are evaluated together.

    `members` says which of the models they are, `places` which of their classes is favourable.
    """

    members: list[int]
    places: list[int]
    stack: ForestStack

    @classmethod
    def of(cls, views: Sequence[ForestView | None]) -> Self | None:
        """Return those that are faster together; None where there are no two such forests."""
        found = [(n, view) for n, view in enumerate(views) if view is not None and _is_small(view)]
        shapes = [(view.forest.n_features, view.forest.n_outputs) for _, view in found]
        found = [each for each, shape in zip(found, shapes, strict=True) if shape == shapes[0]]
        if len(found) < 2:
            return None
        members, together = [n for n, _ in found], [view for _, view in found]
        stack = ForestStack([view.forest for view in together])
        return cls(members, [view.place for view in together], stack)

    def probabilities(self, rows: Floats) -> Floats:
        """Return the probabilities of the favourable classes [members, rows]."""
        found = self.stack.probabilities(rows)
        return np.stack([own[:, place] for own, place in zip(found, self.places, strict=True)])


def _is_small(view: ForestView) -> bool:
    """Return whether a forest takes rows as they are, and has small trees only.

    Larger trees are walked through. Their nodes then stay in the cache only forest by forest.
    """
    plain = view.taken is None and not view.spare
    return plain and all(len(tree.left) < 2 * MOST_LEAVES for tree in view.forest.trees)
