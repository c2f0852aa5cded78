"""Linear and mixed-integer programmes, solved with HiGHS: the one way to it.

HiGHS runs with one thread and a fixed seed, so that its answers are the same wherever it runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import highspy
import numpy as np

from changeproof.certificates.duality import lower_bound
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

    `bound` lies below it for certain: it does not rest on the solver (see `duality.py`). It is
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
    """A programme without its whole numbers, minimised again and again with other costs or ends.

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
        """Move the ends of a column."""
        self.column_ends[:, column] = lower, upper
        self._solver.changeColBounds(column, lower, upper)

    def bounded(self) -> LinearSolution:
        """Minimise with the programme's own costs, and prove what the minimum is at least."""
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
    """Run a solver; return what it says of its model, None where it could not run."""
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
