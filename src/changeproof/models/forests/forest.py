"""Forests of decision trees, as one set of arrays.

Every split is one comparison in float64, whatever the library compares: `x <= threshold` goes left.
Where a library rounds x to float32 first, or takes `<`, the threshold is moved to the last float64
that goes left there. So thresholds are the only numbers at which a forest changes its mind.

Rows are float64, with the model's own columns in its own order. NaN is a missing value. A category
is its code: its place in `categories`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.utils.extmath import softmax

from changeproof.arithmetic.functions import exponentials
from changeproof.errors import InputError
from changeproof.model import Booleans, Floats, Integers
from changeproof.models.forests import kernels
from changeproof.models.forests.kernels import CATEGORICAL, CHUNK, MISSING_RIGHT, MOST_LEAVES, NODE

# From so many rows on, `kernels.score` is faster than `kernels.walk`.
MANY_ROWS = 2


class Link(Enum):
    """How margins become probabilities, each with the digits of a library."""

    NONE = "the margin itself: a number, or probabilities already"
    LOGISTIC = "one margin, the log odds of the second of two classes"
    LOGISTIC_SINGLE = "one margin, in float32"
    LOGISTIC_EACH = "a margin per class, each against all others"
    SOFTMAX = "a margin per class, as scikit-learn adds up"
    SOFTMAX_IN_ORDER = "a margin per class, added up from the first to the last"
    SOFTMAX_SINGLE = "a margin per class, in float32"


class Tree(NamedTuple):
    """The nodes of one tree, the root first.

    Children are places in these arrays, -1 in a leaf. Categorical splits have the number of a set
    of codes that go left, others -1. `values` are [nodes, width] and count in leaves.
    """

    feature: npt.NDArray[np.integer[Any]]
    threshold: Floats
    left: npt.NDArray[np.integer[Any]]
    right: npt.NDArray[np.integer[Any]]
    missing_left: Booleans
    values: Floats
    categorical: Integers | None = None


class CodeSet(NamedTuple):
    """The categories that go left at a split: their codes, and whether missing and others do."""

    codes: Booleans
    missing: bool
    other: bool


class Trees(NamedTuple):
    """Trees for the kernels: nodes as laid out, the number of every leaf, the values of leaves.

    A tree adds `widths` numbers, which start at `values_at` for its first leaf, to as many sums,
    which start at `slots`. Where `single`, sums are rounded to float32.
    """

    nodes: npt.NDArray[Any]
    leaves: npt.NDArray[np.int32]
    roots: Integers
    slots: Integers
    widths: Integers
    single: Booleans
    values: Floats
    values_at: Integers


class Splits(NamedTuple):
    """All splits of trees by chunk of trees, feature and threshold.

    `starts` are [chunks, features + 1]; `others` are bits of the leaves that a row can still reach
    if it goes right.
    """

    thresholds: Floats
    trees: Integers
    flags: Integers
    others: npt.NDArray[np.uint64]
    starts: Integers


class Sets(NamedTuple):
    """Sets of codes one after the other; see `kernels.in_set`."""

    members: Booleans
    starts: Integers


@dataclass(frozen=True, eq=False, kw_only=True)
class Forest:
    """A forest of any library.

    Parameters
    ----------
    trees
        Its trees in the order in which they are added up.
    n_features, n_outputs
        Columns that it takes, and margins that it gives.
    slots
        The first output to which each tree adds; trees of width K add to K outputs.
    start, divisor, bias
        Margins are (start + sum over the trees) / divisor + bias.
    single
        Whether the library adds up in float32.
    link
        How margins become probabilities.
    n_classes
        0 for a regression.
    decides_by_margin, half_is_second
        How the library's `predict` decides: by margins or by probabilities, and whether a tie of
        two classes goes to the second.
    sets
        The sets of its categorical splits.
    categories
        The categories of columns that have some, by code.
    """

    trees: tuple[Tree, ...]
    n_features: int
    n_outputs: int
    slots: Integers
    start: Floats
    link: Link
    n_classes: int
    divisor: float = 1.0
    bias: Floats | float = 0.0
    single: bool = False
    decides_by_margin: bool = False
    half_is_second: bool = False
    sets: tuple[CodeSet, ...] = ()
    categories: Mapping[int, tuple[Any, ...]] = field(default_factory=dict)

    @cached_property
    def stack(self) -> ForestStack:
        return ForestStack([self])

    @cached_property
    def voting(self) -> Forest | None:
        """The same trees, each of which votes for its likeliest class; of ties, for the first.

        None where the forest is no mean of several trees for two classes.
        """
        n_trees = len(self.trees)
        means = self.link is Link.NONE and self.divisor == n_trees and not self.single
        if not means or n_trees < 2 or self.n_classes != 2 or self.n_outputs != 2:
            return None
        hard = [np.eye(2)[tree.values.argmax(axis=1)] for tree in self.trees]
        trees = [tree._replace(values=v) for tree, v in zip(self.trees, hard, strict=True)]
        return replace(self, trees=tuple(trees))

    @property
    def n_leaves(self) -> int:
        return int(sum((tree.left < 0).sum() for tree in self.trees))

    def __repr__(self) -> str:
        size = f"{len(self.trees)} trees, {self.n_leaves} leaves"
        return f"Forest({size}, {self.n_features} features, {self.n_outputs} outputs)"

    def margins(self, rows: Floats) -> Floats:
        """Return the margins [rows, outputs], with the digits of the library."""
        return np.asarray(self.stack.margins(rows)[0])

    def probabilities(self, rows: Floats) -> Floats:
        """Return the probabilities [rows, classes], or of a regression its numbers [rows, 1]."""
        return linked(self.link, self.margins(rows))

    def classes(self, rows: Floats) -> Integers:
        """Return the places of the classes that the library predicts."""
        return self.decided(self.margins(rows))

    def decided(self, margins: Floats) -> Integers:
        """Return the places of the classes that the library predicts at margins [rows, outputs]."""
        if not self.n_classes:
            raise InputError("a regression has no classes")
        if self.decides_by_margin and self.n_outputs == 1:
            scores = margins[:, 0]
            return np.asarray(scores >= 0 if self.half_is_second else scores > 0, np.int64)
        by = margins if self.decides_by_margin else linked(self.link, margins)
        return np.asarray(np.argmax(by, axis=1))


def linked(link: Link, margins: Floats) -> Floats:
    """Return probabilities [rows, classes] from margins [rows, outputs]."""
    if link is Link.NONE:
        return margins
    if link is Link.LOGISTIC:
        second = expit(margins[:, 0])
    elif link is Link.LOGISTIC_SINGLE:
        found = expit(margins[:, 0].astype(np.float32))
        return np.column_stack([np.float32(1.0) - found, found]).astype(np.float64)
    elif link is Link.LOGISTIC_EACH:
        return np.asarray(expit(margins))
    elif link is Link.SOFTMAX:
        return np.asarray(softmax(margins))
    else:
        kind: Any = np.float32 if link is Link.SOFTMAX_SINGLE else np.float64
        lower = (margins - margins.max(axis=1, keepdims=True)).astype(kind)
        powers = exponentials(lower.astype(np.float64)).astype(kind)
        totals = np.zeros(len(margins))
        for column in powers.T.astype(np.float64):
            totals += column
        return np.asarray(powers / totals.astype(kind)[:, None], np.float64)
    return np.column_stack([1.0 - second, second])


class ForestStack:
    """Forests over the same columns, evaluated together.

    >>> stack = ForestStack([first, second])
    >>> stack.margins(rows).shape
    (2, len(rows), 1)
    """

    def __init__(self, forests: Sequence[Forest]) -> None:
        self.forests = tuple(forests)
        for what in ("n_features", "n_outputs"):
            if len(found := {getattr(forest, what) for forest in self.forests}) != 1:
                raise InputError(f"forests of a stack must agree in {what}; got {sorted(found)}")
        self.n_features, self.n_outputs = forests[0].n_features, forests[0].n_outputs

    def __len__(self) -> int:
        return len(self.forests)

    def __getitem__(self, position: int) -> Forest:
        return self.forests[position]

    def part(self, start: int, stop: int) -> Self:
        return type(self)(self.forests[start:stop])

    def margins(self, rows: Floats) -> Floats:
        """Return the margins [forests, rows, outputs], each with the digits of its library."""
        rows = np.ascontiguousarray(rows, np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise InputError(f"expected rows of shape (n, {self.n_features}); got {rows.shape}")
        if self.splits is not None and len(rows) >= MANY_ROWS:
            totals = np.tile(self._start, (len(rows), 1))
            kernels.score(self.arrays, self.splits, self.sets, rows, totals)
        else:
            by_slot = np.repeat(self._start[:, None], len(rows), axis=1)
            kernels.walk(self.arrays, self.sets, rows, by_slot)
            totals = by_slot.T
        if self._ends is not None:
            divisors, biases = self._ends
            totals = totals / divisors + biases
        return totals.reshape(len(rows), len(self), self.n_outputs).transpose(1, 0, 2)

    def probabilities(self, rows: Floats) -> Floats:
        """Return the probabilities [forests, rows, classes]."""
        return self.linked(self.margins(rows))

    def linked(self, margins: Floats) -> Floats:
        """Return the probabilities [forests, rows, classes] at margins."""
        found: list[Any] = [None] * len(self)
        for link, members in self._by_link.items():
            own = linked(link, margins[members].reshape(-1, self.n_outputs))
            own = own.reshape(len(members), margins.shape[1], own.shape[1])
            if len(members) == len(self):
                return own
            for member, each in zip(members, own, strict=True):
                found[member] = each
        return np.stack(found)

    @cached_property
    def _by_link(self) -> dict[Link, list[int]]:
        members: dict[Link, list[int]] = {}
        for number, forest in enumerate(self.forests):
            members.setdefault(forest.link, []).append(number)
        return members

    def classes(self, rows: Floats) -> Integers:
        """Return the places of the classes that each predicts [forests, rows]."""
        margins = self.margins(rows)
        return np.stack(
            [forest.decided(own) for forest, own in zip(self.forests, margins, strict=True)]
        )

    @cached_property
    def _start(self) -> Floats:
        return np.concatenate([forest.start for forest in self.forests])

    @cached_property
    def _ends(self) -> tuple[Floats, Floats] | None:
        divisors = np.repeat([forest.divisor for forest in self.forests], self.n_outputs)
        biases = np.concatenate(
            [np.broadcast_to(forest.bias, self.n_outputs) for forest in self.forests]
        )
        return (divisors, biases) if (divisors != 1.0).any() or biases.any() else None

    @cached_property
    def sets(self) -> Sets:
        members, starts = [np.zeros(0, np.bool_)], [0]
        for one in (each for forest in self.forests for each in forest.sets):
            members.append(np.concatenate([[one.missing, one.other], one.codes]))
            starts.append(starts[-1] + 2 + len(one.codes))
        return Sets(np.concatenate(members), np.array(starts, np.int64))

    @cached_property
    def arrays(self) -> Trees:
        return self._laid_out[0]

    @cached_property
    def splits(self) -> Splits | None:
        """The splits, unless a tree has more leaves than there are bits."""
        trees, others = self._laid_out
        nodes = np.flatnonzero(trees.nodes["child"] != np.arange(len(trees.nodes)))
        if len(trees.leaves) and trees.leaves.max() >= MOST_LEAVES:
            return None
        return _splits(trees, nodes, others[nodes], self.n_features)

    @cached_property
    def _laid_out(self) -> tuple[Trees, npt.NDArray[np.uint64]]:
        trees = [tree for forest in self.forests for tree in forest.trees]
        starts = np.cumsum([0, *(len(tree.left) for tree in trees)])
        threshold = np.concatenate([tree.threshold for tree in trees])
        flags = MISSING_RIGHT * ~np.concatenate([tree.missing_left for tree in trees])
        first = 0
        for place, forest in zip(self._first_trees, self.forests, strict=True):
            for k, tree in enumerate(forest.trees, start=place):
                if tree.categorical is not None and (split := tree.categorical >= 0).any():
                    at = starts[k] + np.flatnonzero(split)
                    threshold[at] = tree.categorical[split] + first
                    flags[at] = CATEGORICAL
            first += len(forest.sets)
        size = len(threshold)
        nodes, leaves = np.empty(size, NODE), np.empty(size, np.int32)
        given, others = np.empty(size, np.int64), np.zeros(size, np.uint64)
        joined = (
            np.concatenate([getattr(tree, name) for tree in trees]).astype(np.int64)
            for name in ("feature", "left", "right")
        )
        feature, left, right = joined
        kernels.lay_out(
            feature, threshold, left, right, flags, starts, (nodes, leaves, given, others)
        )
        values, values_at = [], [0]
        for tree, start, stop in zip(trees, starts[:-1], starts[1:], strict=True):
            leaf = nodes["child"][start:stop] == np.arange(start, stop)
            own = np.empty((leaf.sum(), tree.values.shape[1]))
            own[leaves[start:stop][leaf]] = tree.values[given[start:stop][leaf] - start]
            values.append(own.ravel())
            values_at.append(values_at[-1] + own.size)
        laid_out = Trees(
            nodes,
            leaves,
            starts[:-1].astype(np.int64),
            np.concatenate(
                [forest.slots + k * self.n_outputs for k, forest in enumerate(self.forests)]
            ).astype(np.int64),
            np.array([tree.values.shape[1] for tree in trees], np.int64),
            np.repeat(
                [forest.single for forest in self.forests],
                [len(forest.trees) for forest in self.forests],
            ),
            np.concatenate(values),
            np.array(values_at[:-1], np.int64),
        )
        return laid_out, others

    @property
    def _first_trees(self) -> Integers:
        return np.cumsum([0, *(len(forest.trees) for forest in self.forests[:-1])])


def _splits(
    trees: Trees, nodes: Integers, others: npt.NDArray[np.uint64], n_features: int
) -> Splits:
    """Sort splits, and make one of equal splits of a tree."""
    tree = np.searchsorted(trees.roots, nodes, side="right") - 1
    feature, flags = trees.nodes["split"][nodes] >> 2, trees.nodes["split"][nodes] & 3
    # Categorical splits come first: a row above no threshold does not get to what follows.
    key = (trees.nodes["threshold"][nodes], tree, flags, -(flags & CATEGORICAL), feature)
    order = np.lexsort((*key[1:3], key[0], *key[3:], tree // CHUNK))
    sorted_keys = np.stack([np.asarray(part, np.float64)[order] for part in key])
    new = np.r_[True, (sorted_keys[:, 1:] != sorted_keys[:, :-1]).any(axis=0)]
    firsts = np.flatnonzero(new[: len(order)])
    merged = np.bitwise_and.reduceat(others[order], firsts) if len(firsts) else others[order]
    kept = order[firsts]
    n_chunks = (len(trees.roots) + CHUNK - 1) // CHUNK
    places = (tree // CHUNK * n_features + feature)[kept]
    ends = np.searchsorted(places, np.arange(n_chunks * n_features + 1))
    starts = np.column_stack(
        [ends[:-1].reshape(n_chunks, n_features), ends[n_features::n_features]]
    )
    return Splits(
        trees.nodes["threshold"][nodes][kept],
        tree[kept].astype(np.int64),
        flags[kept].astype(np.int64),
        merged,
        starts.astype(np.int64),
    )
