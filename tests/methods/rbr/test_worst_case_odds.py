from __future__ import annotations

import numpy as np
import pytest

from changeproof.methods.rbr import Mixtures, all_log_odds, log_odds
from plain_searches import by_class, odds, plain_log_odds


@pytest.mark.parametrize("classes", ["both", "adverse", "favourable"])
def test_log_odds_and_their_gradient(classes: str) -> None:
    generator = np.random.default_rng(3)
    samples = generator.normal(size=(25, 6)) * 1.5
    labels = {
        "both": generator.random(25) < 0.4,
        "adverse": np.zeros(25, dtype=bool),
        "favourable": np.ones(25, dtype=bool),
    }[classes]
    here = generator.normal(size=6)
    value, gradient = odds(here, samples, labels)
    slow_value, slow_gradient = plain_log_odds(here, samples, labels)
    assert value == pytest.approx(slow_value, abs=1e-5)
    np.testing.assert_allclose(gradient, slow_gradient, atol=1e-3)
    for k in range(6):
        h = 1e-5 * np.eye(6)[k]
        left, right = (odds(here + s * h, samples, labels)[0] for s in (-1, 1))
        assert gradient[k] == pytest.approx((right - left) / 2e-5, abs=1e-5)


def test_log_odds_at_a_sample_and_far_from_all() -> None:
    samples = np.array([[0.0, 0.0], [1.0, 0.0]])
    for here in (samples[0].copy(), samples[1].copy(), np.array([1e4, -1e4])):
        value, gradient = odds(here, samples, np.array([False, True]))
        assert np.isfinite(value) and np.isfinite(gradient).all()


def test_many_rows_of_many_people_have_the_odds_of_each() -> None:
    generator = np.random.default_rng(4)
    samples, rows = generator.normal(size=(3, 25, 6)), generator.normal(size=(7, 6))
    people = np.array([0, 2, 1, 1, 0, 2, 2])
    mixtures = Mixtures(1.0, 0.5, 0.5)
    known = [by_class(each, generator.random(25) < 0.4) for each in samples]
    features, adverse = np.array([k[0] for k in known]), np.array([k[1] for k in known])
    together = all_log_odds(rows, people, features, adverse, mixtures)
    for row, person, value in zip(rows, people, together, strict=True):
        assert value == log_odds(row, *known[person], mixtures, np.empty(6))
