from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numba import njit
from scipy.stats import norm

from changeproof.arithmetic.functions import (
    exp,
    exponentials,
    fma,
    log,
    log1p,
    normal_tail,
    normal_tails,
    sigmoid,
    sigmoids,
    solve_positive,
)

numbers = st.floats(-1e100, 1e100, allow_nan=False)


def units_off(found: float, exact: Decimal) -> float:
    """How many units in the last place a number is off."""
    return float(abs(Decimal(found) - exact) / Decimal(math.ulp(float(exact))))


@given(st.floats(-700.0, 700.0))
def test_exponentials_are_right_to_the_last_place(x: float) -> None:
    with localcontext(prec=60):
        assert units_off(exp(x), Decimal(x).exp()) < 1.0


@given(st.floats(5e-324, 1.7e308))
def test_logarithms_are_right_to_the_last_place(x: float) -> None:
    with localcontext(prec=60):
        exact = Decimal(x).ln()
        assert exact == 0 or units_off(log(x), exact) < 1.0


@given(st.floats(1e-300, 1.0))
def test_logarithms_near_one_lose_nothing(x: float) -> None:
    with localcontext(prec=400):
        assert units_off(log1p(x), (1 + Decimal(x)).ln()) < 2.0


def test_ends_of_the_range() -> None:
    assert exp(-math.inf) == exp(-1e9) == exp(-745.3) == 0.0
    assert exp(math.inf) == exp(709.9) == math.inf
    assert exp(0.0) == exp(-0.0) == 1.0
    assert exp(709.7) == pytest.approx(math.exp(709.7), rel=1e-15)
    assert exp(-745.1) == 5e-324
    assert log(0.0) == -math.inf
    assert log(1.0) == log1p(0.0) == 0.0
    assert math.isnan(exp(math.nan))
    assert math.isnan(log(math.nan))
    assert math.isnan(log(-1.0))
    assert sigmoid(-1e9) == 0.0
    assert sigmoid(1e9) == 1.0
    assert math.isnan(sigmoid(math.nan))


@given(numbers, numbers, numbers)
def test_a_fused_product_is_rounded_once(a: float, b: float, c: float) -> None:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    assert fused(a, b, c) == float(exact)


@njit
def fused(a: float, b: float, c: float) -> float:
    return fma(a, b, c)


@pytest.mark.parametrize("count", [0, 1, 7, 100])
def test_arrays_are_what_their_numbers_are(count: int) -> None:
    """In a vectorised loop as alone, whatever the shape and the memory it lies in."""
    values = 10 * np.random.default_rng(count).normal(size=(count, 3))
    for many, one in ((sigmoids, sigmoid), (exponentials, exp)):
        expected = [[one(x) for x in row] for row in values.tolist()]
        np.testing.assert_array_equal(many(values), np.reshape(expected, values.shape))
        np.testing.assert_array_equal(many(values.T), many(values).T)
        assert many(values.astype(np.float32)).dtype == np.float64


@given(st.integers(1, 31), st.integers(0, 1000))
def test_equations_are_solved(size: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    root = generator.normal(size=(size, size + 3))
    matrix, right = root @ root.T + 0.1 * np.eye(size), generator.normal(size=size)
    np.testing.assert_allclose(matrix @ solve_positive(matrix, right), right, atol=1e-9)


def test_no_solution_of_a_matrix_that_is_not_positive() -> None:
    for matrix in (np.zeros((2, 2)), np.array([[1.0, 2.0], [2.0, 1.0]]), np.full((2, 2), np.nan)):
        assert np.isnan(solve_positive(matrix, np.ones(2))).all()


def exact_tail(x: float) -> Decimal:
    """Half less the density times a series without subtractions, with digits to spare."""
    square = Decimal(x) ** 2
    term = total = abs(Decimal(x))
    n = 1
    while term > total * Decimal(10) ** -70:
        term *= square / (2 * n + 1)
        total += term
        n += 1
    pi = Decimal("3.1415926535897932384626433832795028841971693993751058209749445923")
    tail = Decimal(1) / 2 - (-square / 2).exp() / (2 * pi).sqrt() * total
    return tail if x >= 0 else 1 - tail


@given(st.floats(-8.0, 8.0))
@example(2.0)
@example(-2.0)
def test_normal_tails_are_right_to_thirteen_digits(x: float) -> None:
    with localcontext(prec=80):
        exact = exact_tail(x)
    assert abs(Decimal(normal_tail(x)) - exact) <= Decimal("2e-14") * exact


@given(st.floats(8.0, 37.0))
def test_far_normal_tails_lie_between_known_bounds(x: float) -> None:
    """Two sums of the asymptotic series, one term apart, enclose the tail."""
    with localcontext(prec=60):
        far = Decimal(x)
        pi = Decimal("3.14159265358979323846264338327950288419716939937510")
        density = (-(far**2) / 2).exp() / (2 * pi).sqrt()
        term = total = 1 / far
        sums = [total]
        for n in range(1, 13):
            term *= -(2 * n - 1) / far**2
            total += term
            sums.append(total)
        low, high = density * sums[-2], density * sums[-1]
        assert min(low, high) * (1 - Decimal("2e-14")) <= Decimal(normal_tail(x))
        assert Decimal(normal_tail(x)) <= max(low, high) * (1 + Decimal("2e-14"))


def test_normal_tails_at_the_ends() -> None:
    assert normal_tail(0.0) == 0.5
    assert normal_tail(math.inf) == normal_tail(1e9) == 0.0
    assert normal_tail(-math.inf) == 1.0
    assert math.isnan(normal_tail(math.nan))
    grid = np.linspace(-10.0, 10.0, 2001)
    tails = normal_tails(grid)
    assert (np.diff(tails) <= 0.0).all()
    np.testing.assert_allclose(tails, norm.sf(grid), rtol=2e-14)
