from __future__ import annotations

import numpy as np

from changeproof import Task, own_task
from changeproof.datasets.altered import with_columns, with_feature_held, with_rows
from changeproof.datasets.split import PARTS
from loans import loans


def test_what_was_there_stays_on_its_scale(small_task: Task) -> None:
    rows = small_task.rows("test")[:3] + 0.5
    values = np.arange(400.0)[:, None]
    for changed in (with_rows(small_task, rows, 1), with_columns(small_task, ["new"], values)):
        for part in PARTS:
            known = changed.rows(part)[: len(small_task.rows(part)), :5]
            np.testing.assert_array_equal(known, small_task.rows(part))
        assert changed.fingerprint != small_task.fingerprint


def test_rows_are_added_to_the_pool(small_task: Task) -> None:
    rows = small_task.rows("test")[:3] + 0.5
    changed = with_rows(small_task, rows, 1)
    np.testing.assert_allclose(changed.rows("update")[-3:], rows, atol=1e-12)
    assert changed.labels_of("update")[-3:].tolist() == [1, 1, 1]
    assert changed.row_ids("update")[-3:].tolist() == [1400, 1401, 1402]
    assert len(with_rows(small_task, rows[:0], 1).split.update) == len(small_task.split.update)


def test_columns_are_added_behind_the_others(small_task: Task) -> None:
    values = np.random.default_rng(1).normal(7.0, 3.0, (400, 1))
    changed = with_columns(small_task, ["new"], values)
    assert changed.feature_names == ["a", "b", "c", "d", "e", "new"]
    added = changed.rows("train")[:, 5]
    assert abs(added.mean()) < 1e-12
    assert abs(added.std() - 1.0) < 1e-12
    assert changed.features[-1].columns == (5,)


def test_a_feature_is_held_at_exactly_its_mean() -> None:
    table = loans(120).assign(amount=1e12 + np.arange(120) / 3)
    task = own_task(table, target="approved", favourable="yes", id_column="applicant")
    for feature in task.features:
        held = with_feature_held(task, feature)
        for part in PARTS:
            rows = task.rows(part).copy()
            rows[:, list(feature.columns)] = 0.0
            np.testing.assert_array_equal(held.rows(part), rows)
