"""Judges: kinds count the same, and narrow acceptances tell of failures that nobody saw."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from changeproof import Network
from changeproof.methods.quorum.points import Jury
from changeproof.methods.quorum.pool import Judges, Member
from changeproof.models.learner import ModelStack

COLUMNS = 3
ROWS = np.random.default_rng(0).normal(size=(400, COLUMNS))


def linear(slope: float, bias: float) -> Network:
    weights = np.full((1, COLUMNS), slope, np.float32)
    return Network((weights,), (np.array([bias], np.float32),))


def judged_by(kinds: list[tuple[str, float]], biases: list[float]) -> Judges:
    models = [linear(1.0, bias) for bias in biases]
    network = models[0]
    members = [Member(network, None, *kind) for kind in kinds]
    return Judges.of(members, models, ROWS)


def test_kinds_count_the_same_and_so_do_the_strengths_of_a_kind() -> None:
    kinds = [("a", 0.0)] * 3 + [("b", 0.1), ("b", 0.5), ("b", 0.5)]
    judges = judged_by(kinds, [1.0, 1.0, -1.0, 1.0, 1.0, -1.0])
    row = np.zeros((1, COLUMNS))
    refused, _ = judges.refusals(row)
    assert refused[0] == pytest.approx(0.5 * (1 / 3) + 0.25 * 0.0 + 0.25 * 0.5)
    assert judges.weights.sum() == pytest.approx(1.0)


def test_what_is_expected_is_the_tail_of_a_normal_distribution() -> None:
    biases = [0.5, 1.0, 2.5]
    judges = judged_by([("a", 0.0)] * 3, biases)
    refused, expected = judges.refusals(np.zeros((1, COLUMNS)))
    units = Jury.in_own_units(tuple(linear(1.0, bias) for bias in biases), ROWS).units
    assert units is not None
    sure = np.array(biases) / units
    assert refused[0] == 0.0
    assert expected[0] == pytest.approx(norm.cdf(-sure.mean() / sure.std()))


def test_rare_failures_are_expected_about_as_often_as_they_happen() -> None:
    """Known failure rates of 0.1 to 5 %, told by twelve judges a time, none of whom may fail."""
    generator = np.random.default_rng(1)
    for rate in (0.05, 0.01, 0.001):
        told = []
        for _ in range(200):
            biases = norm.isf(rate) + generator.normal(size=12)
            judges = judged_by([("a", 0.0)] * 12, biases.tolist())
            # One unit for all: their usual log odds differ by the draw of the bias.
            assert judges.jury.units is not None
            judges.jury.units[:] = 1.0
            told.append(judges.refusals(np.zeros((1, COLUMNS)))[1][0])
        assert 0.5 * rate < np.mean(told) < 2.5 * rate


def test_log_odds_and_units_of_networks_and_of_other_models_are_the_same_things() -> None:
    networks = (linear(1.0, 0.25), linear(2.0, 0.5))
    others = Jury(networks)
    vars(others)["stack"] = ModelStack(networks)
    np.testing.assert_allclose(Jury(networks).log_odds(ROWS), others.log_odds(ROWS), atol=1e-9)
    # Twice as sure of itself, and otherwise the same.
    units = Jury.in_own_units(networks, ROWS).units
    assert units is not None
    first, second = units
    assert second == pytest.approx(2.0 * first)
