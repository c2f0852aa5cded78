from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from changeproof import InputError, Network, NetworkStack, Task
from changeproof.certificates.box import ParameterBox
from changeproof.certificates.exact import certify
from changeproof.certificates.sampled import (
    ParameterSample,
    favourable_under_draws,
    samples_needed,
)
from changeproof.methods import make_method
from changeproof.methods.apds.method import APDS
from changeproof.methods.rnce import RNCE


def slow_sample(network: Network, radius: float, samples: int, seed: int) -> list[Network]:
    """Tensor after tensor, all samples of each at once, as one would write it in PyTorch."""
    generator = torch.Generator().manual_seed(seed)

    def moved(array: np.ndarray) -> np.ndarray:
        noise = torch.rand((samples, *array.shape), generator=generator) * 2 - 1
        return (torch.from_numpy(array) + noise * radius).numpy()

    pairs = [(moved(w), moved(b)) for w, b in zip(network.weights, network.biases, strict=True)]
    return [
        Network(tuple(w[i] for w, _ in pairs), tuple(b[i] for _, b in pairs))
        for i in range(samples)
    ]


def test_number_of_samples_follows_from_confidence_and_probability() -> None:
    assert samples_needed(0.999, 0.995) == 1379
    for confidence, probability in ((0.5, 0.9), (0.99, 0.99), (0.999, 0.995)):
        needed = samples_needed(confidence, probability)
        assert probability**needed <= 1 - confidence < probability ** (needed - 1)
    with pytest.raises(InputError, match="confidence must lie between 0 and 1"):
        samples_needed(1.0, 0.5)


@pytest.mark.parametrize("hidden", [(), (3,), (32, 32), (5, 17, 2)])
def test_draws_are_those_of_pytorch_and_judged_as_a_stack_judges(hidden: tuple[int, ...]) -> None:
    initial = Network.initialised(4, hidden, 3)
    rows = np.random.default_rng(0).normal(size=(60, 4))
    middle = np.float32(np.median(initial.logits(rows)))
    network = Network(initial.weights, (*initial.biases[:-1], initial.biases[-1] - middle))
    sample = ParameterSample.draw(ParameterBox(network, 0.02), 40, seed=11)
    networks = slow_sample(network, 0.02, 40, seed=11)
    for parameters, one in zip(sample.parameters, networks, strict=True):
        pairs = zip(one.weights, one.biases, strict=True)
        expected = np.concatenate([a.ravel() for p in pairs for a in p])
        np.testing.assert_array_equal(parameters[: len(expected)], expected)
        assert not parameters[len(expected) :].any()
    expected = NetworkStack.of(networks).favourable(rows).all(axis=0)
    assert 0 < expected.sum() < 60
    np.testing.assert_array_equal(sample.all_favourable(rows), expected)
    alone = [bool(sample.all_favourable(row[None])[0]) for row in rows]
    np.testing.assert_array_equal(alone, expected)
    unkept = [favourable_under_draws(ParameterBox(network, 0.02), row, 40, 11) for row in rows]
    np.testing.assert_array_equal(unkept, expected)


def test_draws_fill_the_box_and_stay_in_it() -> None:
    box = ParameterBox(Network.initialised(4, (8,), 3), 0.05)
    networks = ParameterSample.draw(box, 200, seed=1).parameters
    centre = box.network.parameters
    moves = networks[:, : len(centre)] - centre
    assert np.abs(moves).max() <= 0.05 + 1e-7
    assert moves.min() < -0.0495
    assert moves.max() > 0.0495
    assert abs(moves.mean()) < 1e-3


def test_what_is_certified_passes_every_sample(cancer: Task, cancer_network: Network) -> None:
    box = ParameterBox(cancer_network, 0.005)
    rows = cancer.rows("train")
    passed = ParameterSample.draw(box, samples_needed(0.999, 0.995), seed=2026).all_favourable(rows)
    assert passed[certify(box, rows).certified].all()
    assert not passed.all()


def test_a_row_is_judged_alike_whatever_was_judged_before_it() -> None:
    """Scratch memory of one row must not reach the next."""
    network = Network.initialised(11, (5, 3), 1)
    sample = ParameterSample.draw(ParameterBox(network, 0.3), 50, seed=4)
    rows = 3 * np.random.default_rng(1).normal(size=(40, 11))
    alone = np.concatenate([sample.all_favourable(row[None]) for row in rows])
    np.testing.assert_array_equal(sample.all_favourable(rows), alone)
    np.testing.assert_array_equal(sample.all_favourable(rows[::-1]), alone[::-1])


NOT_FINITE = st.sampled_from([np.nan, np.inf, -np.inf])


@given(hidden=st.sampled_from([(), (3,), (8, 4)]), value=NOT_FINITE, data=st.data())
@settings(max_examples=60)
def test_what_is_not_a_number_is_never_favourable(
    hidden: tuple[int, ...], value: float, data: st.DataObject
) -> None:
    """One parameter that is no number, in any layer: a logit of NaN, and never a certificate."""
    network = Network.initialised(3, hidden, 1)
    layer = data.draw(st.integers(0, len(hidden)))
    arrays = [array.copy() for array in (network.weights[layer], network.biases[layer])]
    array = arrays[data.draw(st.integers(0, 1))]
    array.reshape(-1)[data.draw(st.integers(0, array.size - 1))] = value
    weights, biases = list(network.weights), list(network.biases)
    weights[layer], biases[layer] = arrays
    broken = Network(tuple(weights), tuple(biases))
    rows = np.random.default_rng(0).normal(size=(20, 3))
    with np.errstate(all="ignore"):
        logits = broken.logits(rows)
        assert not broken.favourable(rows)[np.isnan(logits)].any()
        box = ParameterBox(broken, 0.01)
        drawn = ParameterSample.draw(box, 20, seed=1)
        assert not drawn.all_favourable(rows)[np.isnan(logits)].any()
        for row in rows[np.isnan(logits)]:
            assert not favourable_under_draws(box, row, 20, 1)
        assert not certify(box, rows).certified.any()
    if np.isnan(value):
        assert np.isnan(logits).all()


def test_a_radius_that_overflows_certifies_nobody(small_network: Network) -> None:
    """Sums of draws that are as large as single precision goes overflow, layer after layer."""
    box = ParameterBox(small_network, 3.4e38)
    object.__setattr__(box, "radius", 1e39)
    rows = np.random.default_rng(0).normal(size=(30, 5))
    with np.errstate(all="ignore"):
        assert not ParameterSample.draw(box, 10, seed=1).all_favourable(rows).any()
        assert not any(favourable_under_draws(box, row, 10, 1) for row in rows)


@pytest.mark.parametrize("radius", [1e39, np.inf, np.nan, -0.1])
def test_a_radius_that_single_precision_cannot_hold_is_refused(
    small_network: Network, radius: float
) -> None:
    for make in (
        lambda: ParameterBox(small_network, radius),
        lambda: APDS(radius=radius),
        lambda: RNCE(radius=radius),
    ):
        expected = r"radius (must lie between 0 and 3\.4e\+38|should be a finite number)"
        with pytest.raises(InputError, match=expected):
            make()


@pytest.mark.parametrize("method", ["apds(radius=1e39)", "rnce(radius=1e39)"])
def test_a_plan_with_such_a_radius_is_refused(method: str) -> None:
    with pytest.raises(InputError, match=r"radius must lie between 0 and 3\.4e\+38"):
        make_method(method)


@pytest.mark.parametrize("method", ["roar-lime(radius=1e999)", "quorum(sparsity=1e999)"])
def test_settings_that_are_infinite_are_refused(method: str) -> None:
    with pytest.raises(InputError, match="should be a finite number; got inf"):
        make_method(method)
