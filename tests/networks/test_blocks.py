"""A few rows through many networks: the same digits as the other kernels give."""

from __future__ import annotations

import numpy as np
import pytest

from changeproof import Network
from changeproof.networks.blocks import BLOCK, fill_logits, fill_slopes, fill_some_logits
from changeproof.networks.network import ONE_OUTPUT, Sides
from changeproof.networks.stack import NetworkStack

SHAPES = ((32, 32), (8,), (64, 16), (1,), (5, 3), (), (32, 32), (4, 4, 4), (9, 20))


def drawn(features: int, rows: int, sides: Sides) -> tuple[NetworkStack, np.ndarray, np.ndarray]:
    networks = [
        Network.initialised(features, hidden, seed, sides) for seed, hidden in enumerate(SHAPES)
    ]
    generator = np.random.default_rng(features + rows)
    units = generator.uniform(0.5, 2.0, len(networks))
    return NetworkStack.of(networks), generator.normal(size=(rows, features)), units


@pytest.mark.parametrize("sides", [ONE_OUTPUT, Sides(1, 3), Sides(2, 5)], ids=str)
@pytest.mark.parametrize(("features", "n_rows"), [(1, 1), (3, 5), (11, BLOCK), (20, BLOCK + 9)])
def test_logits_and_slopes_are_those_of_the_stack_to_the_byte(
    sides: Sides, features: int, n_rows: int
) -> None:
    stack, rows, units = drawn(features, n_rows, sides)
    expected = (stack.logits(rows) / units[:, None]).T
    logits = np.full(expected.shape, np.nan)
    fill_logits(stack.blocks, rows, np.arange(n_rows), units, logits)
    np.testing.assert_array_equal(logits, expected)
    assert (np.signbit(logits) == np.signbit(expected)).all()
    which = np.argsort(logits, axis=1)[:, :5]
    slopes = np.full((*which.shape, features), np.nan)
    fill_slopes(stack.blocks, rows, which, units, slopes)
    gradients = stack.logits_and_gradients(rows)[1] / units[:, None]
    np.testing.assert_array_equal(slopes, np.take_along_axis(gradients, which[:, :, None], axis=1))


def test_only_what_is_wanted_is_filled_in() -> None:
    stack, rows, units = drawn(4, 2 * BLOCK, ONE_OUTPUT)
    every = (stack.logits(rows) / units[:, None]).T
    places = np.array([3, 70 % len(rows), 5])
    logits = np.full(every.shape, np.nan)
    fill_logits(stack.blocks, rows, places, units, logits)
    np.testing.assert_array_equal(logits[places], every[places])
    assert np.isnan(np.delete(logits, places, axis=0)).all()
    which = np.arange(len(rows))[:, None] % len(units)
    some = np.full(every.shape, np.nan)
    fill_some_logits(stack.blocks, rows, which, units, some)
    wanted = np.arange(len(units)) == which
    np.testing.assert_array_equal(some[wanted], every[wanted])
    assert np.isnan(some[~wanted]).all()


def test_a_network_of_nan_says_nan() -> None:
    good = Network.initialised(3, (8,), 0)
    bad = Network((good.weights[0] * np.nan, good.weights[1]), good.biases)
    stack, rows = NetworkStack.of([good, bad]), np.ones((2, 3))
    logits = np.zeros((2, 2))
    fill_logits(stack.blocks, rows, np.arange(2), np.ones(2), logits)
    np.testing.assert_array_equal(logits, stack.logits(rows).T)
    assert np.isnan(logits[:, 1]).all()
