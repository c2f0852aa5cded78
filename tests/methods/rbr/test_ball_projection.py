from __future__ import annotations

import platform
from collections.abc import Iterable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.plain.rbr import project as plain_project
from changeproof.methods.rbr import project, single_length, single_sum


def slow_sum(numbers: np.ndarray) -> np.float32:
    """Add up in PyTorch's order, as `ball_projection.py` states it."""
    width = 8 if len(numbers) >= 8 else 1
    turns = numbers[: len(numbers) // width * width].reshape(-1, width)
    in_turn = len(turns) // 4 * 4
    groups = [[*turns[group:in_turn:4]] for group in range(4)]
    groups[0] += [*turns[in_turn:]]
    nothing = np.zeros(width, dtype=np.float32)
    lanes = sum((sum(group, nothing) for group in groups), nothing)
    return in_order([*numbers[turns.size :], *lanes])


def in_order(numbers: Iterable[np.float32]) -> np.float32:
    return sum(numbers, np.float32(0.0))


@pytest.mark.parametrize("p", [1, 3, 5, 7, 8, 11, 20, 30, 33, 80])
def test_single_precision_sums_are_those_of_torch(p: int) -> None:
    # PyTorch promises no order, but has the same for all vector widths of x86-64 processors.
    same_order = platform.machine() in ("x86_64", "AMD64")
    generator = np.random.default_rng(p)
    for _ in range(500):
        here, start = generator.normal(size=(2, p)).astype(np.float32)
        change = here - start
        assert single_length(here, start) == in_order(np.abs(change))
        assert single_sum(change) == slow_sum(change)
        if same_order:
            there = torch.from_numpy(here) - torch.from_numpy(start)
            assert single_length(here, start) == torch.linalg.norm(there, ord=1, dim=-1).item()
            assert single_sum(change) == there.sum().item()


@pytest.mark.parametrize("p", [1, 2, 8, 11, 20, 30])
def test_projection_is_that_of_torch(p: int) -> None:
    generator = np.random.default_rng(p)
    for _ in range(200):
        change = generator.normal(size=p).astype(np.float32)
        radius = np.float32(generator.uniform(0.1, 1.2) * np.abs(change).sum())
        ours = change.copy()
        project(ours, radius)
        theirs = plain_project(torch.from_numpy(change), torch.tensor(radius))
        np.testing.assert_array_equal(ours, theirs.numpy())


@settings(max_examples=200, deadline=None)
@given(
    change=st.lists(st.floats(-50, 50, width=32), min_size=1, max_size=8),
    radius=st.floats(2**-9, 60, width=32),
)
def test_projection_is_the_nearest_row_of_the_ball(change: list[float], radius: float) -> None:
    wished = np.array(change, dtype=np.float32)
    moved = wished.copy()
    project(moved, np.float32(radius))
    if single_sum(np.abs(wished)) <= radius:
        np.testing.assert_array_equal(moved, wished)
        return
    rounding = 1e-6 * float(np.abs(wished).sum())
    assert np.abs(moved).sum() == pytest.approx(radius, rel=1e-5, abs=rounding)
    # Optimal: what is left over points along the ball's normal at the result.
    left = wished.astype(np.float64) - moved
    largest = np.abs(left).max()
    np.testing.assert_allclose(left @ moved, largest * radius, rtol=1e-4, atol=60 * rounding)
