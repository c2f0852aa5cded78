"""A forest at many draws around points.

The draws are the same around every point, and most splits of a forest lie beside all of them. So
per point, every tree is cut down to the splits that part the draws; what is left is evaluated for
tiles of draws by striking out leaves (see `kernels.score`), and only until the rest of the draws
can no longer change the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from changeproof.arithmetic.compiling import compiled
from changeproof.arithmetic.functions import sigmoid
from changeproof.arithmetic.lanes import aligned_zeros
from changeproof.model import Booleans, Floats, Integers
from changeproof.models.forests import kernels
from changeproof.models.forests.forest import Forest, Link, linked
from changeproof.models.forests.kernels import (
    ALL_LEAVES,
    CATEGORICAL,
    LANES,
    MOST_LEAVES,
    TILE,
    goes_right,
)

# How far sums of probabilities, and our exponential, may be from those of NumPy and the library.
ROUNDING = 1e-9
ROWS_AT_ONCE = 8_192
# What waits on the way through a tree: the right child of a split, or a range as it was before.
RIGHT, RESTORE = 0, 1
MOST_WAITING = 4 * MOST_LEAVES


class Cut(NamedTuple):
    """Trees cut down to what draws around one point can reach.

    Per tree: how many leaves (0 if more than there are bits), their values [trees, MOST_LEAVES] and
    the place of its first split. Per split: column, threshold, and bits of the leaves that are not
    left of it. The rest is memory for what waits on the way through a tree.
    """

    n_leaves: Integers
    values: Floats
    first: Integers
    columns: Integers
    thresholds: Floats
    others: npt.NDArray[np.uint64]
    waiting: Integers
    numbers: Floats

    @classmethod
    def of(cls, n_trees: int) -> Cut:
        size = n_trees * MOST_LEAVES
        return cls(
            np.empty(n_trees, np.int64),
            np.empty(size),
            np.empty(n_trees + 1, np.int64),
            np.empty(size, np.int64),
            np.empty(size),
            np.empty(size, np.uint64),
            np.empty((MOST_WAITING, 2), np.int64),
            np.empty((MOST_WAITING, 2)),
        )


class Formula(NamedTuple):
    """How the sum over the trees becomes a probability; a leaf's value in `column` counts.

    Where `first`, it is that of the first class, of which the sum speaks as of the second.
    """

    column: int
    start: float
    divisor: float
    bias: float
    logistic: bool
    first: bool


@dataclass(frozen=True, eq=False)
class Surroundings:
    """A forest of two classes, and draws [draws, features] that are added to points.

    Probabilities are those of the class at a `place`. A decision holds also where they are off by
    as much as is to `spare`.
    """

    forest: Forest
    draws: Floats
    place: int = 1
    spare: float = 0.0

    def probabilities(self, points: Floats) -> Floats:
        """Return the probabilities [points, draws]."""
        result = np.empty((len(points), len(self.draws)))
        if self.quick:
            self._fill(points, np.nan, result)
            return self._linked(result)
        group = max(1, ROWS_AT_ONCE // len(self.draws))
        for first in range(0, len(points), group):
            part = points[first : first + group]
            moved = (part[:, None, :] + self.draws).reshape(-1, points.shape[1])
            found = self.forest.probabilities(moved)[:, self.place]
            result[first : first + group] = found.reshape(len(part), -1)
        return result

    def stable(self, points: Floats, threshold: float) -> Booleans:
        """Return where the mean of the probability minus its deviation is above a threshold.

        The answer is the one that all draws give, also where fewer decide it.
        """
        return self.stable_after(points, threshold)[0]

    def stable_after(self, points: Floats, threshold: float) -> tuple[Booleans, Integers]:
        """Return the same, and how many draws were looked at."""
        if not self.quick:
            seen = np.full(len(points), len(self.draws))
            return _above(self.probabilities(points), threshold), seen
        sums = np.empty((len(points), len(self.draws)))
        decided, seen = self._fill(points, threshold, sums)
        stable, undecided = decided > 0, decided == 0
        stable[undecided] = _above(self._linked(sums[undecided]), threshold)
        return stable, seen

    def decided(self, points: Floats, threshold: float) -> Integers:
        """Return 1 where that is so for certain, -1 where it is not, 0 where all draws count."""
        return self._fill(points, threshold, np.empty((len(points), len(self.draws))))[0]

    @cached_property
    def quick(self) -> bool:
        """Whether the probability is a function of one sum, and categories stay as they are."""
        one = self.forest.n_classes == 2 and self.forest.link in (
            Link.NONE,
            Link.LOGISTIC,
            Link.LOGISTIC_SINGLE,
        )
        nodes = self.forest.stack.arrays.nodes
        coded = np.unique(nodes["split"][(nodes["split"] & CATEGORICAL) != 0] >> 2)
        return one and not self.draws[:, coded].any()

    @cached_property
    def _formula(self) -> Formula:
        one = self.forest.n_outputs == 1
        column = 0 if one else self.place
        bias = float(np.broadcast_to(self.forest.bias, self.forest.n_outputs)[column])
        start, logistic = float(self.forest.start[column]), self.forest.link is not Link.NONE
        first = one and self.place == 0
        return Formula(column, start, self.forest.divisor, bias, logistic, first)

    @cached_property
    def _tiles(self) -> Floats:
        """The draws [tiles, features, TILE], filled up with the last."""
        n_tiles = -(-len(self.draws) // TILE)
        places = np.minimum(np.arange(n_tiles * TILE), len(self.draws) - 1)
        tiles = self.draws[places].reshape(n_tiles, TILE, self.draws.shape[1])
        return np.ascontiguousarray(tiles.transpose(0, 2, 1))

    @cached_property
    def _reach(self) -> Floats:
        return np.array([self.draws.min(axis=0), self.draws.max(axis=0)])

    @cached_property
    def _slack(self) -> float:
        """How far a margin can be from the exact sum, and probabilities from the library's."""
        largest = sum(float(np.abs(tree.values).max()) for tree in self.forest.trees)
        largest += float(np.abs(self.forest.start).sum() + np.abs(self.forest.bias).sum())
        unit = 2.0**-24 if self.forest.single else 2.0**-53
        return self.spare + ROUNDING + 2.0 * unit * (len(self.forest.trees) + 4) * largest

    def _linked(self, sums: Floats) -> Floats:
        formula = self._formula
        margins = sums / formula.divisor + formula.bias
        if not formula.logistic:
            return margins
        shares = linked(self.forest.link, margins.reshape(-1, 1))[:, self.place]
        return np.asarray(shares.reshape(sums.shape))

    def _fill(self, points: Floats, threshold: float, sums: Floats) -> tuple[Integers, Integers]:
        decided, seen = np.zeros(len(points), np.int64), np.zeros(len(points), np.int64)
        _fill_around(
            self.forest.stack.arrays,
            self.forest.stack.sets,
            Cut.of(len(self.forest.trees)),
            self._formula,
            np.ascontiguousarray(points, np.float64),
            self._tiles,
            self._reach,
            threshold,
            self._slack,
            sums,
            decided,
            seen,
        )
        return decided, seen


def _above(likely: Floats, threshold: float) -> Booleans:
    return np.asarray(likely.mean(axis=1) - likely.std(axis=1) > threshold)


@compiled
def _fill_around(
    trees: Any,
    sets: Any,
    cut: Any,
    formula: Any,
    points: Any,
    tiles: Any,
    reach: Any,
    threshold: float,
    slack: float,
    sums: Any,
    decided: Any,
    seen: Any,
) -> None:
    """Fill sums [points, draws], for a point until it is decided: 1 is above, -1 is not.

    With a threshold of NaN nothing is decided, and all sums are filled.
    """
    count, judged = sums.shape[1], threshold == threshold
    tile, own = aligned_zeros((points.shape[1] * TILE,), points), aligned_zeros((TILE,), points)
    bits, likely = aligned_zeros((TILE,), cut.others), np.empty(TILE)
    ends = np.empty((2, points.shape[1]))
    for p in range(len(points)):
        for f in range(points.shape[1]):
            ends[0, f], ends[1, f] = points[p, f] + reach[0, f], points[p, f] + reach[1, f]
        low, high = _cut_down(trees, sets, formula, points[p], ends, cut)
        low, high = probability(formula, low), probability(formula, high)
        low, high = min(low, high), max(low, high)
        total = squares = 0.0
        for k in range(len(tiles)):
            if judged:
                decided[p] = _decision(seen[p], count, total, squares, low, high, threshold, slack)
                if decided[p] != 0:
                    break
            for f in range(points.shape[1]):
                for r in range(TILE):
                    tile[f * TILE + r] = points[p, f] + tiles[k, f, r]
            _add_trees(trees, sets, cut, formula, tile, bits, own)
            filled = min(TILE, count - k * TILE)
            sums[p, k * TILE : k * TILE + filled] = own[:filled]
            seen[p] += filled
            if judged:
                for r in range(TILE):
                    likely[r] = probability(formula, own[r])
                for r in range(filled):
                    total += likely[r]
                    squares += likely[r] * likely[r]


@compiled
def probability(formula: Any, total: float) -> float:
    margin = total / formula.divisor + formula.bias
    found = sigmoid(margin) if formula.logistic else margin
    return 1.0 - found if formula.first else found


@compiled
def _cut_down(
    trees: Any, sets: Any, formula: Any, point: Any, ends: Any, cut: Any
) -> tuple[float, float]:
    """Fill `cut` with what lies between the ends; return the least and the most of the sum."""
    least = most = formula.start
    cut.first[0] = 0
    for tree in range(len(trees.roots)):
        low, high = _cut_tree(trees, sets, formula.column, point, ends, cut, tree)
        least, most = least + low, most + high
    return least, most


@compiled
def _cut_tree(
    trees: Any, sets: Any, column: int, point: Any, ends: Any, cut: Any, tree: int
) -> tuple[float, float]:
    waiting, numbers = cut.waiting, cut.numbers
    width, first_value = trees.widths[tree], trees.values_at[tree] + column
    split, leaf, depth, at = cut.first[tree], 0, 0, trees.roots[tree]
    low, high, start = np.inf, -np.inf, cut.first[tree]
    whole = True
    while True:
        node = trees.nodes[at]
        f, threshold = node.split >> 2, node.threshold
        if node.child == at:
            value = trees.values[first_value + trees.leaves[at] * width]
            low, high = min(low, value), max(high, value)
            if leaf < MOST_LEAVES:
                cut.values[tree * MOST_LEAVES + leaf] = value
            leaf += 1
        elif node.split & CATEGORICAL or point[f] != point[f]:
            at = node.child + goes_right(node, point[f], sets)
            continue
        elif ends[1, f] <= threshold:
            at = node.child
            continue
        elif ends[0, f] > threshold:
            at = node.child + 1
            continue
        elif leaf < MOST_LEAVES and split - start < MOST_LEAVES - 1:
            cut.columns[split], cut.thresholds[split] = f, threshold
            cut.others[split] = np.uint64(leaf)  # until its left leaves are counted
            waiting[depth, 0], waiting[depth, 1] = f, RESTORE
            numbers[depth, 0], numbers[depth, 1] = ends[0, f], ends[1, f]
            waiting[depth + 1, 0], waiting[depth + 1, 1] = node.child + 1, RIGHT
            numbers[depth + 1, 0] = split
            depth, split = depth + 2, split + 1
            ends[1, f] = threshold
            at = node.child
            continue
        else:
            whole = False
        at, depth = _next_waiting(cut, ends, depth, leaf)
        if at < 0:
            break
    if not whole:
        return _cut_nothing(trees, column, cut, tree)
    cut.n_leaves[tree], cut.first[tree + 1] = leaf, split
    return low, high


@compiled
def _next_waiting(cut: Any, ends: Any, depth: int, leaf: int) -> tuple[int, int]:
    """Return the next node that waits (-1 if none does), and how much waits behind it."""
    while depth:
        depth -= 1
        f, kind = cut.waiting[depth, 0], cut.waiting[depth, 1]
        if kind == RESTORE:
            ends[0, f], ends[1, f] = cut.numbers[depth, 0], cut.numbers[depth, 1]
            continue
        # All leaves left of the split are counted now.
        split = int(cut.numbers[depth, 0])
        cut.others[split] = _all_but(cut.others[split], leaf)
        f = cut.columns[split]
        ends[0, f] = np.nextafter(cut.thresholds[split], np.inf)
        ends[1, f] = cut.numbers[depth - 1, 1]
        return cut.waiting[depth, 0], depth
    return -1, 0


@compiled
def _all_but(start: Any, stop: int) -> Any:
    """Return all bits but those from one place up to another."""
    below = ALL_LEAVES if stop >= MOST_LEAVES else (np.uint64(1) << np.uint64(stop)) - np.uint64(1)
    return ~(below ^ ((np.uint64(1) << start) - np.uint64(1)))


@compiled
def _cut_nothing(trees: Any, column: int, cut: Any, tree: int) -> tuple[float, float]:
    """Say of a tree with too many leaves that it is not cut; return its least and most."""
    cut.n_leaves[tree], cut.first[tree + 1] = 0, cut.first[tree]
    last = len(trees.values_at) - 1
    stop = len(trees.values) if tree == last else trees.values_at[tree + 1]
    own = trees.values[trees.values_at[tree] + column : stop : trees.widths[tree]]
    return own.min(), own.max()


@compiled
def _add_trees(
    trees: Any, sets: Any, cut: Any, formula: Any, tile: Any, bits: Any, sums: Any
) -> None:
    sums[:] = formula.start
    for tree in range(len(trees.roots)):
        values, first = tree * MOST_LEAVES, cut.first[tree]
        if cut.n_leaves[tree] == 0:
            _walk(trees, sets, formula.column, tree, tile, sums)
        elif cut.n_leaves[tree] <= 2:
            # One leaf is two that are equal, below a threshold that does not matter.
            several = cut.n_leaves[tree] - 1
            threshold = cut.thresholds[first] if several else 0.0
            place = cut.columns[first] * TILE if several else 0
            left, right = cut.values[values], cut.values[values + several]
            for r in range(0, TILE, LANES):
                if trees.single[tree]:
                    kernels.add_either_rounded(sums, r, tile, place + r, threshold, left, right)
                else:
                    kernels.add_either(sums, r, tile, place + r, threshold, left, right)
        else:
            bits[:] = ALL_LEAVES
            for i in range(first, cut.first[tree + 1]):
                place, threshold, others = cut.columns[i] * TILE, cut.thresholds[i], cut.others[i]
                for r in range(0, TILE, LANES):
                    kernels.strike_above(bits, r, tile, place + r, threshold, others)
            for r in range(0, TILE, LANES):
                if trees.single[tree]:
                    kernels.add_rounded(sums, r, bits, r, cut.values, values, 1)
                else:
                    kernels.add(sums, r, bits, r, cut.values, values, 1)


@compiled
def _walk(trees: Any, sets: Any, column: int, tree: int, tile: Any, sums: Any) -> None:
    for r in range(TILE):
        at = trees.roots[tree]
        while trees.nodes[at].child != at:
            node = trees.nodes[at]
            at = node.child + goes_right(node, tile[(node.split >> 2) * TILE + r], sets)
        place = trees.values_at[tree] + trees.leaves[at] * trees.widths[tree] + column
        total = sums[r] + trees.values[place]
        sums[r] = np.float64(np.float32(total)) if trees.single[tree] else total


@compiled
def _decision(
    seen: int,
    count: int,
    total: float,
    squares: float,
    low: float,
    high: float,
    threshold: float,
    slack: float,
) -> int:
    """Return 1 if the mean minus the deviation is above a threshold for certain, -1 if not, else 0.

    Of `count` numbers, `seen` have this total and these squares; the others lie between two ends.
    """
    rest = count - seen
    if rest == 0:
        return 0
    low, high = low - slack, high + slack
    # The most: the others are all equal, as high as lets the mean grow faster than the deviation.
    equal = high
    if seen > rest:
        mean = total / seen
        spread = max(0.0, squares / seen - mean * mean)
        equal = min(high, max(low, mean + np.sqrt(count * spread / (seen - rest))))
    mean = (total + rest * equal) / count
    spread = max(0.0, (squares + rest * equal * equal) / count - mean * mean)
    if mean - np.sqrt(spread) + slack <= threshold:
        return -1
    # The least: the others are at both ends, and their squares at most on the chord.
    middle = 0.5 * (low + high)
    part = (squares - rest * low * high - 2.0 * middle * total) / count
    mean = middle - np.sqrt(max(0.0, 0.5 * (middle * middle + part)))
    mean = min(max(mean, (total + rest * low) / count), (total + rest * high) / count)
    spread = max(0.0, part + 2.0 * middle * mean - mean * mean)
    if mean - np.sqrt(spread) - slack > threshold:
        return 1
    return 0
