"""A task as one Parquet file, and back, exactly; nothing is ever unpickled.

The file has one row per row of the task: row id, label, the id that people gave it, its outcome
where labels do not say it all, which features were filled in, each person's own limits, and the
encoded columns, called by position and name. The four parts of the split are lists in the first
row. Names, types, features and rules are JSON in the schema's metadata.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import date
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from changeproof.datasets.raw import RawColumn
from changeproof.datasets.split import PARTS, Split
from changeproof.datasets.table_file import check_size
from changeproof.datasets.task import Task
from changeproof.datasets.words import Words
from changeproof.errors import InputError
from changeproof.feasible.feature import Feature, text_of
from changeproof.feasible.rules import Personal, no_limits

SUFFIX = ".task.parquet"
METADATA = b"changeproof:task"
# The prefix of columns that say where values of a feature were filled in.
FILLED = "filled:"
# What a feature says that has no missing values: nothing.
NOT_MISSING = ("missing", None)
PLAIN = (str, bool, int, float, type(None))


def task_to_bytes(task: Task) -> bytes:
    """Return a task as a Parquet file; the same task always gives the same bytes."""
    if not len(task.frame):
        raise InputError(f"task {task.name!r} has no rows to keep")
    columns: dict[str, Any] = {
        "row_id": _values(task, task.frame.index),
        "label": pa.array(task.labels),
        **{part: _in_first_row(getattr(task.split, part), len(task.frame)) for part in PARTS},
    }
    if task.given_ids is not None:
        columns["id"] = pa.array([json.dumps(_to_json(value)) for value in task.given_ids])
    if task.outcomes is not None:
        columns["outcome"] = pa.array([json.dumps(_to_json(v)) for v in task.outcomes.tolist()])
    if task.filled is not None:
        columns |= {
            f"{FILLED}{place}": pa.array(task.filled[:, place])
            for place in np.flatnonzero(task.filled.any(axis=0)).tolist()
        }
    if task.person_limits is not None:
        for what, values in task.person_limits._asdict().items():
            stated = values if what == "fixed" else np.isfinite(values)
            for place in np.flatnonzero(stated.any(axis=0)).tolist():
                columns[f"{what}:{place}"] = pa.array(values[:, place])
    for position, name in enumerate(task.feature_names):
        columns[f"{position}:{name}"] = _values(task, task.frame.iloc[:, position])
    described: dict[str, Any] = {
        "name": task.name,
        "fingerprint": task.fingerprint,
        "row_ids": {"name": _to_json(task.frame.index.name), "dtype": str(task.frame.index.dtype)},
        "columns": [
            {"name": _to_json(name), "dtype": str(dtype)}
            for name, dtype in task.frame.dtypes.items()
        ],
        "features": [
            {key: _to_json(v) for key, v in asdict(feature).items() if (key, v) != NOT_MISSING}
            for feature in task.features
        ],
        "actions": {name: a.model_dump() for name, a in task.declared.items()},
        "most_changes": task.most_changes,
        "beside": {
            str(name): [_to_json(_plain(value)) for value in task.beside[name]]
            for name in task.beside.columns
        },
        "time": task.time,
    }
    optional: dict[str, Any] = {
        "favourable_values": [text_of(value) for value in task.favourable_values],
        "numbers": task.favourable_range is not None,
        "keep_filled": task.keep_filled,
        "notes": list(task.notes),
        "words": task.words.as_dict(),
        "rules": list(task.rules),
        "causes": task.causes,
        "person_limits": task.person_limits is not None,
    }
    optional["raw"] = {
        name: {key: _to_json(value) for key, value in asdict(column).items()}
        for name, column in task.raw.items()
    }
    described |= {name: value for name, value in optional.items() if value}
    table = pa.table(columns).replace_schema_metadata({METADATA: json.dumps(described)})
    sink = pa.BufferOutputStream()
    # A dictionary would compare values, and make one of 0.0 and -0.0.
    pq.write_table(table, sink, compression="zstd", use_dictionary=False, write_statistics=False)
    return bytes(sink.getvalue())


def task_from_bytes(content: bytes) -> Task:
    """Undo `task_to_bytes`."""
    try:
        check_size(pa.BufferReader(content), "this kept task")
        table = pq.read_table(pa.BufferReader(content))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"expected a kept task; got {len(content)} bytes that are no Parquet file: {error}"
        ) from None
    metadata = table.schema.metadata or {}
    if METADATA not in metadata:
        raise InputError("expected a kept task; got a Parquet file of something else")
    try:
        described = json.loads(metadata[METADATA])
        task = _task(table, described)
        intact = task.fingerprint == described["fingerprint"]
    except Exception as error:  # Whatever goes wrong here, the file is not as it was written.
        raise InputError(f"this kept task is damaged: {error!r}") from error
    if not intact:
        raise InputError(
            f"this kept task is damaged: its fingerprint is {task.fingerprint}, "
            f"expected {described['fingerprint']}"
        )
    return task


def kept_words(content: bytes) -> dict[str, Any]:
    """Return the words of a kept task as plain values, without reading its rows."""
    try:
        metadata = pq.read_schema(pa.BufferReader(content)).metadata or {}
        words: dict[str, Any] = json.loads(metadata.get(METADATA, b"{}")).get("words", {})
    except (pa.ArrowException, OSError, ValueError, AttributeError):
        return {}
    return words


def _task(table: Any, described: dict[str, Any]) -> Task:
    row_ids = pd.Index(
        table["row_id"].to_numpy(),
        dtype=described["row_ids"]["dtype"],
        name=_from_json(described["row_ids"]["name"]),
    )
    columns, first = described["columns"], table.num_columns - len(described["columns"])
    series = {
        position: pd.Series(table.column(first + position).to_numpy(), row_ids, column["dtype"])
        for position, column in enumerate(columns)
    }
    names = pd.Index([_from_json(column["name"]) for column in columns])
    frame = pd.DataFrame(series, index=row_ids).set_axis(names, axis="columns")
    ids = None
    if "id" in table.column_names:
        ids = [_from_json(json.loads(text)) for text in table["id"].to_pylist()]
    task = Task(
        described["name"],
        frame,
        table["label"].to_numpy(),
        Split(*(np.array(table[part][0].values) for part in PARTS)),
        [
            Feature(**{key: _from_json(value) for key, value in feature.items()})
            for feature in described["features"]
        ],
        ids,
        described["actions"],
        described["most_changes"],
        pd.DataFrame(
            {
                name: [_from_json(value) for value in values]
                for name, values in described["beside"].items()
            },
            index=row_ids,
        ),
        described["time"],
        _filled(table, len(described["features"])),
        bool(described.get("keep_filled", False)),
        {
            name: RawColumn(**{key: _from_json(value) for key, value in column.items()})
            for name, column in described.get("raw", {}).items()
        },
        _outcomes(table, bool(described.get("numbers", False))),
        tuple(map(str, described.get("favourable_values", ()))),
        Words.from_dict(described.get("words", {})),
        tuple(described.get("rules", ())),
        described.get("causes"),
        _person_limits(table, len(described["features"])) if "person_limits" in described else None,
    )
    task.notes = tuple(map(str, described.get("notes", ())))
    return task


def _filled(table: Any, features: int) -> npt.NDArray[np.bool_]:
    filled = np.zeros((table.num_rows, features), dtype=np.bool_)
    for place in range(features):
        if f"{FILLED}{place}" in table.column_names:
            filled[:, place] = table[f"{FILLED}{place}"].to_numpy()
    return filled


def _person_limits(table: Any, features: int) -> Personal:
    limits = no_limits(table.num_rows, features)
    for what, values in limits._asdict().items():
        for place in range(features):
            if f"{what}:{place}" in table.column_names:
                values[:, place] = table[f"{what}:{place}"].to_numpy()
    return limits


def _outcomes(table: Any, numbers: bool) -> npt.NDArray[Any] | None:
    if "outcome" not in table.column_names:
        return None
    values = [_from_json(json.loads(text)) for text in table["outcome"].to_pylist()]
    return np.array(values, dtype=np.float64 if numbers else object)


def _plain(value: Any) -> Any:
    """Return a plain Python value; what is missing is None."""
    if pd.isna(value):
        return None
    return value.item() if isinstance(value, np.generic) else value


def _values(task: Task, values: pd.Series[Any] | pd.Index[Any]) -> Any:
    try:
        return pa.array(values.to_numpy())
    except (pa.ArrowException, TypeError) as error:
        raise InputError(
            f"task {task.name!r}: {values.name!r} is {values.dtype}, which cannot be kept: {error}"
        ) from None


def _in_first_row(positions: npt.NDArray[Any], rows: int) -> Any:
    given = np.asarray(positions)
    return pa.array([given] + [None] * (rows - 1), pa.list_(pa.from_numpy_dtype(given.dtype)))


def _to_json(value: Any) -> Any:
    """Return a value for JSON: tuples as lists, NumPy's numbers and texts with their types."""
    if type(value) in PLAIN:
        return value
    if type(value) is tuple:
        return [_to_json(each) for each in value]
    if isinstance(value, np.generic) and type(value.item()) in PLAIN:
        # Of a text, `item` would lose zeros at the end.
        plain = "".join(value) if isinstance(value, np.str_) else value.item()
        return {"dtype": value.dtype.str, "value": plain}
    if isinstance(value, pd.Timestamp):
        zone = None if value.tz is None else str(value.tz)
        return {"time": value.tz_localize(None).isoformat(), "zone": zone}
    if type(value) is date:
        return {"date": value.isoformat()}
    raise InputError(
        f"{value!r} is of type {type(value).__name__}; a task can only be kept with text, "
        "numbers, dates, True, False and None"
    )


def _from_json(value: Any) -> Any:
    match value:
        case list():
            return tuple(_from_json(each) for each in value)
        case {"time": time, "zone": zone}:
            return pd.Timestamp(time).tz_localize(zone)
        case {"date": day}:
            return date.fromisoformat(day)
        case {"dtype": dtype, "value": plain}:
            return np.dtype(dtype).type(plain)
    return value
