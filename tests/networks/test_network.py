from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.plain.training import largest_difference, plain_network
from changeproof import InputError, Network
from changeproof.networks import network as module

SHAPES = [(30, (32, 32)), (8, (8,)), (11, (5, 7, 3)), (20, (128, 64)), (3, ()), (1, (1,))]


@pytest.mark.parametrize(("n_features", "hidden"), SHAPES)
@pytest.mark.parametrize("seed", [0, 2026])
def test_initialisation_is_pytorchs(n_features: int, hidden: tuple[int, ...], seed: int) -> None:
    ours = Network.initialised(n_features, hidden, seed)
    # Where PyTorch has no fused arithmetic, it rounds twice: see test_draws.py.
    fused = torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512")
    difference = largest_difference(ours, plain_network(n_features, hidden, seed))
    assert difference <= (0.0 if fused else 2.0**-23)
    assert (ours.n_features, ours.hidden) == (n_features, hidden)


def test_initialisation_leaves_the_global_generator_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    Network.initialised(4, (3,), 9)
    assert torch.equal(torch.rand(3), expected)


@settings(deadline=None, max_examples=40)
@given(
    n_features=st.integers(1, 13),
    hidden=st.lists(st.integers(1, 9), max_size=3),
    n_rows=st.integers(0, 70),
    seed=st.integers(0, 1000),
)
def test_logits_and_gradients_are_those_of_autograd(
    n_features: int, hidden: list[int], n_rows: int, seed: int
) -> None:
    network = Network.initialised(n_features, hidden, seed)
    rows = np.random.default_rng(seed).normal(size=(n_rows, n_features)) * 3
    module = network.to_torch().double()
    inputs = torch.tensor(rows, requires_grad=True)
    expected = module[:-1](inputs)[:, 0]
    (slopes,) = torch.autograd.grad(expected.sum(), inputs)
    logits, gradients = network.logits_and_gradients(rows)
    np.testing.assert_allclose(logits, expected.detach(), atol=1e-12)
    np.testing.assert_allclose(network.logits(rows), expected.detach(), atol=1e-12)
    np.testing.assert_allclose(gradients, slopes, atol=1e-12)
    probabilities = module(inputs)[:, 0].detach()
    np.testing.assert_allclose(network.probabilities(rows), probabilities, atol=1e-12)


def test_a_row_is_judged_alike_in_any_company() -> None:
    network = Network.initialised(7, (32, 32), 1)
    rows = np.random.default_rng(0).normal(size=(1000, 7))
    logits, gradients = network.logits_and_gradients(rows)
    for chosen in (slice(0, 1), slice(17, 18), slice(500, 777), slice(None, None, -1)):
        np.testing.assert_array_equal(network.logits(rows[chosen]), logits[chosen])
        alone = network.logits_and_gradients(rows[chosen])
        np.testing.assert_array_equal(alone[0], logits[chosen])
        np.testing.assert_array_equal(alone[1], gradients[chosen])


def test_many_rows_are_judged_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    network = Network.initialised(7, (32, 32), 1)
    rows = np.random.default_rng(0).normal(size=(1000, 7))
    whole = network.logits(rows)
    longest = []
    tile_rows = module.tile_rows

    def counted(rows: np.ndarray, *more: Any) -> np.ndarray:
        longest.append(len(rows))
        return np.asarray(tile_rows(rows, *more))

    monkeypatch.setattr(module, "tile_rows", counted)
    monkeypatch.setattr(module, "EVALUATED_AT_ONCE", 300)
    np.testing.assert_array_equal(network.logits(rows), whole)
    assert longest == [300, 300, 300, 100]


def test_the_threshold_itself_is_favourable() -> None:
    network = Network((np.ones((1, 1), np.float32),), (np.zeros(1, np.float32),))
    np.testing.assert_array_equal(
        network.favourable(np.array([[-1e-300], [0.0], [1e-300]])), [False, True, True]
    )


@pytest.mark.parametrize("rows", [np.zeros((2, 3)), np.zeros(4)])
def test_rows_of_the_wrong_shape_are_refused(rows: np.ndarray) -> None:
    with pytest.raises(InputError, match=r"expected rows of shape \(n, 4\)"):
        Network.initialised(4, (2,), 0).logits(rows)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_rows_that_are_not_finite_are_refused(bad: float) -> None:
    network = Network.initialised(2, (2,), 0)
    for judge in (network.logits, network.logits_and_gradients):
        with pytest.raises(InputError, match="finite rows"):
            judge(np.array([[0.0, bad]]))
