from __future__ import annotations

from fractions import Fraction

import highspy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from changeproof.certificates.programme import Programme, Relaxation, lower_bound

SIZES = (1e-6, 1.0, 1e6, 1e12)


def test_a_relaxation_is_bounded_without_the_solver_and_may_be_restricted() -> None:
    programme = Programme(offset=1.0)
    first, second = (programme.add_column(0.0, 1.0, cost=cost) for cost in (1.0, 2.0))
    programme.add_row([first, second], [1.0, 1.0], at_least=1.5)
    relaxation = Relaxation(programme)
    assert relaxation.minimum().bound == pytest.approx(3.0, abs=1e-9)
    relaxation.restrict(first, 0.0, 0.75)
    solution = relaxation.minimum()
    assert solution.bound == pytest.approx(3.25, abs=1e-9)
    assert solution.values == pytest.approx([0.75, 0.75])
    relaxation.restrict(first, 0.0, 0.25)
    assert relaxation.minimum().bound == np.inf


def test_where_highs_fails_nothing_is_known() -> None:
    programme = Programme()
    column = programme.add_column(0.0, 1.0, cost=1.0)
    # HiGHS refuses a model with such a number.
    programme.add_row([column], [1e30], at_least=0.5)
    assert Relaxation(programme).minimum().bound == -np.inf


def test_highs_that_does_not_run_at_all_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    programme = Programme()
    programme.add_column(0.0, 1.0, cost=1.0)
    monkeypatch.setattr(highspy.Highs, "run", lambda solver: highspy.HighsStatus.kError)
    with pytest.raises(RuntimeError, match="could not run"):
        Relaxation(programme).minimum()


def sized_programme(seed: int, size: float) -> Programme:
    """A programme of a size with a solution in the middle of its columns; rows may be one-sided."""
    generator = np.random.default_rng(seed)
    n_columns, n_rows = int(generator.integers(1, 7)), int(generator.integers(1, 7))
    programme = Programme(offset=size * float(generator.normal()))
    for cost in generator.normal(size=n_columns):
        low = size * float(generator.normal())
        programme.add_column(low, low + size * float(generator.random()), cost=float(cost))
    middle = 0.5 * (np.array(programme.lower) + np.array(programme.upper))
    for values in generator.normal(size=(n_rows, n_columns)):
        there, (below, above) = float(values @ middle), size * generator.random(2)
        ends = {"at_least": there - below, "at_most": there + above}
        if generator.random() < 0.5:
            del ends[str(generator.choice(["at_least", "at_most"]))]
        programme.add_row(range(n_columns), values.tolist(), **ends)
    return programme


def bound_of(programme: Programme, multipliers: np.ndarray) -> float:
    return float(
        lower_bound(
            np.array(programme.costs),
            programme.offset,
            np.array([programme.lower, programme.upper]),
            np.array(programme.starts),
            np.array(programme.columns),
            np.array(programme.values),
            np.array([programme.at_least, programme.at_most]),
            multipliers,
        )
    )


def true_bound(programme: Programme, multipliers: np.ndarray) -> Fraction:
    """The same in rational arithmetic, without any rounding."""
    total = Fraction(programme.offset)
    rates = [Fraction(cost) for cost in programme.costs]
    for row, price in enumerate(multipliers.tolist()):
        end = programme.at_least[row] if price > 0.0 else programme.at_most[row]
        if price == 0.0 or not np.isfinite(end):
            continue
        total += Fraction(price) * Fraction(end)
        for place in range(programme.starts[row], programme.starts[row + 1]):
            rates[programme.columns[place]] -= Fraction(price) * Fraction(programme.values[place])
    ends = zip(rates, programme.lower, programme.upper, strict=True)
    return total + sum(min(rate * Fraction(low), rate * Fraction(high)) for rate, low, high in ends)


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 100_000), size=st.sampled_from(SIZES))
def test_any_multipliers_give_a_bound_and_rounding_only_lowers_it(seed: int, size: float) -> None:
    programme = sized_programme(seed, size)
    generator = np.random.default_rng(seed)
    for scale in (1e-9, 1.0, 1e9):
        multipliers = scale * generator.normal(size=len(programme.at_most))
        bound, true = bound_of(programme, multipliers), true_bound(programme, multipliers)
        assert Fraction(bound) <= true
        assert float(true) - bound <= 1e-12 * (1.0 + scale) * size * 100


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 100_000))
def test_multipliers_of_the_solver_give_the_minimum(seed: int) -> None:
    programme = sized_programme(seed, 1.0)
    matrix = np.array(programme.values).reshape(len(programme.at_most), -1)
    limits = np.concatenate([programme.at_most, np.negative(programme.at_least)])
    expected = linprog(
        programme.costs,
        A_ub=np.concatenate([matrix, -matrix])[np.isfinite(limits)],
        b_ub=limits[np.isfinite(limits)],
        bounds=list(zip(programme.lower, programme.upper, strict=True)),
    )
    solution = Relaxation(programme).minimum()
    assert solution.bound <= expected.fun + programme.offset + 1e-9
    assert solution.bound >= expected.fun + programme.offset - 1e-6


def test_numbers_that_are_none_prove_nothing() -> None:
    programme = sized_programme(1, 1.0)
    rows = len(programme.at_most)
    for multiplier in (np.nan, np.inf, -np.inf):
        assert bound_of(programme, np.full(rows, multiplier)) == -np.inf
    assert bound_of(programme, np.zeros(rows)) > -np.inf
