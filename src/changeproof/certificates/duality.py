"""What a minimum is at least, from the solver's multipliers and in our own arithmetic.

Let columns x lie between bounds, and sums A x between limits. For any multipliers d, one per row,
costs.x = (costs - d A).x + d.(A x). The second part is at least d times the lower limits where d
is positive and d times the upper limits where it is negative; the first is at least what every
column can make of its own at one of its ends. So every d gives a bound, and those of an optimal
solver give the minimum itself. Nothing is taken from the solver but d: where d is off, the bound
is low, but never wrong. The error of the sum is subtracted (see `rounding.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.certificates.rounding import TINY, roundings


@compiled
def lower_bound(
    costs: Any,
    offset: float,
    column_ends: Any,
    starts: Any,
    columns: Any,
    values: Any,
    row_ends: Any,
    multipliers: Any,
) -> float:
    """Return a number that the costs of no solution lie below, minus infinity if there is none.

    Parameters
    ----------
    costs, offset
        What is minimised: costs per column, plus the offset.
    column_ends, row_ends
        Lower and upper ends [2, columns] and [2, rows]; those of columns are finite.
    starts, columns, values
        The matrix, row by row: places in `columns` and `values` where rows start.
    multipliers
        Any numbers, one per row.
    """
    rates, sizes = costs.copy(), np.abs(costs)
    total, size = offset, abs(offset)
    for i in range(len(multipliers)):
        price = multipliers[i]
        end = row_ends[0 if price > 0.0 else 1, i]
        if price == 0.0 or not np.isfinite(end):
            continue
        total += price * end
        size += abs(price * end)
        for place in range(starts[i], starts[i + 1]):
            part = price * values[place]
            rates[columns[place]] -= part
            sizes[columns[place]] += abs(part)
    for j in range(len(rates)):
        low, high = column_ends[0, j], column_ends[1, j]
        total += rates[j] * (low if rates[j] > 0.0 else high)
        size += sizes[j] * max(abs(low), abs(high))
    bound = total - (roundings(len(rates) + len(multipliers)) * size + TINY)
    return bound if np.isfinite(bound) else -np.inf
