"""Estimates may only rule out what double precision rules out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from changeproof import Network
from changeproof.methods.shared.estimates import Estimates, tiled_moves

HIDDEN = st.sampled_from([(32, 32), (8,), (5, 7), ()])


def points_around(
    centres: np.ndarray, moves: np.ndarray, low: np.ndarray | float, high: np.ndarray | float
) -> np.ndarray:
    return np.clip(centres[:, None, :] + moves, low, high)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    hidden=HIDDEN,
    size=st.sampled_from([0.1, 1.0, 30.0]),
    clipped=st.booleans(),
)
def test_the_first_group_is_that_of_judging_everything(
    seed: int, hidden: tuple[int, ...], size: float, clipped: bool
) -> None:
    generator = np.random.default_rng(seed)
    start = Network.initialised(6, hidden, seed)
    centres, groups = size * generator.normal(size=(9, 6)), size * generator.normal(size=(4, 70, 6))
    # Few points are favourable, so that groups without one come first.
    logits = start.logits(centres)
    biases = (*start.biases[:-1], start.biases[-1] - np.float32(logits.max()))
    network = Network(start.weights, biases)
    low, high = (np.full(6, -0.7 * size), np.full(6, size)) if clipped else (-np.inf, np.inf)
    estimates, moves = Estimates(network, low, high), tiled_moves(list(groups))
    begin = generator.integers(0, 4, len(centres))
    found, possible = estimates.first_possible(centres, moves, begin)
    error = estimates.error(centres, moves)
    assert error < 1e-3 * size
    for i, centre in enumerate(centres):
        for group in range(begin[i], 4):
            points = points_around(centre[None], groups[group], low, high)[0]
            exact = network.logits(points)
            if group < found[i]:
                assert exact.max() < 0.0
            elif group == found[i]:
                assert possible[i].any()
                assert possible[i][exact >= 0.0].all()
                assert (exact[possible[i]] >= -2.0 * error).all()


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), hidden=HIDDEN, draws=st.integers(2, 700))
def test_no_stable_point_is_ruled_out(seed: int, hidden: tuple[int, ...], draws: int) -> None:
    generator = np.random.default_rng(seed)
    network = Network.initialised(6, hidden, seed)
    points, noise = 3 * generator.normal(size=(30, 6)), 0.1 * generator.normal(size=(draws, 6))
    around = points[:, None, :] + noise
    probabilities = network.probabilities(around.reshape(-1, 6)).reshape(30, draws)
    stability = probabilities.mean(axis=1) - probabilities.std(axis=1)
    threshold = float(np.median(stability))
    estimates, moves = Estimates(network), tiled_moves([noise])
    possible = estimates.may_be_stable(points, moves, threshold)
    error = estimates.error(points, moves) + 1e-5
    assert error < 2e-3
    assert possible[stability > threshold].all()
    assert not possible[stability < threshold - error].any()


def test_moves_that_are_not_there_count_for_nothing() -> None:
    """Tiles are filled up with zeros; a favourable centre must not make a move possible."""
    network = Network((np.array([[1.0]], np.float32),), (np.array([0.0], np.float32),))
    moves = tiled_moves([np.full((3, 1), -5.0)])
    found, possible = Estimates(network).first_possible(
        np.array([[1.0]]), moves, np.zeros(1, np.int64)
    )
    assert found[0] == 1
    assert not possible.any()
    assert moves.reach == pytest.approx([5.0])
