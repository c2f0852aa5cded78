from __future__ import annotations

import numpy as np
import pytest

from changeproof import InputError, Network, NetworkStack

SHAPES = [(32, 32), (8,), (32, 32), (128, 64), (), (8,), (5, 7)]
NETWORKS = [Network.initialised(9, hidden, seed) for seed, hidden in enumerate(SHAPES)]
ROWS = np.random.default_rng(0).normal(size=(300, 9))


def test_a_stack_judges_as_its_networks_do() -> None:
    stack = NetworkStack.of(NETWORKS)
    expected = np.array([network.logits(ROWS) for network in NETWORKS])
    np.testing.assert_array_equal(stack.logits(ROWS), expected)
    np.testing.assert_array_equal(stack.favourable(ROWS), expected >= 0)
    np.testing.assert_allclose(stack.probabilities(ROWS), 1 / (1 + np.exp(-expected)))
    assert len(stack) == 7
    assert len(stack.groups) == 5


def test_networks_come_back_in_their_order() -> None:
    for network, back in zip(NETWORKS, NetworkStack.of(NETWORKS), strict=True):
        assert back.hidden == network.hidden
        np.testing.assert_array_equal(back.weights[0], network.weights[0])


def test_stacks_survive_storage_and_joining() -> None:
    stack = NetworkStack.of(NETWORKS)
    restored = NetworkStack.from_tensors(stack.to_tensors())
    np.testing.assert_array_equal(restored.logits(ROWS), stack.logits(ROWS))
    joined = NetworkStack.joined([NetworkStack.of(NETWORKS[:3]), NetworkStack.of(NETWORKS[3:])])
    np.testing.assert_array_equal(joined.logits(ROWS), stack.logits(ROWS))


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match="must share their features"):
        NetworkStack.of([NETWORKS[0], Network.initialised(3, (2,), 0)])
    with pytest.raises(IndexError, match="position 7 in a stack of 7"):
        NetworkStack.of(NETWORKS)[7]
