from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from changeproof import Context, Factuals, Network
from changeproof.methods.search.dual_simplex import INFEASIBLE, OPTIMAL, solve
from changeproof.methods.search.exact import prove
from changeproof.methods.search.minimal import MinimalSearch
from changeproof.methods.search.region import affine_forms, preactivations, region_optimum


@settings(deadline=None, max_examples=150)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 10_000))
def test_the_dual_simplex_agrees_with_highs(rows: int, variables: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    slopes = generator.normal(size=(rows, variables))
    starts = generator.normal(size=rows) * generator.choice([0.1, 1, 3]) + generator.choice([0, 1])
    capacities = generator.random(variables) * generator.choice([0.5, 3.0, 100.0])
    capacities[generator.random(variables) < 0.1] = 0.0
    status, values, prices = solve(slopes, starts, capacities, 5_000)
    limits = [(0.0, capacity) for capacity in capacities]
    expected = linprog(np.ones(variables), A_ub=-slopes, b_ub=starts, bounds=limits)
    if expected.status == 2:
        assert status == INFEASIBLE
        return
    assert status == OPTIMAL
    assert values.sum() == pytest.approx(expected.fun, abs=1e-6)
    assert (slopes @ values + starts).min() > -1e-7
    assert values.min() > -1e-8
    assert (capacities - values).min() > -1e-8
    # Prices prove optimality by themselves: they are feasible for the dual and give its value.
    reduced = 1.0 - slopes.T @ prices
    dual = -starts @ prices + (np.minimum(reduced, 0.0) * capacities).sum()
    assert prices.min() >= 0.0
    assert dual == pytest.approx(expected.fun, abs=1e-6)


def flat_of(network: Network) -> tuple[np.ndarray, np.ndarray]:
    arrays = [a.ravel() for p in zip(network.weights, network.biases, strict=True) for a in p]
    widths = np.array([network.n_features, *network.hidden])
    return np.concatenate(arrays).astype(np.float64), widths


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(1, 8), min_size=1, max_size=3), st.integers(0, 1000))
def test_within_a_region_the_network_is_affine(hidden: list[int], seed: int) -> None:
    network = Network.initialised(4, hidden, seed)
    flat, widths = flat_of(network)
    row = np.random.default_rng(seed).normal(size=4)
    values = np.empty(sum(hidden))
    turned = MinimalSearch(network, row, row, row[None])._turned
    logit = preactivations(turned, widths, row, values)
    assert logit == network.logits(row[None])[0]
    slopes, constants = np.empty((sum(hidden) + 1, 4)), np.empty(sum(hidden) + 1)
    affine_forms(flat, widths, values > 0, slopes, constants)
    np.testing.assert_allclose(slopes @ row + constants, [*values, logit], atol=1e-10)
    _, gradient = network.logits_and_gradients(row[None])
    np.testing.assert_allclose(slopes[-1], gradient[0], atol=1e-10)


def test_closed_form_of_one_neuron() -> None:
    """logit = 2 relu(x0 + 0.5 x1) - 1 from the origin: moving x0 alone is cheapest."""
    network = Network(
        (np.array([[1.0, 0.5]], np.float32), np.array([[2.0]], np.float32)),
        (np.zeros(1, np.float32), np.array([-1.0], np.float32)),
    )
    rows = np.array([[3.0, 3.0]])
    wide = MinimalSearch(network, np.full(2, -9.0), np.full(2, 9.0), rows)
    np.testing.assert_allclose(wide.search(np.zeros((1, 2)), 0.0), [[0.5, 0.0]], atol=1e-7)
    narrow = MinimalSearch(network, np.full(2, -9.0), np.array([0.2, 9.0]), rows)
    np.testing.assert_allclose(narrow.search(np.zeros((1, 2)), 0.0), [[0.2, 0.6]], atol=1e-7)
    nowhere = MinimalSearch(network, np.full(2, -9.0), np.full(2, 0.1), rows)
    assert np.isnan(nowhere.search(np.zeros((1, 2)), 0.0)).all()
    outside = wide.search(np.array([[-12.0, 0.0]]), 0.0)
    assert outside[0, 0] >= -9.0


def test_region_optimum_is_infinite_where_the_region_cannot_reach() -> None:
    network = Network(
        (np.array([[1.0]], np.float32), np.array([[1.0]], np.float32)),
        (np.zeros(1, np.float32), np.array([-1.0], np.float32)),
    )
    flat, widths = flat_of(network)
    room = np.array([5.0])
    off = region_optimum(flat, widths, np.zeros(1), room, room, np.array([False]), 0.0)
    on = region_optimum(flat, widths, np.zeros(1), room, room, np.array([True]), 0.0)
    assert off[0] == np.inf
    assert on[0] == pytest.approx(1.0)


def test_answers_reach_the_target_in_range_and_are_close_to_the_proven_optimum(
    small_context: Context, small_factuals: Factuals
) -> None:
    network = small_context.model
    assert isinstance(network, Network)
    low, high = small_context.task.training_range
    search = MinimalSearch(network, low, high, small_context.task.rows("train"))
    answers = search.search(small_factuals.rows, 0.3)
    assert (network.logits(answers) >= 0.3 - 1e-6).all()
    assert (answers >= low - 1e-12).all()
    assert (answers <= high + 1e-12).all()
    gaps = []
    for factual, answer in list(zip(small_factuals.rows, answers, strict=True))[:12]:
        origin = np.clip(factual, low, high)
        length = np.abs(answer - origin).sum()
        proof = prove(network, origin, low, high, 0.3, length)
        assert proof.proven
        assert proof.lower_bound <= length + 1e-6
        if proof.move is not None:
            assert network.logits((origin + proof.move)[None])[0] >= 0.3 - 1e-5
        gaps.append(length / proof.lower_bound - 1.0)
    assert np.mean(gaps) < 0.01
    assert np.median(gaps) < 0.0015


def test_the_exact_engine_finds_what_is_shorter(
    small_context: Context, small_factuals: Factuals
) -> None:
    network = small_context.model
    assert isinstance(network, Network)
    low, high = small_context.task.training_range
    search = MinimalSearch(network, low, high, small_context.task.rows("train"))
    origin = np.clip(small_factuals.rows[0], low, high)
    best = np.abs(search.search(origin[None], 0.3)[0] - origin).sum()
    proof = prove(network, origin, low, high, 0.3, 1.5 * best)
    assert proof.move is not None
    assert np.abs(proof.move).sum() <= best * 1.001
    exact = MinimalSearch(network, low, high, small_context.task.rows("train"), engine="exact")
    assert np.abs(exact.search(origin[None], 0.3)[0] - origin).sum() <= best + 1e-6


def test_a_tiny_budget_proves_nothing(small_context: Context, small_factuals: Factuals) -> None:
    network = small_context.model
    assert isinstance(network, Network)
    low, high = small_context.task.training_range
    origin = np.clip(small_factuals.rows[1], low, high)
    proof = prove(network, origin, low, high, 3.0, 30.0, max_nodes=1)
    assert not proof.proven


def test_a_larger_target_is_never_closer(small_context: Context, small_factuals: Factuals) -> None:
    network = small_context.model
    assert isinstance(network, Network)
    low, high = small_context.task.training_range
    search = MinimalSearch(network, low, high, small_context.task.rows("train"))
    rows = small_factuals.rows[:15]
    inside = np.clip(rows, low, high)
    lengths = [np.abs(search.search(rows, t) - inside).sum(axis=1) for t in (0.0, 0.4, 0.8)]
    assert (lengths[0] <= lengths[1] * 1.02).all()
    assert (lengths[1] <= lengths[2] * 1.02).all()
