"""Lanes against the order that they promise, written out in plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

from changeproof.arithmetic.functions import fma
from changeproof.arithmetic.lanes import (
    aligned_zeros,
    count,
    load,
    load_doubles,
    plus,
    spread,
    store,
    tree_sum,
    where_positive,
)
from changeproof.networks.kernels import RECTIFIED, add_lanes, add_outer_product, affine

KINDS = [np.float32, np.float64]


@njit
def spread_sum(numbers: Any) -> Any:
    total = spread(numbers.dtype.type(0))
    for i in range(0, numbers.size, count(numbers)):
        total = plus(total, load(numbers, i))
    return tree_sum(total)


def plain_sum(numbers: np.ndarray) -> Any:
    """Number i goes to lane i modulo the lanes; the upper half is added to the lower half."""
    lanes = np.zeros(64 // numbers.itemsize, numbers.dtype)
    for i, number in enumerate(numbers):
        lanes[i % len(lanes)] += number
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = lanes[:half] + lanes[half:]
    return lanes[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("blocks", [1, 2, 33])
def test_a_spread_sum_has_the_order_that_is_stated(kind: Any, blocks: int) -> None:
    size = blocks * 64 // np.dtype(kind).itemsize
    generator = np.random.default_rng(blocks)
    numbers = (generator.normal(size=size) * 10.0 ** generator.integers(-6, 6, size)).astype(kind)
    assert spread_sum(numbers) == plain_sum(numbers)
    if blocks == 33:
        assert spread_sum(numbers) != sum(numbers, kind(0))  # the order matters here


def test_lanes_start_at_any_element_and_take_what_they_are_told() -> None:
    @njit
    def moved(numbers: Any, result: Any) -> None:
        here = load(numbers, 3)
        store(result, 1, where_positive(here, fma(here, spread(2.0), spread(1.0))))

    numbers, result = np.arange(-5.0, 15.0), np.full(12, -1.0)
    moved(numbers, result)
    expected = np.where(numbers[3:11] > 0, 2.0 * numbers[3:11] + 1.0, 0.0)
    np.testing.assert_array_equal(result, [-1.0, *expected, -1.0, -1.0, -1.0])

    @njit
    def doubled(numbers: Any, result: Any) -> None:
        store(result, 0, load_doubles(numbers, 1))

    for kind in KINDS:
        short = np.linspace(0.1, 0.9, 9).astype(kind)
        doubled(short, result)
        np.testing.assert_array_equal(result[:8], short[1:].astype(np.float64))


@pytest.mark.parametrize("kind", KINDS)
def test_aligned_memory_is_aligned_and_zero(kind: Any) -> None:
    for size in (1, 5, 1000):
        memory = aligned_zeros((size,), np.empty(0, kind))
        assert memory.shape == (size,)
        assert memory.dtype == kind
        assert memory.ctypes.data % 64 == 0
        assert not memory.any()


@njit
def plain_affine(weight: Any, bias: Any, inputs: Any, outputs: Any) -> None:
    """The order that kernels promise: from the bias on, fused, input after input."""
    for j in range(len(weight)):
        for r in range(inputs.shape[1]):
            total = bias[j]
            for k in range(weight.shape[1]):
                total = fma(weight[j, k], inputs[k, r], total)
            outputs[j, r] = total if total > 0 else total * 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_rows", [16, 32, 48, 160])
def test_a_layer_is_computed_in_the_order_that_is_stated(kind: Any, n_rows: int) -> None:
    generator = np.random.default_rng(n_rows)
    weight, bias = generator.normal(size=(12, 20)).astype(kind), generator.normal(size=12)
    inputs, outputs = generator.normal(size=(20, n_rows)).astype(kind), np.zeros((2, 12, n_rows))
    fast, slow = outputs.astype(kind)
    affine(weight, bias.astype(kind), inputs, fast, fast, RECTIFIED, n_rows)
    plain_affine(weight, bias.astype(kind), inputs, slow)
    np.testing.assert_array_equal(fast, slow)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_do_not_depend_on_tiles(kind: Any) -> None:
    """Row r adds to lane r modulo the lanes, in whatever tile it lies."""
    generator = np.random.default_rng(0)
    lanes = 64 // np.dtype(kind).itemsize
    deltas = generator.normal(size=(4, 192)).astype(kind)
    inputs = generator.normal(size=(8, 192)).astype(kind)

    def gradient(length: int) -> np.ndarray:
        sums, totals = np.zeros((32, lanes), kind), np.empty(32, kind)
        for start in range(0, 192, length):
            tile = [np.ascontiguousarray(a[:, start : start + length]) for a in (deltas, inputs)]
            add_outer_product(tile[0], 4, tile[1], 8, sums, 0, 8, length)
        add_lanes(sums, totals)
        assert not sums.any()  # ready for the next
        return totals.reshape(4, 8)

    whole = gradient(192)
    np.testing.assert_allclose(whole, deltas @ inputs.T, rtol=1e-4)
    for length in (16, 32, 64, 96):
        np.testing.assert_array_equal(gradient(length), whole)
