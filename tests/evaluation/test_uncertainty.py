from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from changeproof import summarise


@given(st.lists(st.floats(0, 100), min_size=2, max_size=6))
def test_mean_sd_and_order(values: list[float]) -> None:
    summary = summarise(values)
    assert summary.mean == pytest.approx(np.mean(values))
    assert summary.std == pytest.approx(np.std(values, ddof=1))
    slack = 1e-9
    assert min(values) - slack <= summary.low <= summary.high <= max(values) + slack
    assert summary.base_models == len(values)


def test_interval_is_that_of_all_resamples() -> None:
    values = np.array([60.0, 70.0, 72.0, 75.0, 90.0])
    every = np.mean(list(product(values, repeat=5)), axis=1)
    low, high = np.quantile(every, [0.025, 0.975])
    summary = summarise(values)
    assert summary.low == pytest.approx(low, abs=0.5)
    assert summary.high == pytest.approx(high, abs=0.5)
    assert summarise(values) == summary


def test_undefined_values_are_left_out() -> None:
    summary = summarise([1.0, np.nan, 3.0])
    assert (summary.mean, summary.base_models) == (2.0, 2)
    one = summarise([5.0, np.nan])
    assert (one.mean, one.base_models) == (5.0, 1)
    assert np.isnan([one.std, one.low, one.high]).all()
    none = summarise([np.nan])
    assert np.isnan(none.mean)
    assert none.base_models == 0
