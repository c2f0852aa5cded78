from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from changeproof import Context, Factuals, Network, Task, tune
from changeproof.methods.roar_lime.lime import NOT_CONVERGED, ONE_CLASS
from changeproof.methods.roar_lime.method import RoarLime, walk
from plain_searches import Judge


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
    (surrogate,) = RoarLime()._surrogates.of(small_context, small_factuals[:1])
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
    fitted = RoarLime()._surrogates.of(small_context, asked)
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
    judge = Judge(small_network.favourable)
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
