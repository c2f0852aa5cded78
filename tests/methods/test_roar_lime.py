from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from changeproof import Context, Factuals, Network, Task, load_task, tune
from changeproof.methods.roar_lime import RoarLime, walk
from changeproof.methods.search.lime import NOT_CONVERGED, ONE_CLASS, LocalSurrogates, fit_logistic
from changeproof.model import Access
from changeproof.randomness import stream


class Judge:
    """A model that gives predictions and nothing else, and counts the rows it is asked about."""

    offers = Access.PREDICTIONS

    def __init__(self, network: Network) -> None:
        self.network = network
        self.asked: list[int] = []

    def probabilities(self, rows: np.ndarray) -> np.ndarray:
        return self.network.probabilities(rows)

    def favourable(self, rows: np.ndarray) -> np.ndarray:
        self.asked.append(len(rows))
        return self.network.favourable(rows)


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


def plain_walk(
    x: np.ndarray, coefficients: np.ndarray, intercept: float, penalty: float, max_steps: int
) -> tuple[np.ndarray, int]:
    """PyTorch's Adam on the worst of all corners of the box of changes."""
    corners = torch.tensor(list(product((-0.1, 0.1), repeat=len(x) + 1)), dtype=torch.float64)
    weights = torch.tensor(coefficients) + corners[:, :-1]
    offsets = intercept + corners[:, -1]
    start = torch.tensor(x)
    here = start.clone().requires_grad_(True)
    optimiser = torch.optim.Adam([here], lr=1e-3)
    before = np.inf
    for step in range(1, max_steps + 1):
        worst = (weights @ here + offsets).min()
        loss = torch.nn.functional.softplus(-worst) + penalty * (here - start).abs().sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if abs(loss.item() - before) <= 1e-4:
            return here.detach().numpy(), step
        before = loss.item()
    return here.detach().numpy(), max_steps


def published_walk(
    x: np.ndarray, coefficients: np.ndarray, intercept: float, penalty: float, max_steps: int
) -> tuple[np.ndarray, int]:
    row = x.copy()
    steps = walk(row, x, coefficients, intercept, penalty, 0.1, 1e-3, 1e-4, max_steps)
    return row, steps


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


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    penalty=st.sampled_from([0.0005, 0.06, 0.51, 1.06]),
    max_steps=st.sampled_from([1, 2, 40]),
)
def test_walk_is_adam_on_the_worst_corner(seed: int, penalty: float, max_steps: int) -> None:
    generator = np.random.default_rng(seed)
    x, coefficients = generator.normal(size=(2, 4))
    arguments = (x, coefficients, float(generator.normal()) - 2, penalty, max_steps)
    row, steps = published_walk(*arguments)
    slow, slow_steps = plain_walk(*arguments)
    assert steps == slow_steps
    np.testing.assert_allclose(row, slow, atol=1e-10)


@pytest.mark.parametrize("penalty", [0.01, 0.16])
def test_walks_end_as_pytorchs_do(
    penalty: float, small_context: Context, small_factuals: Factuals
) -> None:
    (surrogate,) = surrogates().of(small_context, small_factuals[:1])
    arguments = (small_factuals.rows[0], surrogate.coefficients, surrogate.intercept, penalty)
    row, steps = published_walk(*arguments, 20_000)
    slow, slow_steps = plain_walk(*arguments, 20_000)
    assert 1 < steps < 20_000
    assert steps == slow_steps
    np.testing.assert_allclose(row, slow, atol=1e-7)


def test_walk_without_anywhere_to_go_stays_near() -> None:
    """A surrogate weaker than the radius: every move away from zero makes things worse."""
    row, _ = published_walk(np.array([0.05, -0.05]), np.array([0.02, 0.03]), -3.0, 0.0, 20_000)
    assert np.abs(row).max() < 0.06
    at_start = np.zeros(3)
    row, steps = published_walk(at_start, np.zeros(3), 0.0, 1.0, 20_000)
    assert steps == 2
    np.testing.assert_array_equal(row, at_start)


def test_answers_are_walks_on_surrogates(small_context: Context, small_factuals: Factuals) -> None:
    asked = small_factuals[:8]
    answers = RoarLime(penalty=0.06).fit(small_context).generate(asked)
    fitted = surrogates().of(small_context, asked)
    for i, surrogate in enumerate(fitted):
        row, steps = published_walk(
            asked.rows[i], surrogate.coefficients, surrogate.intercept, 0.06, 20_000
        )
        np.testing.assert_array_equal(answers.rows[i], row)
        assert answers.diagnostics["steps"][i] == steps
        assert answers.diagnostics["surrogate_intercept"][i] == surrogate.intercept
    assert (answers.diagnostics["penalty"] == 0.06).all()
    short = RoarLime(max_steps=7).fit(small_context).generate(asked)
    assert (short.diagnostics["steps"] == 7).all()
    assert short.found.all()


def test_every_factual_draws_from_its_own_stream(
    small_context: Context, small_factuals: Factuals
) -> None:
    x = small_factuals.rows[0]
    method = RoarLime().fit(small_context)
    twins = method.generate(Factuals(np.array([1, 2, 1]), np.array([x, x, x]))).rows
    np.testing.assert_array_equal(twins[0], twins[2])
    assert (twins[0] != twins[1]).any()
    other = Context(small_context.task, small_context.model, 2027)
    again = method.fit(other).generate(Factuals(np.array([1]), x[None])).rows
    assert (again[0] != twins[0]).any()


def test_the_same_row_id_with_another_row_is_another_factual(
    small_context: Context, small_factuals: Factuals
) -> None:
    method = RoarLime().fit(small_context)
    first, second = (Factuals(np.array([5]), small_factuals.rows[i : i + 1]) for i in (0, 1))
    method.generate(first)
    after = method.generate(second).rows
    fresh = RoarLime().fit(small_context).generate(second).rows
    np.testing.assert_array_equal(after, fresh)


def test_tuning_fits_each_surrogate_once(
    small_task: Task, small_network: Network, small_factuals: Factuals
) -> None:
    judge = Judge(small_network)
    asked = small_factuals[:5]
    candidates = RoarLime.tuning_candidates()
    table = tune(candidates, Context(small_task, judge, 2026), asked)
    assert judge.asked.count(20_000) == len(asked)
    assert len(table) == 25
    alone = RoarLime(penalty=0.21)
    pd.testing.assert_frame_equal(
        tune([alone], Context(small_task, judge, 2026), asked)[["base_validity", "distance"]],
        table[["base_validity", "distance"]].iloc[[7]].reset_index(drop=True),
    )
    assert candidates[7].settings() == alone.settings()


def test_candidates_of_one_tuning_can_be_fitted_to_another_model(
    small_context: Context, small_factuals: Factuals
) -> None:
    candidate = RoarLime.tuning_candidates()[3]
    candidate.fit(small_context).generate(small_factuals[:3])
    network = small_context.model
    assert isinstance(network, Network)
    shifted = Network(network.weights, (*network.biases[:-1], network.biases[-1] - 1))
    other = Context(small_context.task, shifted, 2026)
    moved = candidate.fit(other).generate(small_factuals[:3]).rows
    np.testing.assert_array_equal(moved, RoarLime().fit(other).generate(small_factuals[:3]).rows)


def test_grid_is_the_papers() -> None:
    grid = [candidate.penalty for candidate in RoarLime.tuning_candidates()]
    assert grid[:3] == [0.0005, 0.001, 0.005]
    np.testing.assert_allclose(grid[3:], np.arange(22) * 0.05 + 0.01)
    assert 1.06 in grid
    assert 0.16 in grid


def test_a_model_of_one_class_gets_a_reason(small_task: Task, small_factuals: Factuals) -> None:
    never = Network((np.zeros((1, 5), np.float32),), (np.array([-1], np.float32),))
    answers = RoarLime().fit(Context(small_task, never, 0)).generate(small_factuals[:3])
    assert set(answers.outcomes) == {ONE_CLASS}
    assert np.isnan(answers.diagnostics["surrogate_intercept"]).all()
    assert not answers.base_valid.any()


def test_a_factual_at_the_end_of_the_world_gets_a_reason(
    small_context: Context, small_factuals: Factuals
) -> None:
    far = small_factuals.rows * 1e10
    far = far[~small_context.model.favourable(far)][:2]
    assert len(far)
    answers = RoarLime().fit(small_context).generate(Factuals(np.arange(len(far)), far))
    assert set(answers.outcomes) == {NOT_CONVERGED}
