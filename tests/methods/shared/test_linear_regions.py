from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from changeproof import Network
from changeproof.methods.shared.minimal import affine_forms, region_optimum
from changeproof.networks.flat import preactivations


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(1, 8), min_size=1, max_size=3), st.integers(0, 1000))
def test_within_a_region_the_network_is_affine(hidden: list[int], seed: int) -> None:
    network = Network.initialised(4, hidden, seed)
    row = np.random.default_rng(seed).normal(size=4)
    values = np.empty(sum(hidden) + 1)
    logit = preactivations(*network.flat[1:], row, values)
    assert logit == network.logits(row[None])[0]
    slopes, constants = np.empty((sum(hidden) + 1, 4)), np.empty(sum(hidden) + 1)
    affine_forms(network.flat, values[:-1] > 0, slopes, constants)
    np.testing.assert_allclose(slopes @ row + constants, values, atol=1e-10)
    _, gradient = network.logits_and_gradients(row[None])
    np.testing.assert_allclose(slopes[-1], gradient[0], atol=1e-10)


def test_region_optimum_is_infinite_where_the_region_cannot_reach() -> None:
    network = Network(
        (np.array([[1.0]], np.float32), np.array([[1.0]], np.float32)),
        (np.zeros(1, np.float32), np.array([-1.0], np.float32)),
    )
    room = np.array([5.0])
    off = region_optimum(network.flat, np.zeros(1), room, room, np.array([False]), 0.0)
    on = region_optimum(network.flat, np.zeros(1), room, room, np.array([True]), 0.0)
    assert off[0] == np.inf
    assert on[0] == pytest.approx(1.0)
