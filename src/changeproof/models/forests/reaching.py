"""Whether a forest gives rows a probability, of as few of its trees as show it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.model import Booleans, Floats
from changeproof.models.forests.forest import Forest, Link
from changeproof.models.forests.kernels import WALKED, find_leaves, has_missing

# How far sums may be from the exact ones, as a share of what they can be at most.
ROUNDING = 1e-9
# After how many trees it is looked at what is still open.
TREES_AT_ONCE = 4


@dataclass(frozen=True, eq=False)
class Reaching:
    """A forest that averages or adds up numbers, of which the one in a column counts."""

    forest: Forest
    column: int

    @classmethod
    def of(cls, forest: Forest, column: int) -> Reaching | None:
        """Return nothing where probabilities are not sums."""
        adds_up = forest.link is Link.NONE and not forest.single and forest.divisor > 0.0
        # Trees that add to one output of several would have to be told apart.
        wide = all(tree.values.shape[1] == forest.n_outputs for tree in forest.trees)
        return cls(forest, column) if adds_up and wide else None

    def reaches(self, rows: Floats, least: float) -> Booleans:
        """Return where the probability is at least this; the answer is that of all trees."""
        rows = np.ascontiguousarray(rows, np.float64)
        forest, start = self.forest, float(self.forest.start[self.column])
        bias = float(np.broadcast_to(forest.bias, forest.n_outputs)[self.column])
        needed = (least - bias) * forest.divisor
        slack = ROUNDING * (np.abs(self._rest).max() + abs(start) + abs(needed))
        sums, decided = np.full(len(rows), start), np.zeros(len(rows), np.int8)
        _add_until_decided(
            forest.stack.arrays,
            forest.stack.sets,
            rows,
            self.column,
            needed - self._rest,
            slack,
            sums,
            decided,
        )
        result, undecided = decided > 0, decided == 0
        result[undecided] = sums[undecided] / forest.divisor + bias >= least
        return np.asarray(result)

    @cached_property
    def _rest(self) -> Floats:
        """The least and the most that the trees from each on add up to [trees + 1, 2]."""
        rest = np.zeros((len(self.forest.trees) + 1, 2))
        for place, tree in reversed(list(enumerate(self.forest.trees))):
            own = tree.values[tree.left < 0, self.column]
            rest[place] = rest[place + 1] + [own.min(), own.max()]
        return rest


@compiled
def _add_until_decided(
    trees: Any,
    sets: Any,
    rows: Any,
    column: int,
    bounds: Any,
    slack: float,
    sums: Any,
    decided: Any,
) -> None:
    """Add up trees per row until the rest cannot change which side of a bound the sum is on.

    `bounds` are what a sum has to reach before each tree if the rest is least and if it is most.
    """
    at, going = np.empty(WALKED, np.uint64), np.empty(WALKED, np.int64)
    tile = np.empty((WALKED, rows.shape[1]))
    for first in range(0, len(rows), WALKED):
        some = rows[first : first + WALKED]
        plain, count = len(sets.members) == 0 and not has_missing(some), len(some)
        tile[:count] = some
        going[:count] = np.arange(first, first + count)
        for tree in range(len(trees.roots)):
            if tree % TREES_AT_ONCE == 0:
                left = 0
                for r in range(count):
                    row = going[r]
                    if sums[row] > bounds[tree, 0] + slack:
                        decided[row] = 1
                    elif sums[row] < bounds[tree, 1] - slack:
                        decided[row] = -1
                    else:
                        if left < r:
                            going[left], tile[left] = row, tile[r]
                        left += 1
                count = left
                if count == 0:
                    break
            find_leaves(trees, sets, tree, tile[:count], plain, at)
            width, start = trees.widths[tree], trees.values_at[tree] + column
            for r in range(count):
                sums[going[r]] += trees.values[start + trees.leaves[at[r]] * width]
