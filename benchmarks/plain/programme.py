"""A mixed-integer programme, written down variable by variable and given to HiGHS by SciPy."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

Terms = dict[int, float]


@dataclass
class Programme:
    """Variables with bounds and costs; constraints `sum of terms <= limit`."""

    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    integer: list[int] = field(default_factory=list)
    rows: list[Terms] = field(default_factory=list)
    limits: list[float] = field(default_factory=list)

    def variable(
        self, lower: float, upper: float, *, cost: float = 0.0, integer: bool = False
    ) -> int:
        self.lower.append(lower)
        self.upper.append(upper)
        self.costs.append(cost)
        self.integer.append(int(integer))
        return len(self.costs) - 1

    def at_most(self, terms: Terms, limit: float) -> None:
        self.rows.append(terms)
        self.limits.append(limit)

    def relu(self, before: int) -> int:
        """Add the positive part of a bounded variable, with a switch where it may have a sign."""
        low, high = self.lower[before], self.upper[before]
        after = self.variable(max(low, 0.0), max(high, 0.0))
        switch = self.variable(float(low >= 0.0), float(high > 0.0), integer=True)
        self.at_most({before: 1.0, after: -1.0}, 0.0)
        self.at_most({after: 1.0, before: -1.0, switch: -min(low, 0.0)}, -min(low, 0.0))
        self.at_most({after: 1.0, switch: -max(high, 0.0)}, 0.0)
        return after

    def solve(self, *, seconds: float = math.inf) -> tuple[float, np.ndarray] | None:
        """Return the minimum and where it is; None where there is none.

        Raises
        ------
        TimeoutError
            When the solver has not finished in time.
        """
        places = [(row, column) for row, terms in enumerate(self.rows) for column in terms]
        values = [value for terms in self.rows for value in terms.values()]
        shape = (len(self.rows), len(self.costs))
        matrix = csr_array((values, tuple(np.array(places).T)), shape=shape)
        options = {} if math.isinf(seconds) else {"time_limit": seconds}
        result = milp(
            np.array(self.costs),
            integrality=np.array(self.integer),
            bounds=Bounds(np.array(self.lower), np.array(self.upper)),
            constraints=LinearConstraint(matrix, ub=np.array(self.limits)),
            options=options,
        )
        if result.status == 1:
            raise TimeoutError(f"HiGHS did not finish within {seconds:.1f} s")
        if result.status == 2:
            return None
        if result.status != 0:
            raise RuntimeError(f"HiGHS: {result.message}")
        return float(result.fun), result.x
