from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import balanced_accuracy_score

from changeproof import Network, NetworkLearner, NetworkStack, Task, change_magnitudes
from changeproof.changes import bank


def test_magnitudes_are_the_slow_obvious_ones(small_task: Task, small_network: Network) -> None:
    learner = NetworkLearner()
    changed = [learner.perturbed(small_network, radius, 3) for radius in (0.01, 0.1, 0.5)]
    table = change_magnitudes(small_task, small_network, NetworkStack.of(changed))
    rows, labels = small_task.rows("test"), small_task.labels_of("test")
    before = small_network.probabilities(rows)
    for i, network in enumerate(changed):
        after = network.probabilities(rows)
        disagree = sum((a >= 0.5) != (b >= 0.5) for a, b in zip(before, after, strict=True))
        assert table["hard_disagreement"][i] == disagree / len(rows)
        assert np.isclose(table["probability_mae"][i], np.mean(np.abs(before - after)))
        assert table["balanced_accuracy"][i] == balanced_accuracy_score(labels, after >= 0.5)
    assert table["probability_mae"].is_monotonic_increasing


def test_no_change_has_no_magnitude(small_task: Task, small_network: Network) -> None:
    table = change_magnitudes(small_task, small_network, NetworkStack.of([small_network]))
    assert table.loc[0, "hard_disagreement"] == 0
    assert table.loc[0, "probability_mae"] == 0


def test_few_models_at_once_give_the_same(
    small_task: Task, small_network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = NetworkLearner()
    stack = NetworkStack.of([learner.perturbed(small_network, 0.1, seed) for seed in range(5)])
    whole = change_magnitudes(small_task, small_network, stack)
    monkeypatch.setattr(bank, "PREDICTIONS_AT_ONCE", 2 * len(small_task.split.test))
    pd.testing.assert_frame_equal(
        change_magnitudes(small_task, small_network, stack), whole, check_exact=True
    )
