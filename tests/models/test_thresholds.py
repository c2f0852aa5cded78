from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from changeproof import InputError, Task
from changeproof.changes.outputs import Recalibration
from changeproof.datasets.threshold import Threshold
from changeproof.models.altered import remeasured
from changeproof.models.estimator import EstimatorLearner
from changeproof.models.find import with_alternatives
from changeproof.models.learner import FunctionLearner, Learner
from changeproof.models.module import ModuleLearner
from changeproof.models.network import NetworkLearner
from changeproof.models.thresholds import (
    ThresholdLearner,
    at_threshold,
    own_scores,
    with_threshold,
)
from changeproof.networks.network import Network
from changeproof.networks.training import TrainingRecipe

BASE = TrainingRecipe(initialisation_seed=2026)


@pytest.fixture(scope="module")
def task() -> Task:
    generator = np.random.default_rng(3)
    rows = generator.normal(size=(120, 2))
    labels = (rows.sum(axis=1) + generator.normal(0, 0.5, 120) > 0).astype(int)
    return Task("two", pd.DataFrame(rows, columns=["a", "b"]), labels)


def test_a_threshold_is_read_as_people_write_it() -> None:
    assert Threshold.of("0.6") == Threshold(0.6)
    assert Threshold.of(">=620") == Threshold.of(620) == Threshold(620.0)
    assert Threshold.of("<= 0.2") == Threshold(0.2, lower=True)
    texts = ["0.6", "<=0.2", "620", "0.123456789012345"]
    assert [str(Threshold.of(text)) for text in texts] == texts


@pytest.mark.parametrize("given", ["high", "nan", "inf", "", "0.5.5", "<0.2", True])
def test_what_is_no_number_is_no_threshold(given: object) -> None:
    with pytest.raises(InputError, match=r"is not a number; expected for instance 0\.6, 620"):
        Threshold.of(given)


@given(
    st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30),
    st.floats(0.001, 0.999),
    st.booleans(),
)
def test_probabilities_cross_a_half_exactly_at_the_threshold(
    shares: list[float], at: float, lower: bool
) -> None:
    scores, threshold = np.sort(np.array([*shares, at])), Threshold(at, lower)
    mapped = threshold.probabilities(scores, threshold.scale_of(scores))
    assert threshold.scale_of(scores) is None
    np.testing.assert_array_equal(mapped >= 0.5, scores <= at if lower else scores >= at)
    steps = np.diff(mapped) * (-1 if lower else 1)
    assert (steps >= 0).all() and mapped.min() >= 0.0 and mapped.max() <= 1.0


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30),
    st.floats(-1e6, 1e6),
    st.booleans(),
)
def test_scores_cross_a_half_exactly_at_the_threshold(
    values: list[float], at: float, lower: bool
) -> None:
    scores, threshold = np.sort(np.array([*values, at])), Threshold(at, lower)
    mapped = threshold.probabilities(scores, 1.0 + float(scores.std()))
    np.testing.assert_array_equal(mapped >= 0.5, threshold.accepts(scores))
    np.testing.assert_array_equal(threshold.margins(scores) >= 0.0, threshold.accepts(scores))
    assert (np.diff(mapped) * (-1 if lower else 1) >= 0).all()


def test_a_mapped_probability_is_the_difference_of_logits() -> None:
    shares = np.array([0.1, 0.5, 0.7, 0.9])
    mapped = Threshold(0.7).probabilities(shares, None)
    logit = np.log(shares / (1 - shares)) - np.log(0.7 / 0.3)
    np.testing.assert_allclose(mapped, 1 / (1 + np.exp(-logit)), rtol=1e-12)
    np.testing.assert_allclose(Threshold(0.7).original(mapped), shares, rtol=1e-12)


def test_a_network_has_its_last_bias_moved_and_stays_one(task: Task) -> None:
    plain = NetworkLearner((4,)).train([BASE], task)[0]
    learner = ThresholdLearner(NetworkLearner((4,)), Threshold(0.8))
    moved = learner.train([BASE], task)[0]
    assert isinstance(plain, Network) and isinstance(moved, Network)
    rows = task.rows("test")
    np.testing.assert_allclose(moved.logits(rows), plain.logits(rows) - np.log(4.0), atol=1e-6)
    np.testing.assert_array_equal(moved.favourable(rows), plain.probabilities(rows) >= 0.8)
    assert learner.stores_models and learner.traits.offers == NetworkLearner().traits.offers
    scores, threshold = own_scores(moved, rows, learner.threshold)
    np.testing.assert_allclose(scores, plain.probabilities(rows), rtol=1e-6)
    assert threshold == Threshold(0.8)
    nudged = learner.perturbed(moved, 0.01, 7)
    assert isinstance(nudged, Network)
    assert np.abs(nudged.biases[-1] - moved.biases[-1]).max() <= 0.0101


def test_an_estimator_decides_at_its_own_probabilities(task: Task) -> None:
    inner = EstimatorLearner(LogisticRegression())
    learner = at_threshold(inner, "0.62")
    model, plain = learner.train([BASE], task)[0], inner.train([BASE], task)[0]
    rows = task.rows("test")
    shares = plain.probabilities(rows)
    np.testing.assert_array_equal(model.favourable(rows), shares >= 0.62)
    np.testing.assert_array_equal(model.probabilities(rows) >= 0.5, shares >= 0.62)
    assert at_threshold(inner, None) is inner
    assert learner.fingerprint != inner.fingerprint != at_threshold(inner, "0.61").fingerprint
    settings = learner.configurations()
    assert all(isinstance(other.learner, ThresholdLearner) for other in settings)
    assert [other.level for other in settings] == [o.level for o in inner.configurations()]


@pytest.mark.parametrize(("threshold", "sign"), [("620", 1.0), ("<=-620", -1.0)])
def test_scores_of_any_kind_are_compared_as_they_are(
    task: Task, threshold: str, sign: float
) -> None:
    def fit(X, y, sample_weight, seed):  # type: ignore[no-untyped-def]
        return lambda rows: sign * (600 + 50 * rows[:, 0])

    inner = with_alternatives(FunctionLearner(fit), None, None)
    learner = at_threshold(inner, threshold)
    model, rows = learner.train([BASE], task)[0], task.rows("test")
    np.testing.assert_array_equal(model.favourable(rows), 600 + 50 * rows[:, 0] >= 620)
    np.testing.assert_array_equal(model.probabilities(rows) >= 0.5, model.favourable(rows))
    assert 0.01 < model.probabilities(rows).min() < model.probabilities(rows).max() < 0.99
    # Other kinds give probabilities, for which this is no threshold.
    assert inner.replacements() and not learner.replacements()


def test_gradients_are_those_of_the_moved_logit(task: Task) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra: torch)")

    def build(n_features: int) -> object:
        return torch.nn.Linear(n_features, 1)

    learner = ModuleLearner(build, lambda *given: None, name="line")
    plain = learner.train([BASE], task)[0]
    moved = at_threshold(learner, "0.8").train([BASE], task)[0]
    rows = task.rows("test")[:5]
    logits, gradients = plain.logits_and_gradients(rows)  # type: ignore[attr-defined]
    shifted, same = moved.logits_and_gradients(rows)  # type: ignore[attr-defined]
    np.testing.assert_allclose(shifted, logits - np.log(4.0), rtol=1e-12)
    np.testing.assert_array_equal(same, gradients)
    assert moved.offers == plain.offers


@pytest.mark.parametrize(
    ("threshold", "reason"),
    [
        ("620", "threshold 620: mlp gives probabilities; expected a number between 0 and 1"),
        ("1", "expected a number between 0 and 1"),
        ("<=0.2", "threshold <=0.2: mlp gives probabilities; .* more is better"),
    ],
)
def test_thresholds_that_make_no_sense_are_refused(threshold: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        at_threshold(NetworkLearner(), threshold)


def test_the_scale_is_that_of_the_training_rows(task: Task) -> None:
    model = EstimatorLearner(LogisticRegression()).train([BASE], task)[0]
    assert with_threshold(model, Threshold(0.4), task.rows("train")).scale is None
    beyond = with_threshold(model, Threshold(2.0), task.rows("train"))
    assert beyond.scale == pytest.approx(model.probabilities(task.rows("train")).std())


@pytest.mark.parametrize("inner", [NetworkLearner((4,)), EstimatorLearner(LogisticRegression())])
def test_every_answer_of_a_learner_is_passed_on(inner: Learner) -> None:
    learner = at_threshold(inner, "0.6")
    for question in ("soft_labels", "weighs_rows", "original", "has_weights", "has_parameters"):
        assert getattr(learner.traits, question) == getattr(inner.traits, question), question
    assert Recalibration().reason_against(inner) is None
    assert "another threshold" in str(Recalibration().reason_against(learner))


def test_what_is_trained_further_or_taught_has_the_threshold_once(task: Task) -> None:
    plain, learner = NetworkLearner((4,)), at_threshold(NetworkLearner((4,)), "0.7")
    today, decided = plain.train([BASE], task)[0], learner.train([BASE], task)[0]
    rows = task.rows("test")
    further = {"initialisation_seed": 1, "hidden": (4,), "max_epochs": 1, "learning_rate": 1e-9}
    again = learner.train([TrainingRecipe(start=decided, **further)], task)[0]  # type: ignore[arg-type]
    np.testing.assert_allclose(again.probabilities(rows), decided.probabilities(rows), atol=1e-5)
    assert (np.abs(today.probabilities(rows) - decided.probabilities(rows)) > 0.01).any()
    every = np.concatenate([task.rows("train"), task.rows("update")])
    taught = TrainingRecipe(initialisation_seed=1, labels=decided.probabilities(every))
    student, same = learner.train([taught], task)[0], plain.train([taught], task)[0]
    np.testing.assert_array_equal(student.probabilities(rows), same.probabilities(rows))


def test_weights_and_measurements_change_under_a_threshold(task: Task) -> None:
    rows = task.rows("test")
    for inner in (NetworkLearner((4,)), EstimatorLearner(LogisticRegression())):
        learner = at_threshold(inner, "0.7")
        model = learner.train([BASE], task)[0]
        same = learner.with_weights(model, learner.weights(model))
        np.testing.assert_array_equal(same.probabilities(rows), model.probabilities(rows))
        ones, zeros = np.ones(task.n_features), np.zeros(task.n_features)
        unmoved = remeasured(model, ones, zeros)
        np.testing.assert_array_equal(unmoved.favourable(rows), model.favourable(rows))
