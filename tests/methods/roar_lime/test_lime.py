from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from changeproof import Context, Factuals, Network, Task, load_task
from changeproof.methods.roar_lime.lime import LocalSurrogates, fit_logistic
from changeproof.randomness import stream


def surrogates(n_samples: int = 20_000, decimals: int = 4) -> LocalSurrogates:
    return LocalSurrogates(
        n_samples=n_samples, kernel_width=0.75, inverse_penalty=1.0, decimals=decimals
    )


def plain_lime(
    context: Context, row_id: int, x: np.ndarray, *, tolerance: float
) -> tuple[np.ndarray, float]:
    """LIME's scheme step by step, solved by scikit-learn; also the weighted accuracy."""
    scaler = StandardScaler().fit(context.task.rows("train"))
    generator = stream(context.task.name, context.base_seed, "lime", row_id)
    data = generator.standard_normal((20_000, len(x))) * scaler.scale_ + scaler.mean_
    data[0] = x
    scaled = (data - scaler.mean_) / scaler.scale_
    distances = np.linalg.norm(scaled - scaled[0], axis=1)
    weights = np.sqrt(np.exp(-(distances**2) / (0.75 * np.sqrt(len(x))) ** 2))
    labels = context.model.probabilities(data) >= 0.5
    model = LogisticRegression(C=1.0, tol=tolerance, max_iter=10_000)
    with threadpool_limits(limits=1):
        model.fit(scaled, labels, sample_weight=weights)
    return np.append(model.coef_[0], model.intercept_), model.score(scaled, labels, weights)


def test_surrogates_are_limes(
    small_context: Context, small_factuals: Factuals, cancer: Task, cancer_network: Network
) -> None:
    rows = cancer.rows("test")
    adverse = np.flatnonzero(~cancer_network.favourable(rows))[:1]
    cancer_factuals = Factuals(cancer.row_ids("test")[adverse], rows[adverse])
    for context, factuals in (
        (small_context, small_factuals[:2]),
        (Context(cancer, cancer_network, 2026), cancer_factuals),
    ):
        exact = surrogates(decimals=12).of(context, factuals)
        rounded = surrogates().of(context, factuals)
        for i, (row_id, x) in enumerate(zip(factuals.row_ids, factuals.rows, strict=True)):
            ours = np.append(exact[i].coefficients, exact[i].intercept)
            best, accuracy = plain_lime(context, int(row_id), x, tolerance=1e-10)
            np.testing.assert_allclose(ours, best, atol=2e-6)
            assert exact[i].accuracy == pytest.approx(accuracy, abs=1e-3)
            early, _ = plain_lime(context, int(row_id), x, tolerance=1e-4)
            np.testing.assert_allclose(ours, early, atol=0.03)
            np.testing.assert_array_equal(rounded[i].coefficients, np.round(ours[:-1], 4))
            assert rounded[i].intercept == round(ours[-1], 4)


@pytest.mark.parametrize("name", ["breast-cancer", "diabetes", "heloc", "wine-quality"])
def test_limes_scale_is_the_one_that_rows_are_in(name: str) -> None:
    scaler = StandardScaler().fit(load_task(name).rows("train"))
    np.testing.assert_allclose(scaler.mean_, 0, atol=1e-9)
    np.testing.assert_allclose(scaler.scale_, 1, atol=1e-9)


def test_limes_scale_of_a_constant_feature_is_one(small_task: Task) -> None:
    frame = small_task.frame.assign(b=3.0)
    scaler = StandardScaler().fit(Task("constant", frame, small_task.labels).rows("train"))
    assert scaler.scale_[1] == 1
    assert scaler.mean_[1] == 0


@settings(max_examples=60, deadline=None)
@given(
    n_samples=st.integers(2, 700),
    n_features=st.integers(1, 9),
    scale=st.sampled_from([0.01, 1.0, 30.0]),
    inverse_penalty=st.sampled_from([0.1, 1.0, 100.0]),
    seed=st.integers(0, 2**32 - 1),
)
def test_regression_ends_where_the_slope_vanishes(
    n_samples: int, n_features: int, scale: float, inverse_penalty: float, seed: int
) -> None:
    generator = np.random.default_rng(seed)
    samples = scale * generator.normal(size=(n_samples, n_features))
    favourable = samples[:, 0] + scale * generator.normal(size=n_samples) > 0
    favourable[:2] = False, True
    weights = generator.random(n_samples) + 1e-3
    fit = fit_logistic(samples, favourable, weights, inverse_penalty)
    assert fit.converged
    wide = np.column_stack((samples, np.ones(n_samples)))
    logits = wide @ fit.parameters
    pull = np.append(fit.parameters[:-1] / inverse_penalty, 0)
    slope = wide.T @ (weights * (expit(logits) - favourable)) + pull
    assert np.abs(slope).max() <= 1e-6 * weights.sum()


def test_regression_on_one_feature_in_closed_form() -> None:
    """With balanced samples at +1 and -1 the slope w solves w = n (share - expit(w))."""
    samples = np.repeat([[1.0], [1.0], [-1.0], [-1.0]], [30, 10, 30, 10], axis=0)
    favourable = np.repeat([True, False, False, True], [30, 10, 30, 10])
    fit = fit_logistic(samples, favourable, np.ones(80), 1.0)
    weight, intercept = fit.parameters
    assert intercept == pytest.approx(0, abs=1e-12)
    assert weight == pytest.approx(80 * (0.75 - expit(weight)), abs=1e-9)
    assert fit.accuracy == pytest.approx(0.75)
    loose = fit_logistic(samples, favourable, np.ones(80), 1e12)
    assert loose.parameters[0] == pytest.approx(np.log(3), abs=1e-6)


def test_very_many_features_are_fitted_without_their_products() -> None:
    generator = np.random.default_rng(8)
    samples = generator.standard_normal((600, 210))
    favourable = samples @ generator.normal(size=210) + generator.normal(size=600) > 0.0
    weights = generator.random(600)
    fit = fit_logistic(samples, favourable, weights, 1.0)
    model = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000)
    with threadpool_limits(limits=1):
        model.fit(samples, favourable, sample_weight=weights)
    assert fit.converged
    expected = np.append(model.coef_[0], model.intercept_)
    np.testing.assert_allclose(fit.parameters, expected, atol=1e-4)
    assert fit.accuracy == pytest.approx(model.score(samples, favourable, weights))


def test_wide_tables_have_fewer_samples() -> None:
    drawn = []

    class Judge(Network):
        def favourable(self, rows: np.ndarray) -> np.ndarray:
            drawn.append(len(rows))
            return np.zeros(len(rows), dtype=bool)

    for features, expected in ((200, 500), (400, 250)):
        frame = pd.DataFrame(np.random.default_rng(9).normal(size=(40, features)))
        task = Task("samples", frame.rename(columns=str), np.arange(40) % 2)
        network = Network.initialised(features, (2,), 1)
        judge = Judge(network.weights, network.biases)
        factuals = Factuals(task.row_ids("test")[:1], task.rows("test")[:1])
        surrogates(500).of(Context(task, judge, 1), factuals)
        assert drawn[-1] == expected
