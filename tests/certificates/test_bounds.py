from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worst_cases
from changeproof import InputError, Network
from changeproof.certificates.bounds import HIGH_MAX, LOW_MIN, neuron_bounds
from changeproof.certificates.box import ParameterBox


def interval_bounds(box: ParameterBox, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    bounds = worst_cases.interval_bounds(box, rows)
    return bounds[:, LOW_MIN, -1], bounds[:, HIGH_MAX, -1]


def backward_bounds(box: ParameterBox, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    bounds = neuron_bounds(box, rows)
    return bounds[:, LOW_MIN, -1], bounds[:, HIGH_MAX, -1]


def network(*layers: tuple[list[list[float]], list[float]]) -> Network:
    return Network(
        tuple(np.array(weight, np.float32) for weight, _ in layers),
        tuple(np.array(bias, np.float32) for _, bias in layers),
    )


def interval_product(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    ends = [p * q for p in a for q in b]
    return min(ends), max(ends)


def slow_bounds(given: Network, x: np.ndarray, radius: float) -> tuple[float, float]:
    """Textbook interval arithmetic: products of intervals, one by one."""
    values = [(float(v), float(v)) for v in x]
    for number, (weight, bias) in enumerate(zip(given.weights, given.biases, strict=True)):
        sums = []
        for row, offset in zip(weight.astype(float), bias.astype(float), strict=True):
            terms = [
                interval_product((w - radius, w + radius), value)
                for w, value in zip(row, values, strict=True)
            ]
            low = offset - radius + sum(term[0] for term in terms)
            high = offset + radius + sum(term[1] for term in terms)
            sums.append((low, high))
        last = number == len(given.weights) - 1
        values = sums if last else [(max(a, 0.0), max(b, 0.0)) for a, b in sums]
    return values[0]


@given(seed=st.integers(0, 10_000), radius=st.sampled_from([0.0, 0.005, 0.1, 1.0]))
@settings(max_examples=60, deadline=None)
def test_interval_bounds_are_those_of_textbook_arithmetic(seed: int, radius: float) -> None:
    generator = np.random.default_rng(seed)
    hidden = tuple(generator.integers(1, 6, size=generator.integers(0, 4)).tolist())
    given_network = Network.initialised(3, hidden, seed)
    rows = generator.normal(size=(4, 3)) * 3
    rows[0, 1] = 0.0
    box = ParameterBox(given_network, radius)
    lower, upper = interval_bounds(box, rows)
    for x, low, high in zip(rows, lower, upper, strict=True):
        np.testing.assert_allclose((low, high), slow_bounds(given_network, x, radius), atol=1e-12)
    closer_lower, closer_upper = backward_bounds(box, rows)
    assert (closer_lower >= lower - 1e-12).all()
    assert (closer_upper <= upper + 1e-12).all()
    assert (closer_lower <= given_network.logits(rows) + 1e-12).all()
    assert (closer_upper >= given_network.logits(rows) - 1e-12).all()


@pytest.mark.parametrize("x", [2.0, -2.0, 0.0])
@pytest.mark.parametrize("weight", [1.0, -1.0])
@pytest.mark.parametrize("output", [1.0, -1.0])
def test_one_neuron_in_closed_form(x: float, weight: float, output: float) -> None:
    radius = 0.25
    one = network(([[weight]], [0.5]), ([[output]], [3.0]))
    reach = radius * (abs(x) + 1)
    least, most = (max(weight * x + 0.5 + side * reach, 0.0) for side in (-1, 1))
    pull, push = output - radius, output + radius
    expected_low = 3.0 - radius + pull * (least if pull > 0 else most)
    expected_high = 3.0 + radius + push * (most if push > 0 else least)
    lower, upper = interval_bounds(ParameterBox(one, radius), np.array([[x]]))
    np.testing.assert_allclose([lower[0], upper[0]], [expected_low, expected_high], atol=1e-12)


def test_no_hidden_layer_in_closed_form() -> None:
    linear = network(([[1.0, -2.0]], [0.5]))
    lower, upper = interval_bounds(ParameterBox(linear, 0.125), np.array([[-3.0, 1.0]]))
    # All numbers are short in binary: what differs is the error of rounding that bounds carry.
    assert -4.5 - 0.125 * 5 - 1e-12 < lower[0] < -4.5 - 0.125 * 5
    assert -4.5 + 0.125 * 5 < upper[0] < -4.5 + 0.125 * 5 + 1e-12


def test_backward_bound_keeps_the_dependence_that_intervals_lose() -> None:
    # Two neurons read the same h in [0.8, 1.2] and pull against each other:
    # 0.9 (0.9 h - 0.1) - 1.1 (1.1 h + 0.1) - 0.1 + 1 = 0.7 - 0.4 h.
    twins = network(([[1.0]], [0.0]), ([[1.0], [1.0]], [0.0, 0.0]), ([[1.0, -1.0]], [1.0]))
    box = ParameterBox(twins, 0.1)
    row = np.array([[1.0]])
    assert interval_bounds(box, row)[0][0] == pytest.approx(-0.104)
    assert backward_bounds(box, row)[0][0] == pytest.approx(0.22)


def test_bounds_of_a_row_do_not_depend_on_the_batch() -> None:
    box = ParameterBox(Network.initialised(7, (32, 32), 1), 0.01)
    rows = np.random.default_rng(0).normal(size=(50, 7))
    for bounds in (interval_bounds, backward_bounds):
        together = bounds(box, rows)[0]
        alone = [bounds(box, row[None])[0][0] for row in rows]
        np.testing.assert_array_equal(together, alone)


def test_wrong_input_is_refused() -> None:
    given_network = Network.initialised(3, (2,), 0)
    with pytest.raises(InputError, match=r"radius must lie between 0 and 3\.4e\+38, .*; got -0\.1"):
        ParameterBox(given_network, -0.1)
    box = ParameterBox(given_network, 0.1)
    with pytest.raises(InputError, match=r"expected rows of shape \(n, 3\); got \(2, 4\)"):
        interval_bounds(box, np.zeros((2, 4)))
    with pytest.raises(InputError, match="finite"):
        interval_bounds(box, np.array([[0.0, np.nan, 0.0]]))
