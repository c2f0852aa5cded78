from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from changeproof.networks.draws import WORDS, TorchDraws

# Elsewhere PyTorch may round twice where these processors round once.
FUSED = torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512")


def assert_same(ours: np.ndarray, theirs: np.ndarray, bound: float) -> None:
    if FUSED:
        np.testing.assert_array_equal(ours, theirs)
    else:
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=bound * 2.0**-23)


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
        assert_same(draws.uniform(-bound, bound, size), expected.numpy(), bound)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-1.0, 1.0), (-0.17, 0.17)])
def test_long_draws(low: float, high: float) -> None:
    generator = torch.Generator().manual_seed(7)
    shape = (2, 100 * WORDS + 5)
    expected = torch.empty(shape).uniform_(low, high, generator=generator).numpy()
    drawn = TorchDraws(7).uniform(low, high, shape)
    assert drawn.dtype == np.float32
    assert_same(drawn, expected, max(abs(low), high))
