from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from changeproof.networks.draws import WORDS, TorchDraws


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**63),
    sizes=st.lists(st.integers(0, 300), min_size=1, max_size=4),
    bound=st.floats(1e-3, 1e3),
)
def test_the_draws_are_those_of_pytorch(seed: int, sizes: list[int], bound: float) -> None:
    draws, generator = TorchDraws(seed), torch.Generator().manual_seed(seed)
    for size in sizes:
        expected = torch.empty(size).uniform_(-bound, bound, generator=generator)
        assert np.array_equal(draws.uniform(-bound, bound, size), expected.numpy())


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-1.0, 1.0), (-0.17, 0.17)])
def test_long_draws(low: float, high: float) -> None:
    generator = torch.Generator().manual_seed(7)
    shape = (2, 100 * WORDS + 5)
    expected = torch.empty(shape).uniform_(low, high, generator=generator).numpy()
    drawn = TorchDraws(7).uniform(low, high, shape)
    assert drawn.dtype == np.float32
    assert np.array_equal(drawn, expected)
