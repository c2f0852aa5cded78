from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from changeproof import Network, Task
from changeproof.changes.outputs import (
    SMALLEST_PROBABILITY,
    IsotonicScaling,
    PlattScaling,
    calibrated,
    fitted_isotonic,
    fitted_platt,
    isotonic,
    model_logits,
    platt,
    shifted,
    with_moved_threshold,
)
from changeproof.datasets.threshold import Threshold
from changeproof.model import Floats
from changeproof.models.learner import FittedModel
from changeproof.models.thresholds import ThresholdModel


def says(probabilities: Floats) -> FittedModel:
    """A model that says the same whatever it is asked."""
    return FittedModel(lambda rows: probabilities, "fixed")


@settings(max_examples=200)
@given(threshold=st.floats(0.01, 0.99), steps=st.integers(-3, 3), other=st.floats(0.0, 1.0))
def test_a_moved_threshold_decides_to_the_last_digit(
    threshold: float, steps: int, other: float
) -> None:
    near = threshold
    for _ in range(abs(steps)):
        near = float(np.nextafter(near, float(steps > 0)))
    said = np.array([near, threshold, other, 0.0, 1.0])
    model = with_moved_threshold(says(said), threshold)
    rows = np.zeros((len(said), 1))
    np.testing.assert_array_equal(model.favourable(rows), said >= threshold)
    found = model.probabilities(rows)
    np.testing.assert_array_equal(found >= 0.5, said >= threshold)
    assert ((found >= 0) & (found <= 1)).all()
    assert found[1] == 0.5
    assert (np.diff(found[np.argsort(said)]) >= 0).all(), "the order of people stays"


def test_a_moved_threshold_divides_the_odds() -> None:
    said = np.linspace(0.01, 0.99, 50)
    for threshold in (0.45, 0.52):
        model = with_moved_threshold(says(said), threshold)
        expected = expit(logit(said) - logit(threshold))
        np.testing.assert_allclose(model.probabilities(np.zeros((50, 1))), expected, rtol=1e-12)


def test_a_line_of_the_logits_is_folded_into_a_network(
    small_task: Task, small_network: Network
) -> None:
    rows = small_task.rows("test")
    scaling = PlattScaling(0.6, -0.4)
    pairs = [
        (calibrated(small_network, scaling), scaling.probabilities(small_network, rows)),
        (
            with_moved_threshold(small_network, 0.55),
            ThresholdModel(small_network, Threshold(0.55), None).probabilities(rows),
        ),
    ]
    for folded, expected in pairs:
        assert isinstance(folded, Network)
        np.testing.assert_allclose(folded.probabilities(rows), expected, atol=1e-6)
        for layer in range(2):
            np.testing.assert_array_equal(folded.weights[layer], small_network.weights[layer])


def test_logits_are_a_models_own_or_bounded(small_task: Task, small_network: Network) -> None:
    rows = small_task.rows("test")
    np.testing.assert_array_equal(model_logits(small_network, rows), small_network.logits(rows))
    said = np.array([0.0, 0.2, 0.5, 1.0])
    found = model_logits(says(said), np.zeros((4, 1)))
    bound = logit(1 - SMALLEST_PROBABILITY)
    np.testing.assert_allclose(found, [-bound, logit(0.2), 0.0, bound], atol=1e-12)


def drawn(rows: int, slope: float, shift: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    odds = generator.normal(0.0, 2.0, rows)
    return odds, (generator.random(rows) < expit(slope * odds + shift)).astype(np.int8)


def test_platt_finds_a_known_logistic() -> None:
    found = platt(*drawn(40_000, 0.7, -0.4))
    assert found.slope == pytest.approx(0.7, abs=0.03)
    assert found.shift == pytest.approx(-0.4, abs=0.04)


@pytest.mark.parametrize("rows", [12, 300])
def test_platt_is_logistic_regression_on_softened_outcomes(rows: int) -> None:
    odds, labels = drawn(rows, 0.7, 0.3)
    many = int(labels.sum())
    targets = np.where(labels == 1, (many + 1) / (many + 2), 1 / (rows - many + 2))
    both, weights = np.repeat([1, 0], rows), np.concatenate([targets, 1 - targets])
    plain = LogisticRegression(C=1e9, tol=1e-10, max_iter=1000).fit(
        np.concatenate([odds, odds])[:, None], both, sample_weight=weights
    )
    found = platt(odds, labels)
    assert found.slope == pytest.approx(plain.coef_[0, 0], abs=1e-4)
    assert found.shift == pytest.approx(plain.intercept_[0], abs=1e-4)


@given(
    st.lists(st.tuples(st.floats(-9, 9), st.booleans()), min_size=1, max_size=30),
)
def test_platt_always_has_an_answer(people: list[tuple[float, bool]]) -> None:
    odds, labels = np.array([o for o, _ in people]), np.array([int(f) for _, f in people])
    for found in (platt(odds, labels), fitted_platt(odds, labels), shifted(odds, labels)):
        assert isinstance(found, PlattScaling)
        assert np.isfinite([found.slope, found.shift]).all()
    assert fitted_platt(odds, labels).slope > 0


def scaled(fitted: IsotonicScaling, scores: np.ndarray) -> np.ndarray:
    return fitted.probabilities(FittedModel(lambda rows: scores, "scores"), scores[:, None])


@given(
    st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=1, max_size=40),
)
def test_isotonic_is_that_of_scikit_learn(people: list[tuple[int, bool]]) -> None:
    scores, labels = np.array([s / 12 for s, _ in people]), np.array([int(f) for _, f in people])
    plain = IsotonicRegression(out_of_bounds="clip").fit(scores, labels)
    asked = np.linspace(0.0, 1.0, 101)
    np.testing.assert_allclose(scaled(isotonic(scores, labels), asked), plain.predict(asked))


def test_a_step_of_as_many_favourable_as_adverse_is_favourable() -> None:
    # 49 adverse and 49 favourable that fall: summed as shares, the step would be below 0.5.
    labels = np.array([0, *[1] * 49, *[0] * 49, 1])
    fitted = isotonic(np.arange(100) / 100, labels)
    assert fitted.values.tolist() == [0.0, 0.5, 0.5, 1.0]
    assert (scaled(fitted, np.array([0.01, 0.5, 0.98])) == 0.5).all()


def test_a_fit_that_is_of_no_use_becomes_a_shift() -> None:
    odds, labels = drawn(400, -1.0, 0.2)
    assert platt(odds, labels).slope < 0
    for fitted in (fitted_platt(odds, labels), fitted_isotonic(expit(odds), odds, 0 * labels)):
        assert isinstance(fitted, PlattScaling)
        assert fitted.slope == 1.0
    found = fitted_platt(odds, labels)
    assert expit(odds + found.shift).mean() == pytest.approx(labels.mean(), abs=0.01)
    # Hardly anybody is favourable: no step reaches 0.5, and no line does.
    rare = np.zeros(400, dtype=np.int8)
    rare[np.argsort(odds)[:3]] = 1
    assert isotonic(expit(odds), rare).values.max() < 0.5
    assert fitted_isotonic(expit(odds), odds, rare) == shifted(odds, rare)
    weak, few = drawn(400, 0.1, -2.5)
    assert not (platt(weak, few).slope * weak + platt(weak, few).shift >= 0).any()
    assert fitted_platt(weak, few) == shifted(weak, few)
