"""The linear programmes of a step: the shortest change that networks, taken as linear, accept."""

from __future__ import annotations

from typing import Any

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.datasets.few_columns import LOOKED_AT_COLUMNS, WIDE
from changeproof.methods.search.dual_simplex import OPTIMAL, solve
from changeproof.model import Floats, Integers

MOST_PIVOTS = 400


def columns_that_move(factuals: Floats, rows: Floats, slopes: Floats, weights: Floats) -> Integers:
    """Return which columns a linear programme may change [people, columns]: all of them.

    On a wide table, those that have changed already, and of the others those that move the networks
    most for their length.
    """
    people, columns = factuals.shape
    if columns <= WIDE:
        return np.tile(np.arange(columns), (people, 1))
    with np.errstate(divide="ignore"):
        steep = np.where(weights > 0.0, np.abs(slopes).mean(axis=1) / weights, 0.0)
    steep[rows != factuals] = np.inf
    most = np.argsort(-steep, axis=1, kind="stable")[:, :LOOKED_AT_COLUMNS]
    return np.sort(most, axis=1)


@compiled
def solve_all(
    factuals: Any,
    rows: Any,
    logits: Any,
    slopes: Any,
    places: Any,
    weights: Any,
    low: Any,
    high: Any,
    regions: Any,
    margin: float,
    penalty: float,
) -> None:
    """Replace every row, in place, by the answer of its linear programme.

    `places` [people, columns] are the columns that may change; the others stay. A change is a part
    up and a part down, each counted in distance, and begins at what is nearest to the person inside
    the trust region. The last variable is what all networks may lack.
    """
    n_people, n_networks, _ = slopes.shape
    n_columns = places.shape[1]
    table = np.empty((n_networks, 2 * n_columns + 1))
    starts, origin = np.empty(n_networks), np.empty(n_columns)
    capacities = np.empty(2 * n_columns + 1)
    for p in range(n_people):
        here, own, which = rows[p], factuals[p], places[p]
        for j in range(n_columns):
            c = which[j]
            least = max(low[p, c], here[c] - regions[p])
            most = min(high[p, c], here[c] + regions[p])
            origin[j] = min(max(own[c], least), most)
            # Beyond what a person has lies no shorter change.
            up = most - origin[j] if origin[j] >= own[c] else 0.0
            down = origin[j] - least if origin[j] <= own[c] else 0.0
            # What has no weight (a constant column) does not move.
            capacities[2 * j] = max(up, 0.0) * weights[c]
            capacities[2 * j + 1] = max(down, 0.0) * weights[c]
        capacities[2 * n_columns] = np.inf
        for i in range(n_networks):
            starts[i] = logits[p, i] - margin
            for j in range(n_columns):
                c = which[j]
                starts[i] += slopes[p, i, c] * (origin[j] - here[c])
                table[i, 2 * j] = slopes[p, i, c] / weights[c] if weights[c] > 0.0 else 0.0
                table[i, 2 * j + 1] = -table[i, 2 * j]
            table[i, 2 * n_columns] = 1.0 / penalty
        status, values, _ = solve(table, starts, capacities, MOST_PIVOTS)
        if status == OPTIMAL:
            for j in range(n_columns):
                c = which[j]
                change = values[2 * j] - values[2 * j + 1]
                here[c] = origin[j] + (change / weights[c] if weights[c] > 0.0 else 0.0)
