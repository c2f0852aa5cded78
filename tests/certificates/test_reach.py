from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.planted_attack import true_logit
from changeproof import Network
from changeproof.certificates.reach import adverse_radii
from worst_cases import largest_logits


def points_in_balls(
    generator: np.random.Generator, centres: np.ndarray, radii: np.ndarray, norm: int
) -> np.ndarray:
    """Corners of the balls, points on their surface and inside."""
    count, n = centres.shape
    moves = generator.normal(size=(400, n))
    moves[: 2 * n] = np.concatenate([np.eye(n), -np.eye(n)])
    lengths = np.linalg.norm(moves, ord=norm, axis=1)
    shares = np.where(np.arange(400) < 200, 1.0, generator.random(400))
    unit = moves / lengths[:, None] * shares[:, None]
    return (centres[:, None, :] + radii[:, None, None] * unit).reshape(count, 400, n)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    hidden=st.sampled_from([(32, 32), (8,), (6, 5, 4), ()]),
    norm=st.sampled_from([1, 2]),
)
def test_nothing_in_a_ball_is_above_its_bound(
    seed: int, hidden: tuple[int, ...], norm: Literal[1, 2]
) -> None:
    generator = np.random.default_rng(seed)
    network = Network.initialised(5, hidden, seed)
    centres, radii = 3 * generator.normal(size=(6, 5)), 3 * generator.random(6)
    bounds = largest_logits(network, centres, radii, norm)
    points = points_in_balls(generator, centres, radii, norm)
    logits = network.logits(points.reshape(-1, 5)).reshape(6, 400)
    assert (logits.max(axis=1) <= bounds).all()
    at_centre = largest_logits(network, centres, np.zeros(6), norm)
    np.testing.assert_allclose(at_centre, network.logits(centres), atol=1e-9)


@pytest.mark.parametrize("norm", [1, 2])
def test_radii_are_those_of_a_linear_network(norm: Literal[1, 2]) -> None:
    network = Network((np.array([[3.0, -4.0]], np.float32),), (np.array([-6.0], np.float32),))
    centres = np.array([[0.0, 0.0], [1.0, 0.0], [4.0, 0.0]])
    exact = np.array([6.0, 3.0, 0.0]) / (4.0 if norm == 1 else 5.0)
    found = adverse_radii(network, centres, norm, most=8.0)
    assert (found <= exact).all()
    np.testing.assert_allclose(found, exact, atol=8.0 / 512)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), size=st.sampled_from([1e-3, 1.0, 1e3, 1e6]))
def test_bounds_carry_the_rounding_of_huge_sums(seed: int, size: float) -> None:
    """Twins of opposite weight cancel: what is left is rounding, and the bound covers it."""
    generator = np.random.default_rng(seed)
    first = generator.normal(size=(3, 2)) * size
    second = generator.normal(size=(4, 3)) * size
    last = generator.normal(size=(1, 4)) * size
    weights = (np.repeat(first, 2, axis=0), np.repeat(second, 2, axis=1), last)
    weights[1][:, 1::2] *= -1.0
    biases = (np.repeat(generator.normal(size=3), 2), np.zeros(4), np.zeros(1))
    network = Network(
        tuple(weight.astype(np.float32) for weight in weights),
        tuple(bias.astype(np.float32) for bias in biases),
    )
    centres = generator.normal(size=(8, 2))
    for norm in (1, 2):
        bounds = largest_logits(network, centres, np.zeros(8), norm)
        exact = [float(true_logit(network, centre)) for centre in centres]
        assert (bounds >= network.logits(centres)).all()
        assert (bounds >= exact).all()
        assert (bounds <= 1e-9 * max(1.0, size) ** 3).all()


def test_what_is_too_large_to_be_bounded_has_no_radius() -> None:
    huge = np.array([[3e38]], np.float32)
    network = Network((huge, huge, huge, -huge), (np.zeros(1, np.float32),) * 4)
    for centre in (1.0, 1e100, 1e300):
        assert adverse_radii(network, np.array([[centre]]), 1, most=1.0)[0] == 0.0
        assert largest_logits(network, np.array([[centre]]), np.ones(1), 1)[0] == np.inf
