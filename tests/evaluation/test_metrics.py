from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from changeproof import Counterfactuals, Network, NetworkStack, Task, measure, survival
from changeproof.methods.method import FOUND, NOT_FOUND

SCALE = np.array([0.5, 2.0, 1.0])


class FakeTask(Task):
    """Only the distance scale of a task, so that distances have a closed form."""

    def __init__(self) -> None:
        self.distance_scale = SCALE  # type: ignore[misc]


def answers_of(found: np.ndarray, valid: np.ndarray, rows: np.ndarray) -> Counterfactuals:
    n = len(found)
    return Counterfactuals(
        np.arange(n),
        np.zeros((n, 3)),
        np.where(found[:, None], rows, np.nan),
        np.where(found, FOUND, NOT_FOUND),
        found & valid,
        np.full(n, 0.1),
        {},
    )


@given(st.integers(1, 30), st.integers(1, 60), st.integers(0, 10_000), st.floats(0, 1))
def test_metrics_are_what_the_paper_says(n: int, models: int, seed: int, share: float) -> None:
    generator = np.random.default_rng(seed)
    found, valid = generator.random(n) < share, generator.random(n) < share
    rows = generator.normal(size=(n, 3))
    survived = (generator.random((n, models)) < 0.6) & found[:, None]
    answers = answers_of(found, valid, rows)
    metrics = measure(FakeTask(), answers, survived)

    requests = list(range(n))
    returned = [i for i in requests if found[i]]
    base_valid = [i for i in returned if valid[i]]
    assert metrics.coverage == pytest.approx(100 * len(returned) / n)
    if returned:
        assert metrics.base_validity == pytest.approx(100 * len(base_valid) / len(returned))
    else:
        assert np.isnan(metrics.base_validity)
    if base_valid:
        robust = [sum(survived[i]) / models for i in base_valid]
        assert metrics.empirical_robustness == pytest.approx(100 * sum(robust) / len(robust))
        assert metrics.end_to_end_robustness == pytest.approx(100 * sum(robust) / n)
        distance = [sum(abs(rows[i]) / SCALE) / 3 for i in base_valid]
        assert metrics.distance == pytest.approx(sum(distance) / len(distance))
    else:
        assert np.isnan(metrics.empirical_robustness)
        assert np.isnan(metrics.distance)
        assert metrics.end_to_end_robustness == 0
    assert 0 <= metrics.end_to_end_robustness <= metrics.coverage


def test_invalid_answers_do_not_count_for_robustness_or_distance() -> None:
    found = np.array([True, True, True, False])
    valid = np.array([True, True, False, False])
    rows = np.array([[1.0, 0, 0], [0, 4.0, 0], [99.0, 99, 99], [0, 0, 0]])
    survived = np.array([[1, 1], [1, 0], [1, 1], [0, 0]], dtype=bool)
    metrics = measure(FakeTask(), answers_of(found, valid, rows), survived)
    assert metrics.coverage == 75
    assert metrics.base_validity == pytest.approx(200 / 3)
    assert metrics.empirical_robustness == 75
    assert metrics.end_to_end_robustness == pytest.approx(37.5)
    assert metrics.distance == pytest.approx(2 / 3)


def test_survival_is_each_model_asked_about_each_answer() -> None:
    networks = [Network.initialised(3, hidden, s) for s, hidden in enumerate([(4,), (8, 8), (4,)])]
    generator = np.random.default_rng(1)
    found = np.array([True, False, True, True, True])
    answers = answers_of(found, found, generator.normal(size=(5, 3)))
    survived = survival(answers, NetworkStack.of(networks))
    for i in range(5):
        for j, network in enumerate(networks):
            expected = found[i] and network.probabilities(answers.rows[[i]])[0] >= 0.5
            assert survived[i, j] == expected
