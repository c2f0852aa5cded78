from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from changeproof.methods.rbr import corner, optimistic
from plain_searches import plain_optimistic

DISTANCES = (0.0, 0.2, 0.5, 0.51, 0.8, 1.2, 1.499, 1.5, 1.6, 2.3, 4.0, 7.0, 30.0)


@pytest.mark.parametrize(("sigma", "radius"), [(1.0, 0.5), (0.5, 1.0)])
@pytest.mark.parametrize("p", [1, 2, 8, 30])
def test_bounds_are_the_minima(p: int, sigma: float, radius: float) -> None:
    for c in DISTANCES:
        value, slope = optimistic(c, p, sigma, radius)
        slow_value, slow_slope = plain_optimistic(c, p, sigma, radius)
        assert value <= slow_value + 1e-9
        assert value == pytest.approx(slow_value, abs=1e-6, rel=1e-5)
        # At a kink two minima are equally good and either derivative is right.
        h = 1e-6 * (1 + c)
        left, right = (optimistic(max(c + s * h, 0.0), p, sigma, radius)[0] for s in (-1, 1))
        numerical = (right - left) / (c + h - max(c - h, 0.0))
        assert slope == pytest.approx(numerical, abs=1e-3, rel=1e-4)
        assert slope == pytest.approx(slow_slope, abs=2e-3, rel=1e-3)


def test_bounds_in_closed_form() -> None:
    # Nothing may move: a plain Gaussian, up to the constants.
    for c in (0.0, 0.7, 3.0):
        assert optimistic(c, 4, 1.0, 0.0) == pytest.approx((c**2 / 2, c))
        assert corner(c, 4, 1.0, 0.0) == pytest.approx((-(c**2) / 2, -c))
    # The mean moves onto the point, or all the way towards it.
    assert optimistic(0.4, 3, 2.0, 0.5) == pytest.approx((3 * math.log(2), 0.0))
    assert optimistic(1.5, 3, 1.0, 0.5) == pytest.approx((0.5, 1.0))
    # All of the radius takes the mean farther.
    assert corner(3.0, 1, 1.0, 0.5) == pytest.approx((-(3.5**2) / 2, -3.5))
    # Whatever moves, a point gets no less likely at best and no likelier at worst.
    for c in DISTANCES:
        assert optimistic(c, 8, 1.0, 0.5)[0] <= c**2 / 2
        assert corner(c, 8, 1.0, 0.5)[0] <= -(c**2) / 2


def test_optimistic_is_solved_to_the_last_digits() -> None:
    generator = np.random.default_rng(0)
    for sigma, radius in ((1.0, 0.5), (0.5, 1.0), (1e-3, 1.0), (1.0, 1e-3)):
        for c in (sigma + radius) * (1.0 + 10.0 ** generator.uniform(-6, 3, 100)):
            value, slope = optimistic(c, 5, sigma, radius)

            def rise(angle: float, c: float = c, s: float = sigma, r: float = radius) -> float:
                t = (s + r * math.sin(angle)) / (c - r * math.cos(angle))
                return math.cos(angle) * (t**2 - 1) + t * math.sin(angle)

            angle = brentq(rise, 0.0, math.pi / 2, xtol=1e-15, rtol=1e-15)
            gap, deviation = c - radius * math.cos(angle), sigma + radius * math.sin(angle)
            plain = math.log(deviation) + (gap / deviation) ** 2 / 2 + 4 * math.log(sigma)
            assert value == pytest.approx(plain, rel=1e-12, abs=1e-12)
            assert slope == pytest.approx(gap / deviation**2, rel=1e-11)


@pytest.mark.parametrize(("sigma", "radius"), [(1.0, 0.5), (0.5, 1.0)])
@pytest.mark.parametrize("p", [1, 2, 8, 30])
def test_the_published_corner(p: int, sigma: float, radius: float) -> None:
    for c in DISTANCES:
        value, slope = corner(c, p, sigma, radius)
        # The objective of the inner search at sqrt(p) u0 = radius, u1 = 0.
        u0 = radius / math.sqrt(p)
        plain = -math.log(sigma) - (c + math.sqrt(p) * u0) ** 2 / (2 * sigma**2)
        assert value == pytest.approx(plain - (p - 1) * math.log(sigma))
        assert slope == pytest.approx(-(c + radius) / sigma**2)
