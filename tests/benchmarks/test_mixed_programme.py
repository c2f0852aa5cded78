from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from benchmarks.mixed_programme import Costs, MixedProgramme


def random_programme(seed: int, n_columns: int, n_rows: int, *, binary: bool) -> MixedProgramme:
    generator = np.random.default_rng(seed)
    programme = MixedProgramme(offset=float(generator.normal()))
    for cost in generator.normal(size=n_columns):
        programme.add_column(0.0, 1.0, cost=float(cost), whole=binary)
    for values in generator.normal(size=(n_rows, n_columns)):
        # Both ends leave room for the middle of the box.
        middle = 0.5 * values.sum()
        programme.add_row(
            range(n_columns), values.tolist(), at_least=middle - 1.0, at_most=middle + 0.5
        )
    return programme


def matrix_of(programme: MixedProgramme) -> np.ndarray:
    return np.array(programme.values).reshape(len(programme.at_most), -1)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), n_columns=st.integers(1, 8), n_rows=st.integers(1, 8))
def test_linear_programmes_are_solved_as_scipy_solves_them(
    seed: int, n_columns: int, n_rows: int
) -> None:
    programme = random_programme(seed, n_columns, n_rows, binary=False)
    matrix = matrix_of(programme)
    limits = np.concatenate([programme.at_most, np.negative(programme.at_least)])
    sides = np.concatenate([matrix, -matrix])
    solution, relaxation = programme.solve(100), Costs(programme)
    for costs in (np.array(programme.costs), np.ones(n_columns), -np.ones(n_columns)):
        expected = linprog(costs, A_ub=sides, b_ub=limits, bounds=(0.0, 1.0)).fun
        assert relaxation.minimum(costs) == pytest.approx(expected + programme.offset, abs=1e-6)
    assert solution.optimal and not solution.infeasible
    assert solution.values is not None
    reached = np.dot(programme.costs, solution.values) + programme.offset
    assert solution.bound == pytest.approx(reached, abs=1e-6)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), n_columns=st.integers(1, 7), n_rows=st.integers(1, 4))
def test_mixed_programmes_are_solved_as_by_trying_everything(
    seed: int, n_columns: int, n_rows: int
) -> None:
    programme = random_programme(seed, n_columns, n_rows, binary=True)
    points = np.array(list(itertools.product((0.0, 1.0), repeat=n_columns)))
    sums = points @ matrix_of(programme).T
    allowed = ((sums >= programme.at_least) & (sums <= programme.at_most)).all(axis=1)
    solution = programme.solve(1000)
    assert solution.infeasible != allowed.any()
    if allowed.any():
        values = points[allowed] @ programme.costs + programme.offset
        assert solution.optimal
        assert solution.bound == pytest.approx(values.min(), abs=1e-6)


def test_what_cannot_be_has_neither_values_nor_a_bound() -> None:
    programme = MixedProgramme()
    column = programme.add_column(0.0, 1.0, cost=1.0)
    programme.add_row([column], [1.0], at_least=2.0)
    solution = programme.solve(10)
    assert solution == (-np.inf, None, False, True)
    assert Costs(programme).minimum(np.ones(1)) is None


def test_where_highs_fails_nothing_is_known() -> None:
    programme = MixedProgramme()
    column = programme.add_column(0.0, 1.0, cost=1.0)
    # HiGHS refuses a model with such a number.
    programme.add_row([column], [1e30], at_least=0.5)
    assert programme.solve(10) == (-np.inf, None, False, False)
    assert Costs(programme).minimum(np.ones(1)) is None
