"""Tables come back as they were written, whatever their columns are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from changeproof import InputError, Task, own_task
from changeproof.datasets.kept import task_from_bytes, task_to_bytes

ROWS = 60
DATA: dict[str, Any] = {"target": "y", "favourable": 1}


def columns(seed: int = 0) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    words = [f"w{number}" for number in range(ROWS)]
    times = pd.Timestamp("2020-02-29 13:01:02") + pd.to_timedelta(np.arange(ROWS) * 977, "min")
    return pd.DataFrame(
        {
            "float": generator.normal(size=ROWS),
            "single": generator.normal(size=ROWS).astype(np.float32),
            "int": generator.integers(-5, 5, ROWS),
            "small": generator.integers(0, 200, ROWS).astype(np.uint8),
            "nullable": pd.array(generator.integers(0, 9, ROWS), dtype="Int64"),
            "bool": generator.random(ROWS) < 0.5,
            "boolean": pd.array(generator.random(ROWS) < 0.5, dtype="boolean"),
            "text": generator.choice([" a", "b ", "c"], ROWS),
            "string": pd.array(generator.choice(["x", "y"], ROWS), dtype="string"),
            "object": pd.Series(generator.choice(["p", "q", "r"], ROWS), dtype=object),
            "category": pd.Categorical(
                generator.choice(["low", "high"], ROWS), ["low", "mid", "high"], ordered=True
            ),
            "time": times,
            "zoned": times.tz_localize("Europe/Berlin"),
            "many": generator.permutation(words),
            "y": np.arange(ROWS) % 2,
        }
    )


def rebuilt(frame: pd.DataFrame) -> tuple[Task, pd.DataFrame]:
    task = own_task(frame, taken="all", **DATA)
    return task, task.table_rows(task.standardise(task.frame))


def test_every_kind_of_column_comes_back_as_it_was() -> None:
    frame = columns()
    task, found = rebuilt(frame)
    pd.testing.assert_frame_equal(found, frame.drop(columns="y"))
    kept = task_from_bytes(task_to_bytes(task))
    pd.testing.assert_frame_equal(kept.table_rows(kept.standardise(kept.frame)), found)
    assert kept.fingerprint == task.fingerprint
    assert [n for n, a in task.declared.items() if a.change == "none"] == ["time", "zoned", "many"]


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), st.floats(0.0, 0.6))
def test_gaps_come_back_as_gaps(seed: int, share: float) -> None:
    frame = columns(seed)
    generator = np.random.default_rng(seed)
    for name in frame.columns.drop(["y", "int", "small", "bool"]):
        frame.loc[generator.random(ROWS) < share, name] = None
    task, found = rebuilt(frame)
    pd.testing.assert_frame_equal(found, frame.drop(columns="y"))
    again = task.encoded(frame)
    np.testing.assert_allclose(again, task.standardise(task.frame), atol=1e-12)
    np.testing.assert_array_equal(task.missing_of(again), frame.drop(columns="y").isna())


def test_what_is_missing_neither_counts_nor_changes() -> None:
    frame = columns()
    frame.loc[::3, "float"] = np.nan
    task, _ = rebuilt(frame)
    rows = task.standardise(task.frame)
    known, unknown = rows[[1]], rows[[0]]
    moved = known.copy()
    moved[:, task.features[0].missing] = unknown[:, task.features[0].missing]
    assert task.distances(known, moved) == 0.0
    assert task.actions.breaches(known, moved).words == ["float may not become known or unknown"]
    back = task.actions.project(known, moved)
    np.testing.assert_array_equal(back, known)
    low, high = task.actions.bounds(unknown)
    np.testing.assert_array_equal(
        low[:, task.features[0].missing], high[:, task.features[0].missing]
    )


def test_a_column_that_no_search_can_change_may_not_be_asked_to() -> None:
    frame = columns()
    with pytest.raises(InputError, match="'time' cannot change: Advice leaves time: it is a date"):
        own_task(frame, taken="all", actions={"time": {"change": "increase"}}, **DATA)
    task = own_task(frame, taken="all", actions={"time": {"change": "none"}}, **DATA)
    assert task.declared["time"].change == "none"


def test_features_that_a_model_does_not_take_are_kept_beside() -> None:
    frame = columns()
    task = own_task(frame, taken="all", **DATA)
    fewer = task.with_features(["text", "float"])
    assert [feature.name for feature in fewer.features] == ["text", "float"]
    found = fewer.table_rows(fewer.standardise(fewer.frame))
    pd.testing.assert_frame_equal(found, frame[["text", "float"]])
    assert fewer.beside["bool"].tolist() == frame["bool"].tolist()
    with pytest.raises(InputError, match="unknown feature 'nothing'"):
        task.with_features(["nothing"])
