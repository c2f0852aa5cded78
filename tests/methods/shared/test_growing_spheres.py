from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from changeproof import Factuals, Network
from changeproof.methods.shared import growing_spheres
from changeproof.methods.shared.growing_spheres import GrowingSpheres


def half_space(rows: np.ndarray) -> np.ndarray:
    """Everything beyond 1 in the first feature."""
    return np.asarray(rows[:, 0] >= 1.0)


@pytest.mark.parametrize("norm", [1, 2])
def test_the_answer_is_the_closest_hit_of_the_first_shell_with_one(norm: Literal[1, 2]) -> None:
    spheres = GrowingSpheres(samples=500, norm=norm, step=0.1, max_shells=100)
    centres = np.array([[0.0, 0.0], [-0.75, 3.0], [0.5, -1.0]])
    points, shells = spheres.search(centres, half_space, "test")
    lengths = np.linalg.norm(points - centres, ord=norm, axis=1)
    assert half_space(points).all()
    for centre, point, shell, length in zip(centres, points, shells, lengths, strict=True):
        assert 0.1 * (shell - 1) <= length <= 0.1 * shell
        for k in range(shell):
            inside = centre + spheres._moves(k, 2, "test")
            accepted = inside[half_space(inside)]
            assert (len(accepted) > 0) == (k == shell - 1)
        distances = np.linalg.norm(accepted - centre, ord=norm, axis=1)
        assert length == pytest.approx(distances.min())
        np.testing.assert_array_equal(point, accepted[distances.argmin()])
    nearest = 1.0 - centres[:, 0]
    assert (lengths >= nearest).all()
    assert (lengths <= nearest + 0.2).all()


@pytest.mark.parametrize("norm", [1, 2])
def test_radii_fill_their_shell(norm: Literal[1, 2]) -> None:
    spheres = GrowingSpheres(samples=2000, norm=norm, step=0.1, max_shells=5)
    radii = np.linalg.norm(spheres._moves(3, 6, "radii"), ord=norm, axis=1)
    assert radii.min() == pytest.approx(0.3, abs=1e-3)
    assert radii.max() == pytest.approx(0.4, abs=1e-3)
    assert radii.mean() == pytest.approx(0.35, abs=2e-3)


def test_points_stay_in_range_and_are_measured_after_clipping() -> None:
    low, high = np.array([-5.0, -0.1]), np.array([5.0, 0.1])
    spheres = GrowingSpheres(samples=200, norm=1, step=0.1, max_shells=100, low=low, high=high)
    points, _ = spheres.search(np.zeros((4, 2)), half_space, "clipped")
    assert (points >= low).all()
    assert (points <= high).all()


def test_a_search_without_a_hit_ends_with_its_budget() -> None:
    spheres = GrowingSpheres(samples=10, norm=2, step=0.1, max_shells=7)
    points, shells = spheres.search(np.zeros((2, 3)), lambda rows: rows[:, 0] > 99, "none")
    assert np.isnan(points).all()
    assert shells.tolist() == [7, 7]


def test_company_does_not_matter() -> None:
    spheres = GrowingSpheres(samples=50, norm=2, step=0.1, max_shells=100)
    centres = np.random.default_rng(0).normal(size=(40, 3)) - 1.5
    together = spheres.search(centres, half_space, "x").points
    for i in (0, 13, 39):
        np.testing.assert_array_equal(
            spheres.search(centres[[i]], half_space, "x").points[0], together[i]
        )
    assert not np.array_equal(spheres.search(centres, half_space, "y").points, together)


@pytest.mark.parametrize("clip", [True, False])
def test_estimates_of_a_network_change_no_answer(
    small_network: Network, small_factuals: Factuals, clip: bool
) -> None:
    rows = small_factuals.rows
    low, high = (rows.min(axis=0) - 0.5, rows.max(axis=0) + 0.5) if clip else (-np.inf, np.inf)
    spheres = GrowingSpheres(samples=60, norm=1, step=0.1, max_shells=90, low=low, high=high)
    plain = spheres.search(rows, small_network.favourable, "estimates")
    quick = spheres.search(rows, small_network.favourable, "estimates", model=small_network)
    np.testing.assert_array_equal(quick.points, plain.points)
    np.testing.assert_array_equal(quick.shells, plain.shells)
    assert np.isfinite(plain.points).any()


def test_draws_that_are_not_kept_are_drawn_once_for_all_who_are_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: list[int] = []
    moves = GrowingSpheres._moves

    def counted(self: GrowingSpheres, shell: int, *rest: str | int) -> np.ndarray:
        drawn.append(shell)
        return moves(self, shell, *rest)

    centres = np.zeros((5, 2))
    expected = GrowingSpheres(samples=20, norm=2, step=0.1, max_shells=30)
    points = expected.search(centres, half_space, "kept").points
    monkeypatch.setattr(GrowingSpheres, "_moves", counted)
    monkeypatch.setattr(growing_spheres, "KEPT_BYTES", 0)
    monkeypatch.setattr(growing_spheres, "ROWS_AT_ONCE", 20)
    spheres = GrowingSpheres(samples=20, norm=2, step=0.1, max_shells=30)
    np.testing.assert_array_equal(spheres.search(centres, half_space, "kept").points, points)
    assert len(drawn) == len(set(drawn))
