"""CVAS: the surrogate is the best for the worst distribution, and the answer is nearest beyond."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from changeproof import Context, Factuals
from changeproof.methods.cvas import CVAS, MARGINS, Variant, minimax_surrogate
from changeproof.methods.shared.spread import Spread
from changeproof.methods.tuning import candidates
from changeproof.model import Floats

VARIANTS: tuple[Variant, ...] = ("mpm", "quad", "bw", "fr")


def spread(seed: int, columns: int, shift: float) -> tuple[Spread, Floats]:
    generator = np.random.default_rng(seed)
    mixed = generator.normal(size=(columns, columns))
    rows = (generator.normal(size=(500, columns))[:, :, None] * mixed).sum(axis=1) + shift
    return Spread.of(rows), rows


def test_means_and_covariances_are_those_of_the_rows() -> None:
    found, rows = spread(1, 4, 0.3)
    np.testing.assert_allclose(found.mean, rows.mean(axis=0))
    np.testing.assert_allclose(found.covariance, np.cov(rows.T))


def test_with_equal_covariances_it_is_the_linear_discriminant_halfway() -> None:
    covariance = spread(2, 3, 0.0)[0].covariance
    first, second = np.array([0.0, 1.0, -1.0]), np.array([1.0, 1.5, 0.5])
    found = minimax_surrogate(Spread(first, covariance), Spread(second, covariance), 0, 0, "mpm")
    assert found is not None
    expected = np.linalg.solve(covariance, second - first)
    expected /= (expected * (second - first)).sum()
    np.testing.assert_allclose(found.coefficients, expected, rtol=1e-4)
    middle = 0.5 * (first + second)
    assert (found.coefficients * middle).sum() + found.intercept == pytest.approx(0.0, abs=1e-9)


def total(
    w: Floats, classes: tuple[Spread, Spread], radii: tuple[float, float], variant: Variant
) -> float:
    result = 0.0
    for own, radius in zip(classes, radii, strict=True):
        matrix = own.covariance
        if variant == "quad":
            matrix = matrix + np.sqrt(radius) * np.eye(len(w))
        size = np.sqrt(w @ matrix @ w)
        size *= np.exp(radius / 2) if variant == "fr" else 1.0
        result += size + (radius * np.linalg.norm(w) if variant == "bw" else 0.0)
    return float(result)


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_other_hyperplane_has_a_smaller_worst_spread(variant: Variant) -> None:
    """What has to be least, written out plainly, at random coefficients around the answer."""
    for seed in range(4):
        adverse, favourable = spread(seed, 4, -0.4)[0], spread(seed + 50, 4, 0.4)[0]
        classes, radii = (adverse, favourable), (0.7, 0.2)
        found = minimax_surrogate(adverse, favourable, *radii, variant)
        assert found is not None
        difference = favourable.mean - adverse.mean
        assert (found.coefficients * difference).sum() == pytest.approx(1.0)

        least = total(found.coefficients, classes, radii, variant)
        generator = np.random.default_rng(seed)
        for scale in (1e-3, 1e-2, 0.1, 1.0):
            for move in generator.normal(size=(50, 4)) * scale:
                move = move - (move * difference).sum() * difference / (difference**2).sum()
                other = total(found.coefficients + move, classes, radii, variant)
                assert other >= least * (1.0 - 1e-6)


def test_the_share_that_is_told_right_is_no_less_than_promised() -> None:
    for seed in range(5):
        (adverse, rejected), (favourable, accepted) = spread(seed, 3, -1.0), spread(seed + 9, 3, 1)
        found = minimax_surrogate(adverse, favourable, 0.0, 0.0, "mpm")
        assert found is not None
        above = (accepted * found.coefficients).sum(axis=1) + found.intercept >= 0.0
        below = (rejected * found.coefficients).sum(axis=1) + found.intercept <= 0.0
        assert 0.0 < found.validity < 1.0
        assert min(above.mean(), below.mean()) >= found.validity - 1e-3


@pytest.mark.parametrize("variant", VARIANTS[1:])
def test_a_radius_moves_the_surrogate_away_from_its_class(variant: Variant) -> None:
    adverse, favourable = spread(3, 3, -1.0)[0], spread(4, 3, 1.0)[0]
    sides = []
    for radii in ((0.0, 0.5), (0.0, 0.0), (0.5, 0.0)):
        found = minimax_surrogate(adverse, favourable, *radii, variant)
        assert found is not None
        sides.append(-float((found.coefficients * adverse.mean).sum() + found.intercept))
    assert sides[0] < sides[1] < sides[2]


def test_there_is_no_surrogate_between_equal_means() -> None:
    same = spread(1, 3, 0.0)[0]
    assert minimax_surrogate(same, same, 0.0, 0.0, "mpm") is None


def test_answers_are_the_nearest_rows_beyond_the_surrogate(
    small_context: Context, small_factuals: Factuals
) -> None:
    people = small_factuals[:15]
    method = CVAS(margin=0.3).fit(small_context)
    found = method._search(people)
    low, high = small_context.task.training_range
    compared = 0
    for place in np.flatnonzero(np.isfinite(found.rows).all(axis=1)).tolist():
        own, row = people.rows[place], found.rows[place]
        slopes = found.private["coefficients"][place]
        start = (slopes * own).sum() + found.private["intercepts"][place]
        assert (slopes * row).sum() + found.private["intercepts"][place] >= 0.3 - 1e-12
        up, down = np.maximum(high, own) - own, own - np.minimum(low, own)
        best = linprog(
            np.ones(2 * len(own)),
            A_ub=[np.r_[-slopes, slopes]],
            b_ub=[start - 0.3],
            bounds=[(0.0, most) for most in np.r_[up, down]],
        )
        assert np.abs(row - own).sum() == pytest.approx(best.fun, abs=1e-9)
        compared += 1
    assert compared >= 10


def test_samples_are_spread_over_the_ball(small_context: Context) -> None:
    method = CVAS(n_samples=4_000).fit(small_context)
    centres = np.array([[0.0] * 5, [2.0] * 5])
    samples = method._samples([3, 4], centres)
    radii = np.sqrt(((samples - centres[:, None]) ** 2).sum(axis=2)) / method._ball_radius
    assert radii.max() <= 1.0 + 1e-12
    # Of a ball in five dimensions, half of the volume lies within this radius.
    assert (radii <= 0.5**0.2).mean() == pytest.approx(0.5, abs=0.02)
    np.testing.assert_array_equal(method._samples([4], centres[1:])[0], samples[1])


def test_margins_are_tuned_unless_given() -> None:
    assert [each.settings()["margin"] for each in candidates(CVAS())] == [*MARGINS]
    assert len(candidates(CVAS.named("cvas", {"margin": 0.3}))) == 1
