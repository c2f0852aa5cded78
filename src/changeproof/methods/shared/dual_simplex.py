"""A small dense linear programme, solved by the dual simplex method.

Minimise the sum of the variables, each times its cost, subject to rows that must not be negative:

    value[i] = start[i] + sum over j of slope[i, j] * variable[j] >= 0,
    0 <= variable[j] <= capacity[j].

No cost is negative (by default all are one), so that doing nothing is dual feasible and the dual
simplex method needs no first phase. Tens of variables and rows take tens of microseconds, a
fraction of the call into a general solver; the tests compare every answer with HiGHS.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.arithmetic.functions import fma
from changeproof.arithmetic.lanes import BYTES, aligned_zeros, load, load_row, spread, store_row

FEASIBILITY = 1e-9
PIVOT = 1e-10
OPTIMAL, INFEASIBLE, EXHAUSTED = 0, 1, 2
LANES = BYTES // 8


@compiled
def solve(slopes: Any, starts: Any, capacities: Any, max_pivots: int) -> tuple[int, Any, Any]:
    """Return the status, the variables and the dual price of every row; all costs are one."""
    return solve_at_costs(np.ones(len(capacities)), slopes, starts, capacities, max_pivots)


@compiled
def solve_at_costs(
    costs_of: Any, slopes: Any, starts: Any, capacities: Any, max_pivots: int
) -> tuple[int, Any, Any]:
    """Return the same for costs that are not negative."""
    n_rows, n_variables = slopes.shape
    # basic = right - table @ nonbasic, with every nonbasic variable at zero; a variable that
    # sits at its capacity is replaced by its complement.
    # Plain loops throughout: they compile several times faster than array expressions.
    # Columns are padded with zeros to whole lanes; a short rest of a loop takes longer than these.
    table = aligned_zeros((n_rows, -(-n_variables // LANES) * LANES), starts)
    right, basic = np.empty(n_rows), np.empty(n_rows, np.int64)
    costs, nonbasic = np.empty(n_variables), np.empty(n_variables, np.int64)
    limits = np.empty(n_variables + n_rows)
    complemented = np.zeros(n_variables + n_rows, np.bool_)
    for j in range(n_variables):
        costs[j], nonbasic[j], limits[j] = costs_of[j], j, capacities[j]
    for i in range(n_rows):
        right[i], basic[i], limits[n_variables + i] = starts[i], n_variables + i, np.inf
        for j in range(n_variables):
            table[i, j] = -slopes[i, j]
    pivot = aligned_zeros((table.shape[1],), starts)
    status = EXHAUSTED
    for _ in range(max_pivots):
        row = _leaving(right, basic, limits)
        if row < 0:
            status = OPTIMAL
            break
        if right[row] > 0:
            right[row] = limits[basic[row]] - right[row]
            for j in range(n_variables):
                table[row, j] = -table[row, j]
            complemented[basic[row]] = not complemented[basic[row]]
        column = _entering(table, row, costs, nonbasic, limits)
        if column < 0:
            status = INFEASIBLE
            break
        _pivot(table, right, costs, pivot, row, column)
        basic[row], nonbasic[column] = nonbasic[column], basic[row]
    values = np.zeros(n_variables)
    for i in range(n_rows):
        if basic[i] < n_variables:
            values[basic[i]] = right[i]
    for j in range(n_variables):
        if complemented[j]:
            values[j] = limits[j] - values[j]
    prices = np.zeros(n_rows)
    for column in range(n_variables):
        if nonbasic[column] >= n_variables:
            prices[nonbasic[column] - n_variables] = costs[column]
    return status, values, prices


@compiled
def _leaving(right: Any, basic: Any, limits: Any) -> int:
    """Return the row that violates its bounds most, or -1."""
    worst, found = FEASIBILITY, -1
    for i in range(len(right)):
        violation = max(-right[i], right[i] - limits[basic[i]])
        if violation > worst:
            worst, found = violation, i
    return found


@compiled
def _entering(table: Any, row: int, costs: Any, nonbasic: Any, limits: Any) -> int:
    """Return the column that keeps all costs non-negative, or -1."""
    best, found = np.inf, -1
    for j in range(len(costs)):
        value = table[row, j]
        if value < -PIVOT and limits[nonbasic[j]] > FEASIBILITY:
            ratio = costs[j] / -value
            if ratio < best - 1e-12 or (ratio < best + 1e-12 and value < table[row, found]):
                best, found = min(best, ratio), j
    return found


@compiled
def _pivot(table: Any, right: Any, costs: Any, pivot: Any, row: int, column: int) -> None:
    """Exchange the row's variable for the column's; `pivot` [columns] is scratch."""
    n_rows, n_columns = table.shape
    inverse = 1.0 / table[row, column]
    for j in range(n_columns):
        pivot[j] = table[row, j] * inverse
    pivot[column] = inverse
    right[row] *= inverse
    for i in range(n_rows):
        factor = table[i, column]
        if factor == 0.0:
            continue
        if i == row:
            for j in range(n_columns):
                table[i, j] = pivot[j]
            continue
        right[i] -= factor * right[row]
        table[i, column] = 0.0
        minus = spread(-factor)
        for j in range(0, n_columns, LANES):
            store_row(table, i, j, fma(minus, load(pivot, j), load_row(table, i, j)))
    factor = costs[column]
    costs[column] = 0.0
    for j in range(len(costs)):
        cost = fma(-factor, pivot[j], costs[j])
        costs[j] = cost if cost > 0.0 else 0.0
