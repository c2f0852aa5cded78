from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.minimal_proof import prove
from changeproof import Context, Factuals, InputError, Network, Task
from changeproof.methods.nearest_point import NearestPoint


def one_neuron(weights: list[float], bias: float) -> Network:
    """A network whose logit is 2 relu(weights . x) + bias."""
    return Network(
        (np.array([weights], np.float32), np.array([[2.0]], np.float32)),
        (np.zeros(1, np.float32), np.array([bias], np.float32)),
    )


def test_closed_form_of_one_neuron() -> None:
    """From the origin x0 alone is cheapest, until it is at the end of the training range."""
    rows = np.array([[-1.0, -4.0], [1.0, 4.0]])
    task = Task("two", pd.DataFrame(np.tile(rows, (20, 1))), np.tile([0, 1], 20))
    high = task.training_range[1]
    people = Factuals(np.arange(2), np.array([[0.0, 0.0], [-6.0, 0.0]]))
    network = one_neuron([1.0, 0.5], -1.0)
    method = NearestPoint(margin=0.5).fit(Context(task, network, 2026))
    answers = method.generate(people)
    np.testing.assert_allclose(answers.rows[0], [0.75, 0.0], atol=1e-6)
    # The other person is outside of the range and keeps what need not change.
    assert answers.diagnostics["l1_distance"][1] == pytest.approx(6.75, abs=1e-6)
    far = one_neuron([1.0, 0.5], 0.5 - 2.0 * (high[0] + 0.25))
    answers = method.fit(Context(task, far, 2026)).generate(people[:1])
    np.testing.assert_allclose(answers.rows[0], [high[0], 0.5], atol=1e-6)
    never = one_neuron([1.0, 0.5], -100.0)
    answers = method.fit(Context(task, never, 2026)).generate(people)
    assert set(answers.outcomes) == {"no point was found whose logit reaches 0.5"}


def test_answers_reach_the_margin_and_none_is_much_nearer(
    small_context: Context, small_factuals: Factuals
) -> None:
    network = small_context.model
    assert isinstance(network, Network)
    answers = NearestPoint().fit(small_context).generate(small_factuals)
    logits = network.logits(answers.rows)
    assert (logits >= 1e-4).all()
    assert np.median(logits) < 2e-4
    np.testing.assert_array_equal(answers.diagnostics["logit"], logits)
    low, high = small_context.task.training_range
    low, high = np.minimum(low, small_factuals.rows), np.maximum(high, small_factuals.rows)
    assert ((answers.rows >= low) & (answers.rows <= high)).all()
    lengths = np.abs(answers.rows - small_factuals.rows).sum(axis=1)
    for i in range(2):
        proof = prove(network, small_factuals.rows[i], low[i], high[i], 1e-4, lengths[i])
        assert proof.proven
        assert lengths[i] <= 1.01 * proof.lower_bound


def test_a_negative_margin_is_refused() -> None:
    with pytest.raises(InputError, match="margin"):
        NearestPoint(margin=-0.1)
