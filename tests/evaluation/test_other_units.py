"""Other papers' units: the factor of scikit-learn, distances by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import LocalOutlierFactor

from changeproof.datasets.task import Task
from changeproof.evaluation import other_units
from changeproof.evaluation.other_units import OtherUnits


def scaled(task: Task, rows: np.ndarray) -> np.ndarray:
    low, high = task.training_range
    return np.asarray((rows - low) / (high - low))


def favourable(task: Task) -> np.ndarray:
    return scaled(task, task.rows("train"))[task.labels_of("train") == 1]


def test_the_local_outlier_factor_is_that_of_scikit_learn(small_task: Task) -> None:
    theirs = LocalOutlierFactor(n_neighbors=10, novelty=True).fit(favourable(small_task))
    test = small_task.rows("test")
    rows = np.concatenate([test, test + 0.3, 4.0 * test])
    expected = -theirs.score_samples(scaled(small_task, rows))
    found = OtherUnits(small_task).lof(rows)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert 0.9 < np.median(found[: len(test)]) < 1.3 < np.median(found[2 * len(test) :])
    # A row alone has the same factor as among others.
    np.testing.assert_array_equal(OtherUnits(small_task).lof(rows[7:8]), found[7:8])


def test_of_many_rows_some_are_taken(small_task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(other_units, "MOST_ROWS", 40)
    rows = favourable(small_task)
    some = rows[np.linspace(0, len(rows) - 1, 40).astype(int)]
    theirs = LocalOutlierFactor(n_neighbors=10, novelty=True).fit(some)
    expected = -theirs.score_samples(scaled(small_task, small_task.rows("test")))
    found = OtherUnits(small_task).lof(small_task.rows("test"))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_distances_are_of_columns_from_0_to_1() -> None:
    frame = pd.DataFrame({"a": np.arange(200.0), "b": np.arange(200.0) % 5, "c": np.ones(200)})
    task = Task("lines", frame, np.arange(200) % 2)
    units, width = OtherUnits(task), np.ptp(frame["a"].to_numpy()[task.split.train])
    rows = task.standardise(frame.iloc[[0, 10]])
    others = task.standardise(pd.DataFrame({"a": [30.0, 10.0], "b": [2.0, 0.0], "c": [1.0, 3.0]}))
    np.testing.assert_allclose(units.l1(rows, others), [(30 / width + 0.5) / 3, 2 / 3])
    np.testing.assert_allclose(units.l2(rows, others), [np.hypot(30 / width, 0.5), 2.0])


def test_rows_that_are_all_the_same_have_a_factor() -> None:
    frame = pd.DataFrame({"a": np.repeat([0.0, 1.0], 60), "b": np.repeat([0.0, 1.0], 60)})
    task = Task("two", frame, np.repeat([0, 1], 60))
    found = OtherUnits(task).lof(task.standardise(frame.iloc[[0, 119]]))
    assert found[0] > 1e6
    assert found[1] == 1.0


def test_without_favourable_rows_nothing_is_known() -> None:
    labels = np.zeros(60, dtype=int)
    labels[:10] = 1
    task = Task("few", pd.DataFrame({"a": np.arange(60.0)}), labels)
    alone = np.flatnonzero(task.labels_of("train") == 1)
    labels[task.split.train[alone[1:]]] = 0
    fewer = Task("few", task.frame, labels, task.split)
    assert np.isnan(OtherUnits(fewer).lof(task.rows("test"))).all()
