from __future__ import annotations

import numpy as np
import pytest

from changeproof.methods.rbr.mixtures import (
    NO_TABLE,
    Mixtures,
    by_class,
    log_odds,
    log_odds_beyond,
)
from plain_searches import odds, plain_log_odds


def test_samples_by_class() -> None:
    samples = np.arange(15.0).reshape(5, 3)
    labels = np.array([True, False, True, False, False])
    rows, features, n_adverse = by_class(samples, labels)
    np.testing.assert_array_equal(rows, samples[[1, 3, 4, 0, 2]])
    np.testing.assert_array_equal(features, rows.T)
    assert n_adverse == 3


@pytest.mark.parametrize("inner", ["published", "exact"])
@pytest.mark.parametrize("classes", ["both", "adverse", "favourable"])
def test_log_odds_and_their_gradient(classes: str, inner: str) -> None:
    generator = np.random.default_rng(3)
    samples = generator.normal(size=(25, 6)) * 1.5
    labels = {
        "both": generator.random(25) < 0.4,
        "adverse": np.zeros(25, dtype=bool),
        "favourable": np.ones(25, dtype=bool),
    }[classes]
    here = generator.normal(size=6)
    value, gradient = odds(here, samples, labels, inner)
    slow_value, slow_gradient = plain_log_odds(here, samples, labels, inner)
    assert value == pytest.approx(slow_value, abs=1e-5)
    np.testing.assert_allclose(gradient, slow_gradient, atol=1e-3)
    for k in range(6):
        h = 1e-5 * np.eye(6)[k]
        left, right = (odds(here + s * h, samples, labels, inner)[0] for s in (-1, 1))
        assert gradient[k] == pytest.approx((right - left) / 2e-5, abs=1e-5)


def test_log_odds_at_a_sample_and_far_from_all() -> None:
    samples = np.array([[0.0, 0.0], [1.0, 0.0]])
    for inner in ("published", "exact"):
        for here in (samples[0].copy(), samples[1].copy(), np.array([1e4, -1e4])):
            value, gradient = odds(here, samples, np.array([False, True]), inner)
            assert np.isfinite(value) and np.isfinite(gradient).all()


def test_what_does_not_change_is_added_up_once() -> None:
    generator = np.random.default_rng(4)
    samples, here = generator.normal(size=(25, 6)), generator.normal(size=6)
    rows, features, n_adverse = by_class(samples, generator.random(25) < 0.4)
    mixtures = Mixtures(1.0, 0.5, 0.5, NO_TABLE)
    value = log_odds(here, rows, features, n_adverse, mixtures, np.empty(6))
    nothing = np.zeros(25)
    assert log_odds_beyond(here, features, n_adverse, mixtures, 6, nothing) == value
    beyond = np.square(here[2:, None] - features[2:]).sum(axis=0)
    part = log_odds_beyond(here[:2], features[:2].copy(), n_adverse, mixtures, 6, beyond)
    assert part == pytest.approx(value)
