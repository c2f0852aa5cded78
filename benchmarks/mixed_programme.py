"""Programmes in which some columns are whole numbers, solved by HiGHS alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import highspy
import numpy as np

from changeproof.certificates.programme import Programme, Status, run
from changeproof.model import Floats


class MixedSolution(NamedTuple):
    """What is known of a minimum.

    `bound` lies below it, up to HiGHS's tolerances (minus infinity where HiGHS has none);
    `values` are the best columns found, if any were. `optimal` says that they are within the
    allowed gap, and `infeasible` that there are none. Where HiGHS fails, nothing is known.
    """

    bound: float
    values: Floats | None
    optimal: bool
    infeasible: bool


@dataclass
class MixedProgramme(Programme):
    """A programme whose `whole` columns have to be whole numbers."""

    whole: list[int] = field(default_factory=list)

    def add_column(
        self, lower: float, upper: float, *, cost: float = 0.0, whole: bool = False
    ) -> int:
        """Add a variable, which may have to be a whole number; return its place."""
        place = super().add_column(lower, upper, cost=cost)
        self.whole += [place] if whole else []
        return place

    def solve(
        self, max_nodes: int, *, relative_gap: float = 0.0, absolute_gap: float = 1e-7
    ) -> MixedSolution:
        """Minimise within a budget of nodes, up to a gap."""
        solver = self.solver()
        for column in self.whole:
            solver.changeColIntegrality(column, highspy.HighsVarType.kInteger)
        solver.setOptionValue("mip_max_nodes", max_nodes)
        solver.setOptionValue("mip_rel_gap", relative_gap)
        solver.setOptionValue("mip_abs_gap", absolute_gap)
        status, information = run(solver), solver.getInfo()
        if status is None:
            return MixedSolution(-np.inf, None, optimal=False, infeasible=False)
        feasible = int(highspy.SolutionStatus.kSolutionStatusFeasible)
        found = information.primal_solution_status == feasible
        mixed = bool(self.whole)
        bound = information.mip_dual_bound if mixed else information.objective_function_value
        # Out of nodes (a "solution limit"), the bound is still proven, though not tight.
        proven = status == Status.kOptimal or (mixed and status == Status.kSolutionLimit)
        return MixedSolution(
            float(bound) if proven else -np.inf,
            np.array(solver.getSolution().col_value) if found else None,
            status == Status.kOptimal,
            status == Status.kInfeasible,
        )


class Costs:
    """Minimises a programme without its whole numbers again and again, with other costs."""

    def __init__(self, programme: Programme) -> None:
        self._solver = programme.solver()
        self._columns = np.arange(len(programme.costs), dtype=np.int32)

    def minimum(self, costs: Floats) -> float | None:
        """Return the least value with these costs per column; None where HiGHS found none."""
        self._solver.changeColsCost(len(costs), self._columns, costs)
        optimal = run(self._solver) == Status.kOptimal
        return float(self._solver.getInfo().objective_function_value) if optimal else None
