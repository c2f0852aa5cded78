from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from changeproof import InputError, Network, NetworkLearner, Task, TrainingRecipe
from changeproof.model import Floats, Model
from changeproof.models.adjusted import (
    SMALLEST_PROBABILITY,
    AdjustedModel,
    Adjustment,
    MovedThreshold,
    RemeasuredModel,
    log_odds,
)
from changeproof.models.calibration import PlattScaling
from changeproof.models.estimator import EstimatorLearner
from changeproof.models.learner import FittedModel


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
    model = AdjustedModel(says(said), MovedThreshold(threshold))
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
        model = AdjustedModel(says(said), MovedThreshold(threshold))
        expected = expit(logit(said) - logit(threshold))
        np.testing.assert_allclose(model.probabilities(np.zeros((50, 1))), expected, rtol=1e-12)
        slope, shift = MovedThreshold(threshold).line
        assert (slope, shift) == (1.0, pytest.approx(-logit(threshold)))


@pytest.mark.parametrize("adjustment", [MovedThreshold(0.55), PlattScaling(0.6, -0.4)])
def test_a_line_of_the_log_odds_is_folded_into_a_network(
    adjustment: Adjustment, small_task: Task, small_network: Network
) -> None:
    rows = small_task.rows("test")
    folded = NetworkLearner().adjusted(small_network, adjustment)
    assert isinstance(folded, Network)
    wrapped = AdjustedModel(small_network, adjustment)
    np.testing.assert_allclose(folded.probabilities(rows), wrapped.probabilities(rows), atol=1e-6)
    for layer in range(2):
        np.testing.assert_array_equal(folded.weights[layer], small_network.weights[layer])


def test_a_measurement_is_folded_into_a_network(small_task: Task, small_network: Network) -> None:
    generator = np.random.default_rng(0)
    gains, offsets = 1 + generator.normal(size=5) / 10, generator.normal(size=5) / 10
    folded = NetworkLearner().remeasured(small_network, gains, offsets)
    wrapped = RemeasuredModel(small_network, gains, offsets)
    rows = small_task.rows("test")
    np.testing.assert_allclose(folded.probabilities(rows), wrapped.probabilities(rows), atol=1e-6)
    expected = small_network.logits(rows * gains + offsets) >= 0
    np.testing.assert_array_equal(wrapped.favourable(rows), expected)


def test_log_odds_are_a_models_own_or_bounded(small_task: Task, small_network: Network) -> None:
    rows = small_task.rows("test")
    np.testing.assert_array_equal(log_odds(small_network, rows), small_network.logits(rows))
    said = np.array([0.0, 0.2, 0.5, 1.0])
    found = log_odds(says(said), np.zeros((4, 1)))
    bound = logit(1 - SMALLEST_PROBABILITY)
    np.testing.assert_allclose(found, [-bound, logit(0.2), 0.0, bound], atol=1e-12)


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        LogisticRegressionCV(
            Cs=2, cv=2, l1_ratios=(0,), use_legacy_attributes=False, scoring="neg_log_loss"
        ),
        SGDClassifier(loss="log_loss"),
        LinearDiscriminantAnalysis(),
        MLPClassifier((4,), max_iter=20),
    ],
    ids=["linear", "pipeline", "chosen", "descent", "discriminant", "perceptron"],
)
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_weights_of_estimators_can_be_read_and_changed(estimator: object, cancer: Task) -> None:
    learner, rows = EstimatorLearner(estimator), cancer.rows("test")
    model: Model = learner.train([TrainingRecipe(initialisation_seed=1)], cancer)[0]
    before = model.probabilities(rows)
    weights = learner.weights(model)
    assert [weight.shape[0] for weight in weights] in ([1], [4, 1])
    same = learner.with_weights(model, weights)
    np.testing.assert_array_equal(same.probabilities(rows), before)
    nothing = learner.with_weights(model, [np.zeros_like(weight) for weight in weights])
    assert len(set(nothing.probabilities(rows))) == 1
    np.testing.assert_array_equal(model.probabilities(rows), before)


def test_models_without_weights_say_so(small_network: Network) -> None:
    forest = EstimatorLearner(RandomForestClassifier())
    assert not forest.traits.has_weights
    assert EstimatorLearner(LogisticRegression()).traits.has_weights
    with pytest.raises(InputError, match="expected a scikit-learn model; got Network"):
        EstimatorLearner(LogisticRegression()).weights(small_network)
    with pytest.raises(InputError, match="expected a network of ours; got FittedModel"):
        NetworkLearner().weights(says(np.zeros(1)))
