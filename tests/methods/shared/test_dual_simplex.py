from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from changeproof.methods.shared.dual_simplex import INFEASIBLE, OPTIMAL, solve, solve_at_costs


@settings(deadline=None, max_examples=150)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 10_000))
def test_the_dual_simplex_agrees_with_highs(rows: int, variables: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    slopes = generator.normal(size=(rows, variables))
    starts = generator.normal(size=rows) * generator.choice([0.1, 1, 3]) + generator.choice([0, 1])
    capacities = generator.random(variables) * generator.choice([0.5, 3.0, 100.0])
    capacities[generator.random(variables) < 0.1] = 0.0
    status, values, prices = solve(slopes, starts, capacities, 5_000)
    limits = [(0.0, capacity) for capacity in capacities]
    expected = linprog(np.ones(variables), A_ub=-slopes, b_ub=starts, bounds=limits)
    if expected.status == 2:
        assert status == INFEASIBLE
        return
    assert status == OPTIMAL
    assert values.sum() == pytest.approx(expected.fun, abs=1e-6)
    assert (slopes @ values + starts).min() > -1e-7
    assert values.min() > -1e-8
    assert (capacities - values).min() > -1e-8
    # Prices prove optimality by themselves: they are feasible for the dual and give its value.
    reduced = 1.0 - slopes.T @ prices
    dual = -starts @ prices + (np.minimum(reduced, 0.0) * capacities).sum()
    assert prices.min() >= 0.0
    assert dual == pytest.approx(expected.fun, abs=1e-6)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 25), st.integers(1, 25), st.integers(0, 10_000))
def test_costs_may_be_nothing_and_capacities_without_end(
    rows: int, variables: int, seed: int
) -> None:
    generator = np.random.default_rng(seed)
    slopes = generator.normal(size=(rows, variables))
    starts = generator.normal(size=rows)
    costs = generator.random(variables) * (generator.random(variables) < 0.5)
    capacities = np.where(generator.random(variables) < 0.5, np.inf, 1.0)
    status, values, _ = solve_at_costs(costs, slopes, starts, capacities, 5_000)
    limits = [(0.0, capacity) for capacity in capacities]
    expected = linprog(costs, A_ub=-slopes, b_ub=starts, bounds=limits)
    assert status == (INFEASIBLE if expected.status == 2 else OPTIMAL)
    if status == OPTIMAL:
        assert costs @ values == pytest.approx(expected.fun, abs=1e-6)
        assert (slopes @ values + starts).min() > -1e-7
        assert ((values > -1e-8) & (values < capacities + 1e-8)).all()
