"""Models that are forests of two classes, seen as such."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from changeproof.model import Floats
from changeproof.models.forests.forest import Forest, ForestStack
from changeproof.models.forests.kernels import MOST_LEAVES
from changeproof.models.forests.reading import read_forest


class ForestView(NamedTuple):
    """A forest that judges rows as they are, and the place of the favourable of its classes."""

    forest: Forest
    place: int

    @classmethod
    def of(cls, estimator: Any, place: int) -> Self | None:
        """Return a fitted classifier of two classes as a forest; None where it is not one."""
        forest = read_forest(estimator).forest
        return cls(forest, place) if forest is not None and forest.n_classes == 2 else None

    def probabilities(self, rows: Floats) -> Floats:
        return self.forest.probabilities(rows)[:, self.place]


class ViewStack(NamedTuple):
    """Forests that are evaluated together: places of the favourable classes, and their forests."""

    places: tuple[int, ...]
    stack: ForestStack

    @classmethod
    def of(cls, views: Sequence[ForestView]) -> Self | None:
        """Return some of them together; None where each by itself is faster, or none fits."""
        forests = [view.forest for view in views]
        if len(forests) < 2 or len({(f.n_features, f.n_outputs) for f in forests}) > 1:
            return None
        # Larger trees are walked through. Their nodes then stay in the cache only forest by forest.
        largest = max(len(tree.left) for forest in forests for tree in forest.trees)
        if largest > 2 * MOST_LEAVES - 1:
            return None
        return cls(tuple(view.place for view in views), ForestStack(forests))

    def probabilities(self, rows: Floats) -> Floats:
        """Return the probabilities of the favourable classes [forests, rows]."""
        found = self.stack.probabilities(rows)
        return np.stack([own[:, place] for own, place in zip(found, self.places, strict=True)])
