from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from changeproof import share_interval, summarise
from changeproof.evaluation.uncertainty import mean_interval, rate_interval, student_reach

Z = 1.959963984540054
few = settings(deadline=None, max_examples=40)
rates = st.lists(st.floats(0, 100), min_size=2, max_size=6)


@given(rates)
@few
def test_mean_sd_and_interval_are_where_they_belong(values: list[float]) -> None:
    summary = summarise(values)
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    assert summary.mean == pytest.approx(mean)
    assert summary.std == pytest.approx(variance**0.5, abs=1e-6)
    assert summary.base_models == len(values)
    slack = 1e-9
    assert min(values) - slack <= summary.low <= summary.mean + slack
    assert summary.mean - slack <= summary.high <= max(values) + slack


def all_resamples(values: np.ndarray) -> np.ndarray:
    return np.mean(list(product(values, repeat=len(values))), axis=1)


def test_interval_is_that_of_all_resamples() -> None:
    values = np.array([60.0, 70.0, 72.0, 75.0, 90.0])
    low, high = np.quantile(all_resamples(values), [0.025, 0.975])
    summary = summarise(values)
    assert summary.low == pytest.approx(low, abs=0.5)
    assert summary.high == pytest.approx(high, abs=0.5)
    assert summarise(values) == summary


@given(st.lists(st.integers(0, 100), min_size=2, max_size=5), st.sampled_from([0.5, 0.8, 0.95]))
@few
def test_interval_lies_between_the_exact_ones_of_nearby_levels(
    values: list[int], level: float
) -> None:
    """10,000 draws miss a share by less than 0.02; few values leave gaps between the means."""
    summary = summarise(values, level=level)
    every, tail = all_resamples(np.array(values, float)), (1 - level) / 2
    around = [max(0.0, tail - 0.02), tail + 0.02]
    least, most = np.quantile(every, around, method="inverted_cdf")
    assert least - 1e-9 <= summary.low <= most + 1e-9
    least, most = np.quantile(every, [1 - around[1], 1 - around[0]], method="inverted_cdf")
    assert least - 1e-9 <= summary.high <= most + 1e-9


@given(st.floats(0, 100), st.floats(0, 100))
@few
def test_two_base_models_span_their_interval(first: float, second: float) -> None:
    """A quarter of the draws takes the one twice, a quarter the other: more than either tail."""
    summary = summarise([first, second])
    assert summary.low == pytest.approx(min(first, second))
    assert summary.high == pytest.approx(max(first, second))
    assert summary.std == pytest.approx(abs(first - second) / 2**0.5)


@given(st.floats(-1e6, 1e6), st.integers(2, 8))
@few
def test_base_models_that_agree_leave_no_doubt(value: float, count: int) -> None:
    summary = summarise([value] * count)
    assert (summary.mean, summary.low, summary.high) == pytest.approx((value,) * 3)
    assert summary.std == pytest.approx(0, abs=1e-6)


@given(rates, st.floats(-1000, 1000), st.floats(0.01, 100))
@few
def test_other_units_give_the_same_summary(values: list[float], shift: float, unit: float) -> None:
    before, after = summarise(values), summarise([unit * value + shift for value in values])
    tolerance = 1e-9 * (1 + abs(shift) + 100 * unit)
    for name in ("mean", "low", "high"):
        expected = unit * getattr(before, name) + shift
        assert getattr(after, name) == pytest.approx(expected, abs=tolerance)
    assert after.std == pytest.approx(unit * before.std, abs=10 * tolerance)


@given(rates)
@few
def test_a_higher_level_has_a_wider_interval(values: list[float]) -> None:
    narrow, wide = summarise(values, level=0.5), summarise(values, level=0.95)
    assert wide.low <= narrow.low <= narrow.high <= wide.high


@given(st.lists(st.floats(0, 100), max_size=5), st.lists(st.integers(0, 5), max_size=4))
@few
def test_undefined_values_are_left_out(values: list[float], gaps: list[int]) -> None:
    with_gaps = list(values)
    for gap in gaps:
        with_gaps.insert(gap, np.nan)
    np.testing.assert_equal(summarise(with_gaps), summarise(values))


@given(st.floats(0, 100))
@few
def test_one_base_model_has_no_spread_and_none_has_nothing(value: float) -> None:
    one = summarise([value])
    assert (one.mean, one.base_models) == (value, 1)
    assert np.isnan([one.std, one.low, one.high]).all()
    none = summarise([])
    assert np.isnan(none[:4]).all()
    assert none.base_models == 0


@st.composite
def successes(draw: st.DrawFn) -> tuple[int, int]:
    trials = draw(st.integers(1, 400))
    return draw(st.integers(0, trials)), trials


@given(successes())
@few
def test_the_share_lies_as_many_deviations_from_both_ends(given_share: tuple[int, int]) -> None:
    """Wilson's interval: all shares p with (share - p)^2 <= z^2 p (1 - p) / n."""
    held, trials = given_share
    low, high = share_interval(held, trials)
    share = held / trials
    assert 0 <= low <= share <= high <= 1
    assert low < high
    for end in (low, high):
        assert (share - end) ** 2 == pytest.approx(Z**2 * end * (1 - end) / trials, abs=1e-12)


@given(successes())
@few
def test_what_fails_is_the_mirror_image(given_share: tuple[int, int]) -> None:
    held, trials = given_share
    low, high = share_interval(held, trials)
    mirrored = share_interval(trials - held, trials)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-12)


@given(successes())
@few
def test_more_successes_move_it_up_and_more_trials_close_it(given_share: tuple[int, int]) -> None:
    held, trials = given_share
    low, high = share_interval(held, trials)
    if held < trials:
        more = share_interval(held + 1, trials)
        assert more[0] > low
        assert more[1] > high
    closer = share_interval(3 * held, 3 * trials)
    assert closer[1] - closer[0] < high - low


@given(st.integers(1, 10_000))
@few
def test_none_and_all_have_closed_forms(trials: int) -> None:
    low, high = share_interval(0, trials)
    assert low == 0.0
    assert high == pytest.approx(Z**2 / (trials + Z**2), abs=1e-12)
    low, high = share_interval(trials, trials)
    assert low == pytest.approx(trials / (trials + Z**2), abs=1e-12)
    assert high == 1.0


def test_without_trials_there_is_no_interval() -> None:
    assert np.isnan(share_interval(0, 0)).all()


@pytest.mark.parametrize(
    ("models", "expected"), [(2, 0.50), (3, 0.73), (5, 0.83), (10, 0.90), (25, 0.93)]
)
def test_what_the_bootstrap_over_base_models_covers(models: int, expected: float) -> None:
    """As docs say: with few base models far less than 95 %. Seeds: 2026 for each number."""
    generator, covered, trials = np.random.default_rng(2026), 0, 1000
    for _ in range(trials):
        found = summarise(generator.normal(size=models), draws=1000)
        covered += found.low <= 0.0 <= found.high
    assert covered / trials == pytest.approx(expected, abs=0.035)


@pytest.mark.parametrize("models", [2, 3, 5, 10, 25])
def test_students_interval_of_a_mean_covers_it(models: int) -> None:
    generator, covered, trials = np.random.default_rng(2027), 0, 1000
    for _ in range(trials):
        values = 10.0 + generator.normal(size=models)
        low, high = mean_interval(values.mean(), student_reach(values.var(ddof=1) / models, models))
        covered += low <= 10.0 <= high
    assert 0.93 <= covered / trials <= 0.97


@given(st.integers(0, 1000), st.floats(0, 2), st.integers(2, 300))
def test_an_interval_of_a_rate_has_room_on_both_sides(
    thousandths: int, reach: float, people: int
) -> None:
    share = thousandths / 1000
    low, high = rate_interval(share, reach, people)
    assert 0.0 <= low <= share <= high <= 1.0
    assert low < high
    mirrored = rate_interval(1.0 - share, reach, people)
    assert (1.0 - mirrored[1], 1.0 - mirrored[0]) == pytest.approx((low, high), abs=1e-6)


def test_nobody_has_no_interval() -> None:
    assert np.isnan(rate_interval(0.5, 0.1, 0)).all()
    assert np.isnan(mean_interval(1.0, student_reach(0.0, 1))).all()
