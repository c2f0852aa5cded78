"""Data and rows for forests, and the nearest row that a forest accepts."""

from __future__ import annotations

from typing import Any

import highspy
import numpy as np
import pandas as pd

from changeproof.certificates.programme import Programme, Status, run
from changeproof.model import Floats, Integers
from changeproof.models.forests.forest import Forest
from changeproof.models.forests.splits import split_points

COLUMNS = list("abcdef")
CODED = 4
CATEGORIES = [f"kind {k}" for k in range(7)]


def table(
    seed: int, n: int = 600, classes: int = 2, missing: bool = True
) -> tuple[Floats, Integers]:
    """Return rows, of which one column holds codes of categories, and labels."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(n, len(COLUMNS)))
    rows[:, CODED] = generator.integers(0, len(CATEGORIES), n)
    score = rows[:, 0] * rows[:, 1] + rows[:, 2] + 0.5 * np.sin(3 * rows[:, 3])
    score += np.isin(rows[:, CODED], [1, 4, 5]) + 0.3 * generator.normal(size=n)
    labels = np.digitize(score, np.quantile(score, np.linspace(0, 1, classes + 1)[1:-1]))
    if missing:
        rows[generator.random(rows.shape) < 0.1] = np.nan
    return rows, labels


def frame(rows: Floats) -> pd.DataFrame:
    """Return the rows with categories instead of codes."""
    found = pd.DataFrame(rows, columns=COLUMNS)
    codes = np.where(np.isnan(rows[:, CODED]), -1, rows[:, CODED]).astype(np.int64)
    found[COLUMNS[CODED]] = pd.Categorical.from_codes(codes, CATEGORIES)
    return found


def on_edges(rows: Floats, forest: Forest, seed: int, share: float = 0.3) -> Floats:
    """Return rows with numbers that lie just on one side of a split, or just on the other."""
    generator, found = np.random.default_rng(seed), rows.copy()
    for column, points in enumerate(split_points([forest])):
        edges = np.concatenate([points.last_left, points.first_right])
        if len(edges) and not points.sets:
            moved = generator.random(len(rows)) < share
            found[moved, column] = generator.choice(edges, moved.sum())
    return found


def nearest_accepted(
    forest: Forest, row: Floats, weights: Floats, *, least: float = 1e-7
) -> tuple[Floats, float] | None:
    """Return the nearest row whose only margin is at least so much, and its weighted distance.

    Exact, with HiGHS. A missing value stays missing; another category costs the column's weight.
    """
    programme, points = Programme(), split_points([forest])
    above: dict[tuple[int, float], int] = {}
    chosen: dict[tuple[int, int], int] = {}
    for column, own in enumerate(points):
        if np.isnan(row[column]):
            continue
        if own.sets:
            n_codes = len(forest.categories[column])
            for code in range(n_codes):
                cost = 0.0 if code == row[column] else weights[column]
                chosen[column, code] = programme.add_column(0, 1, cost=cost)
            columns = [chosen[column, code] for code in range(n_codes)]
            programme.add_row(columns, [1.0] * n_codes, at_least=1, at_most=1)
            continue
        _add_steps(programme, column, own.last_left, own.first_right, row, weights, above)
    binary = list(range(len(programme.costs)))
    worth: list[tuple[int, float]] = []
    for tree in forest.trees:
        _add_tree(programme, forest, tree, row, above, chosen, worth)
    needed = least - float(forest.start[0]) - float(np.sum(forest.bias))
    programme.add_row([k for k, _ in worth], [v for _, v in worth], at_least=needed)
    solver = programme.solver()
    for column in binary:
        solver.changeColIntegrality(column, highspy.HighsVarType.kInteger)
    solver.setOptionValue("mip_rel_gap", 0.0)
    solver.setOptionValue("mip_abs_gap", 1e-9)
    status = run(solver)
    if status == Status.kInfeasible:
        return None
    assert status == Status.kOptimal, status
    values = np.array(solver.getSolution().col_value)
    return _row_at(row, points, above, chosen, values), float(solver.getObjectiveValue())


def _add_steps(
    programme: Programme,
    column: int,
    last_left: Floats,
    first_right: Floats,
    row: Floats,
    weights: Floats,
    above: dict[tuple[int, float], int],
) -> None:
    """One column per split point: whether the number lies above it. Each step costs its length."""
    x = row[column]
    ups = np.where(last_left >= x, first_right - x, 0.0)
    downs = np.where(last_left < x, x - last_left, 0.0)
    before = None
    for k, threshold in enumerate(last_left):
        if threshold >= x:
            step = weights[column] * (ups[k] - (ups[k - 1] if k else 0.0))
            place = programme.add_column(0, 1, cost=step)
        else:
            last = downs[k + 1] if k + 1 < len(downs) else 0.0
            step = weights[column] * (downs[k] - last)
            place = programme.add_column(0, 1, cost=-step)
            programme.offset += step
        above[column, float(threshold)] = place
        if before is not None:  # above the next only if above this one
            programme.add_row([before, place], [1.0, -1.0], at_least=0.0)
        before = place


def _add_tree(
    programme: Programme,
    forest: Forest,
    tree: Any,
    row: Floats,
    above: dict[tuple[int, float], int],
    chosen: dict[tuple[int, int], int],
    worth: list[tuple[int, float]],
) -> None:
    leaves, waiting = [], [(0, [])]
    while waiting:
        at, path = waiting.pop()
        if tree.left[at] < 0:
            leaf = programme.add_column(0, 1)
            leaves.append(leaf)
            worth.append((leaf, float(tree.values[at, 0])))  # noqa: PD011
            for columns, signs, limit in path:  # the leaf at most as much as each condition
                programme.add_row([leaf, *columns], [1.0, *signs], at_most=limit)
            continue
        column = int(tree.feature[at])
        if np.isnan(row[column]):
            one = tree.categorical is not None and tree.categorical[at] >= 0
            left = forest.sets[tree.categorical[at]].missing if one else tree.missing_left[at]
            waiting.append((int((tree.left if left else tree.right)[at]), path))
        elif tree.categorical is not None and tree.categorical[at] >= 0:
            codes = forest.sets[tree.categorical[at]].codes
            own = [k for c, k in chosen if c == column]
            inside = [k for k in own if k < len(codes) and codes[k]]
            inside += [
                k for k in own if k >= len(codes) and forest.sets[tree.categorical[at]].other
            ]
            for child, side in ((tree.left, inside), (tree.right, sorted({*own} - {*inside}))):
                columns = [chosen[column, k] for k in side]
                waiting.append((int(child[at]), [*path, (columns, [-1.0] * len(columns), 0.0)]))
        elif not np.isfinite(tree.threshold[at]):
            waiting.append((int(tree.left[at]), path))
        else:
            place = above[column, float(tree.threshold[at])]
            waiting.append((int(tree.left[at]), [*path, ([place], [1.0], 1.0)]))
            waiting.append((int(tree.right[at]), [*path, ([place], [-1.0], 0.0)]))
    programme.add_row(leaves, [1.0] * len(leaves), at_least=1.0, at_most=1.0)


def _row_at(
    row: Floats,
    points: list[Any],
    above: dict[tuple[int, float], int],
    chosen: dict[tuple[int, int], int],
    values: Floats,
) -> Floats:
    found = row.copy()
    for (column, code), place in chosen.items():
        if values[place] > 0.5:
            found[column] = code
    for column, own in enumerate(points):
        lies_above = [
            values[above[column, float(t)]] > 0.5
            for t in own.last_left
            if (column, float(t)) in above
        ]
        if lies_above:
            count = sum(lies_above)
            if count:
                found[column] = max(found[column], own.first_right[count - 1])
            if count < len(lies_above):
                found[column] = min(found[column], own.last_left[count])
    return found
