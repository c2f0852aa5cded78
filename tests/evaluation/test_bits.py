from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from changeproof.evaluation.survival import pack_bits, unpack_bits


@given(st.integers(0, 20), st.integers(0, 210), st.integers(0, 1000))
def test_bits_survive_storage(n: int, models: int, seed: int) -> None:
    survived = np.random.default_rng(seed).random((n, models)) < 0.5
    back = unpack_bits(pack_bits(survived), models)
    assert back.shape == survived.shape
    assert back.dtype == np.bool_
    np.testing.assert_array_equal(back, survived)
    assert [len(row) for row in pack_bits(survived)] == [-(-models // 8)] * n
