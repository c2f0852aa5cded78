"""Linear programmes, solved with HiGHS, and what their minimum is at least.

HiGHS runs with one thread and a fixed seed, so that its answers are the same wherever it runs.

What the minimum of a relaxation is at least is computed from the solver's multipliers in our own
arithmetic. Let columns x lie between bounds, and sums A x between limits. For any multipliers d,
one per row, costs.x = (costs - d A).x + d.(A x). The second part is at least d times the lower
limits where d is positive and d times the upper limits where it is negative; the first is at least
what every column can make of its own at one of its ends. So every d gives a bound, and those of an
optimal solver give the minimum itself. Nothing is taken from the solver but d: where d is off, the
bound is low, but never wrong. The error of the sum is subtracted (see `bounds.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import highspy
import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.certificates.bounds import TINY, roundings
from changeproof.model import Floats

Status = highspy.HighsModelStatus


@dataclass
class Programme:
    """A minimisation under construction: columns, and rows that bound sums over columns."""

    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    offset: float = 0.0
    starts: list[int] = field(default_factory=lambda: [0])
    columns: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    at_least: list[float] = field(default_factory=list)
    at_most: list[float] = field(default_factory=list)

    def add_column(self, lower: float, upper: float, *, cost: float = 0.0) -> int:
        self.lower.append(lower)
        self.upper.append(upper)
        self.costs.append(cost)
        return len(self.costs) - 1

    def add_row(
        self,
        columns: Sequence[int],
        values: Sequence[float],
        *,
        at_least: float = -np.inf,
        at_most: float = np.inf,
    ) -> None:
        """Bound the sum of these columns, each times its value."""
        self.columns += columns
        self.values += values
        self.starts.append(len(self.columns))
        self.at_least.append(at_least)
        self.at_most.append(at_most)

    def solver(self) -> highspy.Highs:
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = len(self.costs), len(self.at_most)
        model.col_cost_ = np.array(self.costs)
        model.col_lower_, model.col_upper_ = np.array(self.lower), np.array(self.upper)
        model.row_lower_, model.row_upper_ = np.array(self.at_least), np.array(self.at_most)
        model.offset_ = self.offset
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = np.array(self.starts, dtype=np.int32)
        model.a_matrix_.index_ = np.array(self.columns, dtype=np.int32)
        model.a_matrix_.value_ = np.array(self.values)
        solver = highspy.Highs()  # type: ignore[no-untyped-call]
        for name, value in {"output_flag": False, "threads": 1, "random_seed": 0}.items():
            solver.setOptionValue(name, value)
        solver.passModel(model)
        return solver


class Solution(NamedTuple):
    """What is known of the minimum of a programme.

    `bound` lies below it for certain: it does not rest on the solver (see `lower_bound`). It is
    minus infinity where HiGHS fails, and infinite where there is nothing to minimise over. `values`
    of columns and `multipliers` of rows are HiGHS's; there are none where it found no solution.
    """

    bound: float
    values: Floats | None
    multipliers: Floats


class Relaxation:
    """A programme that is solved again and again with other bounds of its columns.

    Every run goes on from where the last one ended.
    """

    def __init__(self, programme: Programme) -> None:
        self._solver = programme.solver()
        self._costs, self._offset = np.array(programme.costs, np.float64), programme.offset
        self._ends = np.array([programme.lower, programme.upper], np.float64)
        self._rows = (
            np.array(programme.starts, np.int64),
            np.array(programme.columns, np.int64),
            np.array(programme.values, np.float64),
            np.array([programme.at_least, programme.at_most], np.float64),
        )

    def restrict(self, column: int, lower: float, upper: float) -> None:
        self._ends[:, column] = lower, upper
        self._solver.changeColBounds(column, lower, upper)

    def minimum(self) -> Solution:
        """Minimise, and prove a lower bound on the minimum."""
        status, none = run(self._solver), np.empty(0)
        if status == Status.kInfeasible:
            _, exists, ray = self._solver.getDualRay()  # type: ignore[attr-defined]
            # Multipliers that prove of costs of nought that they are above nought.
            free = 0.0 * self._costs, 0.0, self._ends, *self._rows
            nothing = exists and lower_bound(*free, np.array(ray)) > 0.0
            return Solution(np.inf if nothing else -np.inf, None, none)
        if status != Status.kOptimal:
            return Solution(-np.inf, None, none)
        solution = self._solver.getSolution()
        multipliers = np.array(solution.row_dual)
        bound = lower_bound(self._costs, self._offset, self._ends, *self._rows, multipliers)
        return Solution(float(bound), np.array(solution.col_value), multipliers)


def run(solver: highspy.Highs) -> highspy.HighsModelStatus | None:
    """Run a solver and return the status of its model; None where it could not run."""
    if solver.run() != highspy.HighsStatus.kError:
        return solver.getModelStatus()
    # Either it was this model, or HiGHS does not run here at all.
    simple = Programme(lower=[0.0], upper=[1.0], costs=[1.0]).solver()
    if simple.run() == highspy.HighsStatus.kError:
        raise RuntimeError(
            "HiGHS could not run; all that use it in one process must agree on its threads (1)"
        )
    return None


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
    """Return a lower bound on the costs of all solutions; minus infinity where there is none.

    Ends of columns and rows are [2, columns] and [2, rows]; those of columns are finite. `starts`,
    `columns` and `values` are the matrix, row by row. Any `multipliers` will do, one per row.
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
