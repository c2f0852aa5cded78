from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from changeproof import Feature, InputError, Split, Task, load_task, own_task
from changeproof.datasets import dataset_names
from changeproof.datasets.kept import METADATA, task_from_bytes, task_to_bytes
from changeproof.datasets.split import PARTS
from loans import loans

NUMBER_TYPES = ["float64", "int64", "int8", "uint16", "float32", "bool", "Int64", "Float64"]
numbers = st.floats(-1e9, 1e9)
categories = st.one_of(
    st.lists(st.text(max_size=5), min_size=2, max_size=4, unique=True),
    st.lists(st.integers(), min_size=2, max_size=4, unique=True),
    st.lists(numbers, min_size=2, max_size=4, unique=True),
    st.just([False, True]),
    st.just([True, 2, 0.5, "1"]),
)
some_ids = [
    st.text(max_size=4),
    st.integers(),
    st.floats(),
    st.one_of(st.text(max_size=4), st.integers(), st.floats(), st.none(), st.booleans()),
    st.builds(np.int64, st.integers(-(2**63), 2**63 - 1)),
    st.builds(np.str_, st.text(max_size=4)),
    st.builds(np.float32, st.floats(width=32)),
]


def draw_column(draw: st.DrawFn, dtype: str, rows: int) -> Any:
    if dtype == "bool":
        return draw(hnp.arrays(np.bool_, rows))
    if dtype.lower().startswith("float"):
        width = 32 if dtype == "float32" else 64
        elements = st.floats(-1e9, 1e9, width=width)  # type: ignore[arg-type]
        return pd.array(draw(hnp.arrays(dtype.lower(), rows, elements=elements)), dtype=dtype)
    # The mean of the largest whole numbers is none that floats have; they are not what is tested.
    least, most = (0, 200) if dtype.startswith("u") else (-100, 100)
    values = draw(hnp.arrays(dtype.lower(), rows, elements=st.integers(least, most)))
    return pd.array(values, dtype=dtype)


def draw_split(draw: st.DrawFn, rows: int) -> Split:
    order = draw(st.permutations(range(rows)))
    cuts = sorted(draw(st.tuples(*[st.integers(1, rows)] * 3)))
    dtype = draw(st.sampled_from([np.int64, np.int32]))
    parts = np.split(np.array(order, dtype), cuts)
    if draw(st.booleans()):
        parts[3] = np.concatenate([parts[0], parts[0]])
    return Split(*parts)


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    rows = draw(st.integers(1, 12))
    columns, features = [], []
    names = draw(st.lists(st.text(max_size=4), min_size=1, max_size=4, unique=True))
    for name in names:
        first, kind = len(columns), draw(st.sampled_from(["number", "binary", "categorical"]))
        if kind == "number":
            columns.append(draw_column(draw, draw(st.sampled_from(NUMBER_TYPES)), rows))
            features.append(Feature(name, draw(st.sampled_from(["numeric", "integer"])), (first,)))
            continue
        values = draw(categories)[: 2 if kind == "binary" else None]
        codes = draw(hnp.arrays(np.int64, rows, elements=st.integers(0, len(values) - 1)))
        block = [codes] if kind == "binary" else list(np.eye(len(values))[codes].T)
        columns += block
        places = tuple(range(first, first + len(block)))
        features.append(Feature(name, kind, places, tuple(values)))  # type: ignore[arg-type]
    frame = pd.DataFrame(dict(enumerate(columns)))
    column_names = st.text(max_size=4) | st.sampled_from(["row_id", "label", "train", "id"])
    size = len(columns)
    frame.columns = draw(st.lists(column_names, min_size=size, max_size=size, unique=True))
    row_ids = st.lists(st.integers(0, 2**53), min_size=rows, max_size=rows, unique=True)
    frame.index = pd.Index(draw(row_ids), dtype=np.int64, name=draw(st.sampled_from([None, "r"])))
    labels = draw(hnp.arrays(np.int8, rows, elements=st.integers(0, 1)))
    ids = draw(st.none() | st.sampled_from(some_ids))
    given_ids = None if ids is None else draw(st.lists(ids, min_size=rows, max_size=rows))
    split = draw_split(draw, rows)
    try:
        return Task(draw(st.text(max_size=5)), frame, labels, split, features, given_ids)
    except InputError:  # Two ids are the same.
        reject()


def assert_same(task: Task, other: Task) -> None:
    assert other.fingerprint == task.fingerprint
    assert other.name == task.name
    pd.testing.assert_frame_equal(other.frame, task.frame, check_exact=True)
    assert other._values.tobytes() == task._values.tobytes()
    np.testing.assert_array_equal(other.labels, task.labels)
    assert other.labels.dtype == task.labels.dtype
    for part in PARTS:
        mine, theirs = getattr(task.split, part), getattr(other.split, part)
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)
        np.testing.assert_array_equal(other.rows(part), task.rows(part))
    # Equality alone would take 1, 1.0 and True for the same.
    assert other.features == task.features
    assert repr(other.features) == repr(task.features)
    assert repr(other.given_ids) == repr(task.given_ids)
    pd.testing.assert_series_equal(other.ids, task.ids)
    decoded = task.decoded(task.standardise(task.frame))
    pd.testing.assert_frame_equal(other.decoded(task.standardise(task.frame)), decoded)
    np.testing.assert_array_equal(other.encoded(decoded), task.encoded(decoded))


@given(tasks())
@settings(deadline=None, max_examples=40)
def test_a_task_comes_back_exactly(task: Task) -> None:
    content = task_to_bytes(task)
    back = task_from_bytes(content)
    assert_same(task, back)
    assert task_to_bytes(task) == content
    assert task_to_bytes(back) == content


@pytest.mark.parametrize("name", dataset_names())
def test_embedded_datasets_come_back_exactly(name: str) -> None:
    task = load_task(name)
    content = task_to_bytes(task)
    assert_same(task, task_from_bytes(content))
    assert task_to_bytes(task) == content


def test_peoples_own_tables_come_back_exactly() -> None:
    common: dict[str, Any] = {"target": "approved", "favourable": "yes"}
    parts = np.array(["train", "test", "update", "validation", "train"] * 24)
    frame = loans().assign(
        applicant=[f"Ä{i}" if i % 3 else i + 0.5 for i in range(120)], part=parts
    )
    task = own_task(frame, **common, id_column="applicant", split="part", name="mine")
    assert {feature.kind for feature in task.features} == {
        "numeric", "integer", "binary", "categorical",
    }  # fmt: skip
    back = task_from_bytes(task_to_bytes(task))
    assert_same(task, back)
    assert [type(value) for value in back.given_ids or ()] == [float, str, str] * 40
    np.testing.assert_array_equal(back.encoded(frame), task.encoded(frame))


def small(**changes: Any) -> Task:
    frame = pd.DataFrame({"a": [0.5, -0.0, 0.0, 2.0], "b": [1, 2, 3, 4]})
    split = Split(*(np.array([row]) for row in range(4)))
    given_values: dict[str, Any] = {"name": "t", "frame": frame, "labels": [0, 1, 0, 1]}
    return Task(**(given_values | {"split": split} | changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "\x00"},
        {"frame": pd.DataFrame({"": [1.0, 2, 3, 4], "\x00": 1.0, "a.b": 1, "0:": 2, "é\n": 3})},
        {"frame": pd.DataFrame(np.eye(4))},
        {"frame": small().frame.set_axis(np.arange(4, dtype=np.int32))},
        {"frame": small().frame.set_axis(pd.array([3, 1, 2, 0], dtype="Int64"))},
        {"frame": pd.DataFrame({"a": [2**53 + 1, -(2**63), 2**63 - 1, 0]})},
        {"ids": [" ", "", "\x00", "é"]},
        {"ids": [2**80, -1, 0, 10**30]},
        {"ids": np.array(["a", "b", "c", "d"])},
    ],
)
def test_odd_tasks_come_back_exactly(changes: dict[str, Any]) -> None:
    task = small(**changes)
    back = task_from_bytes(task_to_bytes(task))
    assert back.fingerprint == task.fingerprint
    assert back.name == task.name
    assert back.frame.columns.tolist() == task.frame.columns.tolist()
    for column in range(task.n_features):
        mine, theirs = task.frame.iloc[:, column], back.frame.iloc[:, column]
        assert mine.dtype == theirs.dtype
        assert mine.to_numpy().tobytes() == theirs.to_numpy().tobytes()
    assert back.frame.index.dtype == task.frame.index.dtype
    assert back.frame.index.tolist() == task.frame.index.tolist()
    assert back.features == task.features
    assert repr(back.given_ids) == repr(task.given_ids)


def test_what_is_said_of_the_data_is_kept() -> None:
    frame = loans().assign(branch="north", approved=(loans()["approved"] == "yes").astype(float))
    task = own_task(frame, target="approved", favourable=1.0, id_column="applicant")
    assert any("branch" in note for note in task.notes)
    back = task_from_bytes(task_to_bytes(task))
    assert back.notes == task.notes
    assert back.favourable_values == ("1",)
    assert back.fingerprint == task.fingerprint
    assert task_to_bytes(back) == task_to_bytes(task)


def test_a_kept_task_can_be_read_by_others() -> None:
    table = pq.read_table(pa.BufferReader(task_to_bytes(small(ids=["w", "x", "y", "z"]))))
    rows = table.to_pandas()
    assert rows["0:a"].tolist() == small().frame["a"].tolist()
    assert rows["1:b"].tolist() == small().frame["b"].tolist()
    assert rows["label"].tolist() == [0, 1, 0, 1]
    assert [json.loads(text) for text in rows["id"]] == ["w", "x", "y", "z"]
    assert json.loads(table.schema.metadata[METADATA])["name"] == "t"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"ids": pd.timedelta_range("1D", periods=4)},
            "of type Timedelta; a task can only be",
        ),
        ({"ids": [(1, {}), 2, 3, 4]}, "of type dict"),
        ({"ids": list(np.arange(4).astype("datetime64[D]"))}, "of type datetime64"),
        ({"frame": pd.DataFrame({"a": np.ones(4, np.longdouble)})}, "'a' is .*, which cannot be k"),
    ],
)
def test_what_cannot_be_kept_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        task_to_bytes(small(**changes))


def test_a_task_without_rows_is_refused() -> None:
    nobody = np.array([], dtype=np.int64)
    features = [Feature("a", "numeric", (0,))]
    frame = pd.DataFrame({"a": np.array([])}, index=nobody)
    with pytest.raises(InputError, match="task 'empty' has no rows"):
        task_to_bytes(Task("empty", frame, nobody, Split(*[nobody] * 4), features))


def test_other_files_are_refused() -> None:
    for content in (b"", b"PAR1", b"something else entirely", task_to_bytes(small())[:-9]):
        with pytest.raises(InputError, match=r"expected a kept task; got .* no Parquet file"):
            task_from_bytes(content)
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"a": [1]}), sink)
    with pytest.raises(InputError, match="got a Parquet file of something else"):
        task_from_bytes(sink.getvalue().to_pybytes())


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("name", "another"),
        ("columns", []),
        ("columns", [{"name": "a", "dtype": "float64"}, {"name": "b", "dtype": "nothing"}]),
        ("features", [{"name": "a"}]),
        ("features", None),
        ("row_ids", 1),
        ("fingerprint", ""),
    ],
)
def test_a_damaged_task_is_refused(key: str, value: Any) -> None:
    table = pq.read_table(pa.BufferReader(task_to_bytes(small())))
    described = json.loads(table.schema.metadata[METADATA]) | {key: value}
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata({METADATA: json.dumps(described)}), sink)
    with pytest.raises(InputError, match="this kept task is damaged"):
        task_from_bytes(sink.getvalue().to_pybytes())


@given(st.data())
@settings(deadline=None, max_examples=40)
def test_damage_never_gives_other_rows(data: st.DataObject) -> None:
    content = bytearray(task_to_bytes(small()))
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= 1 << data.draw(st.integers(0, 7))
    try:
        back = task_from_bytes(bytes(content))
    except InputError:
        return
    assert back.fingerprint == small().fingerprint


def test_names_of_columns_that_are_no_text_are_damage() -> None:
    content, name = task_to_bytes(small()), small().feature_names[0].encode()
    places = [place for place in range(len(content)) if content.startswith(name, place)]
    refused = 0
    for place in places:
        damaged = bytearray(content)
        damaged[place] ^= 1 << 7
        try:
            assert task_from_bytes(bytes(damaged)).fingerprint == small().fingerprint
        except InputError:
            refused += 1
    assert refused


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_dates_can_be_ids(zone: str | None) -> None:
    times = pd.date_range("2026-03-01 12:30", periods=60, freq="37h", tz=zone)
    frame = pd.DataFrame({"x": np.arange(60.0), "y": np.arange(60) % 2 == 0})
    for index in (times, pd.Index(times.date)):
        task = own_task(frame.set_index(index), target="y", favourable=True)
        back = task_from_bytes(task_to_bytes(task))
        assert back.ids.tolist() == task.ids.tolist()
        assert back.fingerprint == task.fingerprint
