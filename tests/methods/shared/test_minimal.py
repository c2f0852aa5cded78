from __future__ import annotations

import numpy as np

from benchmarks.minimal_proof import prove
from changeproof import Context, Factuals, Network
from changeproof.methods.shared.minimal import MinimalSearch


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
    for factual, answer in list(zip(small_factuals.rows, answers, strict=True))[:6]:
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
    proof = prove(network, origin, low, high, 0.3, 1.2 * best)
    assert proof.move is not None
    assert np.abs(proof.move).sum() <= best * 1.001


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
