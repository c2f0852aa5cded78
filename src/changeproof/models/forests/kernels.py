"""Compiled evaluation of trees.

There are two ways through a tree, with the same digits. `walk` goes from node to node, a few rows
at once. `score` goes through no tree at all: it takes one feature after the other and, for every
split that a row does not go left at, strikes out the leaves to the left of that split. The first
leaf that is left is the row's leaf (QuickScorer, Lucchese et al. 2015). Leaves are bits, so trees
may have 64 of them, and rows lie in lanes. Sums go over the trees in their order either way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from changeproof.arithmetic.compiling import compiled
from changeproof.arithmetic.lanes import aligned_zeros

# One node in 16 bytes. Children lie side by side, `child` is the left one; a leaf is its own child,
# and never left. `split` is feature * 4 + flags; the threshold of a categorical split is the number
# of its set.
NODE = np.dtype([("threshold", "f8"), ("child", "i4"), ("split", "i4")])
MISSING_RIGHT, CATEGORICAL = 1, 2
LANES = 8
# Rows that `score` and `walk` take at once, and trees whose bits `score` keeps at once.
TILE, WALKED, CHUNK = 32, 24, 128
# Rows that walk through a tree before any walks through the next.
STAYING = 2048
MOST_LEAVES = 64
ALL_LEAVES = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
MOST_CODES = 2.0**31

DOUBLES = ir.VectorType(ir.DoubleType(), LANES)
SINGLES = ir.VectorType(ir.FloatType(), LANES)
WORDS = ir.VectorType(ir.IntType(64), LANES)


def _spread(builder: Any, number: Any, vector: Any) -> Any:
    undefined, index = ir.Constant(vector, ir.Undefined), ir.IntType(32)
    one = builder.insert_element(undefined, number, index(0))
    places = ir.Constant(ir.VectorType(index, LANES), [0] * LANES)
    return builder.shuffle_vector(one, undefined, places)


def _pointer(context: Any, builder: Any, kind: Any, array: Any, index: Any, wanted: Any) -> Any:
    """Return the address of an element of a vector."""
    given = context.make_array(kind)(context, builder, array)
    found = cgutils.get_item_pointer(context, builder, kind, given, [index], wraparound=False)
    return builder.bitcast(found, wanted.as_pointer())


def _strike_out(compare: str) -> Any:
    """Make an operation that takes leaves from lanes whose numbers lie above a threshold."""

    def operation(
        typing_context: Any, bits: Any, i: Any, numbers: Any, j: Any, threshold: Any, left: Any
    ) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = _pointer(context, builder, bits, arguments[0], arguments[1], WORDS)
            given = _pointer(context, builder, numbers, arguments[2], arguments[3], DOUBLES)
            before, rows = builder.load(place, align=8), builder.load(given, align=8)
            right = getattr(builder, compare)(">", rows, _spread(builder, arguments[4], DOUBLES))
            after = builder.and_(before, _spread(builder, arguments[5], WORDS))
            builder.store(builder.select(right, after, before), place, align=8)
            return context.get_dummy_value()

        given = bits, types.intp, numbers, types.intp, types.float64, types.uint64
        return types.void(*given), code

    return intrinsic(operation)


def _add_leaves(rounded: bool) -> Any:
    """Make an operation that adds, per lane, the value of the first leaf that is left."""

    def operation(
        typing_context: Any, totals: Any, i: Any, bits: Any, j: Any, values: Any, k: Any, width: Any
    ) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            sums = _pointer(context, builder, totals, arguments[0], arguments[1], DOUBLES)
            words = _pointer(context, builder, bits, arguments[2], arguments[3], WORDS)
            first = _pointer(context, builder, values, arguments[4], arguments[5], ir.DoubleType())
            flag, index = ir.IntType(1), ir.IntType(32)
            count = ir.FunctionType(WORDS, [WORDS, flag])
            zeros = cgutils.get_or_insert_function(builder.module, count, "llvm.cttz.v8i64")
            leaves = builder.call(zeros, [builder.load(words, align=8), ir.Constant(flag, 1)])
            leaves = builder.mul(leaves, _spread(builder, arguments[6], WORDS))
            found = ir.Constant(DOUBLES, ir.Undefined)
            for lane in range(LANES):
                place = builder.gep(first, [builder.extract_element(leaves, index(lane))])
                value = builder.load(place, align=8)
                found = builder.insert_element(found, value, index(lane))
            total = builder.fadd(builder.load(sums, align=8), found)
            if rounded:
                total = builder.fpext(builder.fptrunc(total, SINGLES), DOUBLES)
            builder.store(total, sums, align=8)
            return context.get_dummy_value()

        given = totals, types.intp, bits, types.intp, values, types.intp, types.intp
        return types.void(*given), code

    return intrinsic(operation)


def _add_either(rounded: bool) -> Any:
    """Make an operation that adds, per lane, one of two numbers: the second above a threshold."""

    def operation(
        typing_context: Any,
        totals: Any,
        i: Any,
        numbers: Any,
        j: Any,
        threshold: Any,
        left: Any,
        right: Any,
    ) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            sums = _pointer(context, builder, totals, arguments[0], arguments[1], DOUBLES)
            given = _pointer(context, builder, numbers, arguments[2], arguments[3], DOUBLES)
            limit, low, high = (_spread(builder, each, DOUBLES) for each in arguments[4:])
            above = builder.fcmp_ordered(">", builder.load(given, align=8), limit)
            total = builder.fadd(builder.load(sums, align=8), builder.select(above, high, low))
            if rounded:
                total = builder.fpext(builder.fptrunc(total, SINGLES), DOUBLES)
            builder.store(total, sums, align=8)
            return context.get_dummy_value()

        double = types.float64
        return types.void(totals, types.intp, numbers, types.intp, double, double, double), code

    return intrinsic(operation)


# A missing number goes left in the first, right in the second.
strike_above: Any = _strike_out("fcmp_ordered")
strike_above_or_missing: Any = _strike_out("fcmp_unordered")
add: Any = _add_leaves(False)
# In float32: a sum of two of them, rounded from float64, is the sum that float32 gives.
add_rounded: Any = _add_leaves(True)
add_either: Any = _add_either(False)
add_either_rounded: Any = _add_either(True)


@compiled
def goes_right(node: Any, x: float, sets: Any) -> bool:
    if node.split & CATEGORICAL:
        return not in_set(sets, int(node.threshold), x)
    # Without a branch, of which a processor could only guess the outcome.
    return bool((x > node.threshold) | ((x != x) & ((node.split & MISSING_RIGHT) != 0)))


@compiled
def in_set(sets: Any, number: int, x: float) -> bool:
    """Return whether a set, [missing, any other code, code 0, code 1, ...], has a code."""
    start, stop = sets.starts[number], sets.starts[number + 1]
    if x != x:
        return bool(sets.members[start])
    if x < 0.0 or x >= MOST_CODES or start + 2 + int(x) >= stop:
        return bool(sets.members[start + 1])
    return bool(sets.members[start + 2 + int(x)])


@compiled
def walk(trees: Any, sets: Any, rows: Any, totals: Any) -> None:
    """Add what the leaves of rows are worth to totals [slots, rows].

    A tree stays in the cache while many rows go through it.
    """
    at = np.empty(WALKED, np.uint64)
    for first in range(0, len(rows), STAYING):
        block, sums = rows[first : first + STAYING], totals[:, first : first + STAYING]
        plain = len(sets.members) == 0 and not has_missing(block)
        for tree in range(len(trees.roots)):
            slot, width, single = trees.slots[tree], trees.widths[tree], trees.single[tree]
            for begin in range(0, len(block), WALKED):
                some = block[begin : begin + WALKED]
                find_leaves(trees, sets, tree, some, plain, at)
                for r in range(len(some)):
                    start = trees.values_at[tree] + trees.leaves[at[r]] * width
                    for k in range(width):
                        total = sums[slot + k, begin + r] + trees.values[start + k]
                        rounded = np.float64(np.float32(total)) if single else total
                        sums[slot + k, begin + r] = rounded


@compiled
def has_missing(rows: Any) -> bool:
    missing = False
    for row in rows:
        for x in row:
            missing |= x != x
    return missing


@compiled
def find_leaves(trees: Any, sets: Any, tree: int, rows: Any, plain: bool, at: Any) -> None:
    """Fill in the leaves of a few rows; `plain` if no number is missing or a category.

    Places are unsigned: of others it would be asked whether they count from the end.
    """
    nodes, count = trees.nodes, np.uint64(len(rows))
    at[:count] = np.uint64(trees.roots[tree])
    moved = np.uint64(1)
    while moved != 0:
        moved = np.uint64(0)
        # The threshold of a leaf is infinite, and it is its own left child.
        if plain:
            for r in range(count):
                node = nodes[at[r]]
                right = rows[r, np.uint64(node.split >> 2)] > node.threshold
                place = np.uint64(node.child) + np.uint64(right)
                moved |= place ^ at[r]
                at[r] = place
        else:
            for r in range(count):
                node = nodes[at[r]]
                right = goes_right(node, rows[r, np.uint64(node.split >> 2)], sets)
                place = np.uint64(node.child) + np.uint64(right)
                moved |= place ^ at[r]
                at[r] = place


@compiled
def score(trees: Any, splits: Any, sets: Any, rows: Any, totals: Any) -> None:
    """Do what `walk` does, for trees of at most 64 leaves."""
    n_features, n_slots = rows.shape[1], totals.shape[1]
    tile = aligned_zeros((n_features * TILE,), rows)
    bits = aligned_zeros((min(CHUNK, len(trees.roots)) * TILE,), splits.others)
    sums = aligned_zeros((n_slots * TILE,), rows)
    for start in range(0, len(rows), TILE):
        count = min(TILE, len(rows) - start)
        width = (count + LANES - 1) // LANES * LANES
        for r in range(width):
            row = rows[start + min(r, count - 1)]
            for f in range(n_features):
                tile[f * TILE + r] = row[f]
        for slot in range(n_slots):
            for r in range(width):
                sums[slot * TILE + r] = totals[start + min(r, count - 1), slot]
        for first in range(0, len(trees.roots), CHUNK):
            stop = min(len(trees.roots), first + CHUNK)
            bits[: (stop - first) * TILE] = ALL_LEAVES
            strike_splits(splits, sets, first, tile, bits, width)
            for tree in range(first, stop):
                add_tree(trees, tree, bits, (tree - first) * TILE, sums, width)
        for slot in range(n_slots):
            for r in range(count):
                totals[start + r, slot] = sums[slot * TILE + r]


@compiled
def strike_splits(splits: Any, sets: Any, first: int, tile: Any, bits: Any, width: int) -> None:
    """Strike out leaves of a chunk of trees, the first of which is given."""
    codes, chunk = np.empty(TILE), first // CHUNK
    for f in range(len(tile) // TILE):
        start, place = splits.starts[chunk, f], f * TILE
        stop = splits.starts[chunk, f + 1]
        while start < stop and splits.flags[start] & CATEGORICAL:
            for r in range(width):
                inside = in_set(sets, int(splits.thresholds[start]), tile[place + r])
                codes[r] = 0.0 if inside else 1.0
            strike_tile(splits, start, 0.5, first, codes, 0, bits, width)
            start += 1
        largest, missing = tile[place], False
        for r in range(width):
            x = tile[place + r]
            largest = x if x > largest else largest
            missing |= x != x
        for i in range(start, stop):
            threshold = splits.thresholds[i]
            if missing and splits.flags[i] & MISSING_RIGHT:
                at = (splits.trees[i] - first) * TILE
                for r in range(0, width, LANES):
                    strike_above_or_missing(
                        bits, at + r, tile, place + r, threshold, splits.others[i]
                    )
            elif largest > threshold or missing:
                strike_tile(splits, i, threshold, first, tile, place, bits, width)
            else:  # and so for all that follow, which are sorted
                break


@compiled
def strike_tile(
    splits: Any,
    i: int,
    threshold: float,
    first: int,
    numbers: Any,
    place: int,
    bits: Any,
    width: int,
) -> None:
    at, others = (splits.trees[i] - first) * TILE, splits.others[i]
    for r in range(0, width, LANES):
        strike_above(bits, at + r, numbers, place + r, threshold, others)


@compiled
def add_tree(trees: Any, tree: int, bits: Any, place: int, sums: Any, width: int) -> None:
    """Add what the leaves of a tile of rows are worth."""
    slot, outputs, start = trees.slots[tree], trees.widths[tree], trees.values_at[tree]
    for k in range(outputs):
        for r in range(0, width, LANES):
            to = (slot + k) * TILE + r
            if trees.single[tree]:
                add_rounded(sums, to, bits, place + r, trees.values, start + k, outputs)
            else:
                add(sums, to, bits, place + r, trees.values, start + k, outputs)


@compiled
def lay_out(
    feature: Any, threshold: Any, left: Any, right: Any, flags: Any, starts: Any, arrays: Any
) -> None:
    """Put the nodes of trees so that children lie side by side, and count leaves from the left.

    Nodes are given tree by tree, the root first; children are counted within their tree, and a leaf
    has none (-1). `arrays` are those to fill: nodes, leaves, given (which node it was), and per
    node of a tree of at most 64 leaves, bits of the leaves that are not left of its split.
    """
    nodes, leaves, given, others = arrays
    waiting = np.empty(len(feature), np.int64)
    for tree in range(len(starts) - 1):
        start, stop = starts[tree], starts[tree + 1]
        given[start], free, leaf, depth = start, start + 1, 0, 1
        waiting[0] = start
        while depth:
            depth -= 1
            place = waiting[depth]
            old = given[place]
            if left[old] < 0:
                nodes[place].threshold, nodes[place].child, nodes[place].split = np.inf, place, 0
                leaves[place] = leaf
                leaf += 1
                continue
            nodes[place].threshold, nodes[place].child = threshold[old], free
            nodes[place].split = feature[old] * 4 + flags[old]
            given[free], given[free + 1] = start + left[old], start + right[old]
            waiting[depth], waiting[depth + 1] = free + 1, free
            depth, free = depth + 2, free + 2
        # Children come after their parents: the first leaf of a node is that of its left child.
        for place in range(stop - 1, start - 1, -1):
            child = nodes[place].child
            if child != place:
                leaves[place] = leaves[child]
                if leaf <= MOST_LEAVES:
                    below = (np.uint64(1) << np.uint64(leaves[child + 1])) - np.uint64(1)
                    before = (np.uint64(1) << np.uint64(leaves[child])) - np.uint64(1)
                    others[place] = ALL_LEAVES ^ (below ^ before)
