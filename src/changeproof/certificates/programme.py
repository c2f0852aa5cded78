"""Linear and mixed-integer programmes, solved with HiGHS: the one way to it.

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
from functools import cached_property
from typing import Any, NamedTuple

import highspy
import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.certificates.bounds import TINY, roundings
from changeproof.model import Floats, Integers

Status = highspy.HighsModelStatus


class Solution(NamedTuple):
    """What is known of a minimum.

    `bound` lies below it, up to HiGHS's tolerances (minus infinity where HiGHS has none);
    `values` are the best columns found, if any were. `optimal` says that they are within the
    allowed gap, and `infeasible` that there are none. Where HiGHS fails, nothing is known.
    """

    bound: float
    values: Floats | None
    optimal: bool
    infeasible: bool


class LinearSolution(NamedTuple):
    """What is known of the minimum of a relaxation.

    `bound` lies below it for certain: it does not rest on the solver (see `lower_bound`). It is
    minus infinity where HiGHS fails, and infinite where there is nothing to minimise over. `values`
    of columns and `multipliers` of rows are HiGHS's; there are none where it found no solution.
    """

    bound: float
    values: Floats | None
    multipliers: Floats


@dataclass
class Programme:
    """A minimisation under construction: columns, and rows that bound sums over columns."""

    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    whole: list[bool] = field(default_factory=list)
    offset: float = 0.0
    starts: list[int] = field(default_factory=lambda: [0])
    columns: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    at_least: list[float] = field(default_factory=list)
    at_most: list[float] = field(default_factory=list)

    def add_column(
        self, lower: float, upper: float, *, cost: float = 0.0, whole: bool = False
    ) -> int:
        """Add a variable, which may have to be a whole number; return its place."""
        self.lower.append(lower)
        self.upper.append(upper)
        self.costs.append(cost)
        self.whole.append(whole)
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

    def solve(
        self, max_nodes: int, *, relative_gap: float = 0.0, absolute_gap: float = 1e-7
    ) -> Solution:
        """Minimise within a budget of nodes, up to a gap."""
        mixed = any(self.whole)
        solver = self._solver(mixed)
        solver.setOptionValue("mip_max_nodes", max_nodes)
        solver.setOptionValue("mip_rel_gap", relative_gap)
        solver.setOptionValue("mip_abs_gap", absolute_gap)
        status, information = _run(solver), solver.getInfo()
        if status is None:
            return Solution(-np.inf, None, optimal=False, infeasible=False)
        feasible = int(highspy.SolutionStatus.kSolutionStatusFeasible)
        found = information.primal_solution_status == feasible
        bound = information.mip_dual_bound if mixed else information.objective_function_value
        # Out of nodes (a "solution limit"), the bound is still proven, though not tight.
        proven = status == Status.kOptimal or (mixed and status == Status.kSolutionLimit)
        return Solution(
            float(bound) if proven else -np.inf,
            np.array(solver.getSolution().col_value) if found else None,
            status == Status.kOptimal,
            status == Status.kInfeasible,
        )

    def _solver(self, mixed: bool) -> highspy.Highs:
        """Return a solver that holds the programme, with or without its whole numbers."""
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
        if mixed:
            kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
            model.integrality_ = [kinds[whole] for whole in self.whole]
        solver = highspy.Highs()  # type: ignore[no-untyped-call]
        for name, value in {"output_flag": False, "threads": 1, "random_seed": 0}.items():
            solver.setOptionValue(name, value)
        solver.passModel(model)
        return solver


class Relaxation:
    """The linear relaxation of a programme, solved repeatedly with other costs or bounds.

    Every run goes on from where the last one ended.
    """

    def __init__(self, programme: Programme) -> None:
        self._solver = programme._solver(mixed=False)
        self._programme = programme
        self._columns = np.arange(len(programme.costs), dtype=np.int32)
        self.column_ends = np.array([programme.lower, programme.upper], dtype=np.float64)

    def minimum(self, costs: Floats) -> float | None:
        """Return the least value with these costs per column; None where HiGHS found none."""
        self._solver.changeColsCost(len(costs), self._columns, costs)
        optimal = _run(self._solver) == Status.kOptimal
        return float(self._solver.getInfo().objective_function_value) if optimal else None

    def restrict(self, column: int, lower: float, upper: float) -> None:
        """Change the bounds of a column."""
        self.column_ends[:, column] = lower, upper
        self._solver.changeColBounds(column, lower, upper)

    def bounded(self) -> LinearSolution:
        """Minimise with the programme's own costs, and prove a lower bound on the minimum."""
        status, none = _run(self._solver), np.empty(0)
        if status == Status.kInfeasible:
            _, exists, ray = self._solver.getDualRay()  # type: ignore[attr-defined]
            # Multipliers that prove of costs of nought that they are above nought.
            nothing = exists and self._lower_bound(0.0 * self._costs, 0.0, np.array(ray)) > 0.0
            return LinearSolution(np.inf if nothing else -np.inf, None, none)
        if status != Status.kOptimal:
            return LinearSolution(-np.inf, None, none)
        solution = self._solver.getSolution()
        multipliers = np.array(solution.row_dual)
        bound = self._lower_bound(self._costs, self._programme.offset, multipliers)
        return LinearSolution(bound, np.array(solution.col_value), multipliers)

    @cached_property
    def _costs(self) -> Floats:
        return np.array(self._programme.costs, dtype=np.float64)

    @cached_property
    def _rows(self) -> tuple[Integers, Integers, Floats, Floats]:
        given = self._programme
        starts, columns = (np.array(part, np.int64) for part in (given.starts, given.columns))
        row_ends = np.array([given.at_least, given.at_most], dtype=np.float64)
        return starts, columns, np.array(given.values, dtype=np.float64), row_ends

    def _lower_bound(self, costs: Floats, offset: float, multipliers: Floats) -> float:
        return float(lower_bound(costs, offset, self.column_ends, *self._rows, multipliers))


def _run(solver: highspy.Highs) -> highspy.HighsModelStatus | None:
    """Run a solver and return the status of its model; None where it could not run."""
    if solver.run() != highspy.HighsStatus.kError:
        return solver.getModelStatus()
    # Either it was this model, or HiGHS does not run here at all.
    if (
        Programme(lower=[0.0], upper=[1.0], costs=[1.0], whole=[False])._solver(mixed=False).run()
        == highspy.HighsStatus.kError
    ):
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
