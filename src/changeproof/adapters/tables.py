"""Tables of counterfactuals: what adapters write, and what is read from any other tool.

A table has one row per person: the id of the person's row in the task, and the features in
original units.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from changeproof.adapters.letters import is_folder, read_letters
from changeproof.datasets import dataset_names
from changeproof.datasets.table_file import read_table
from changeproof.datasets.task import Task
from changeproof.errors import InputError, setting
from changeproof.feasible.feature import text_of
from changeproof.methods.given import PREFIX, REASON, ROW_ID
from changeproof.methods.method import Factuals
from changeproof.model import Booleans, Integers

ID_COLUMNS = ("id", "factual_id", "row_id")
EMPTY_IN_TABLE = "the table has no counterfactual"
WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+(\.0+)?")


def one_row_each(
    tool: str, ids: Sequence[Any], features: Sequence[str], rows: Sequence[Sequence[Any] | None]
) -> pd.DataFrame:
    """Return a table of ids and features; None becomes a row without features.

    The ids are in the column id, factual_id or row_id, the first that is not a feature.
    """
    if len(ids) != len(rows):
        raise InputError(
            f"{tool} explained {len(rows)} people but {len(ids)} ids were given; "
            f"expected one id per person, in the same order"
        )
    free = [name for name in ID_COLUMNS if name not in features]
    if not free:
        raise InputError(
            f"{tool}: {', '.join(ID_COLUMNS)} are all features, so none can hold the ids"
        )
    nothing = [float("nan")] * len(features)
    values = [list(nothing if row is None else row) for row in rows]
    frame = pd.DataFrame(values, columns=list(features))
    frame.insert(0, free[0], list(ids))
    return frame


def read_counterfactuals(
    source: pd.DataFrame | str | Path,
    task: Task,
    id_column: str | None = None,
    encoding: str | None = None,
) -> pd.DataFrame:
    """Read counterfactuals that another tool made.

    Parameters
    ----------
    source
        A CSV or Parquet file, or a frame, with one row per person: the id of the person and the
        features of the counterfactual in original units. If features are missing, the tool found
        nothing for this person; but where the task keeps missing values as values, a gap is one of
        them, and only a row of gaps is no counterfactual. Or a folder of letters, as
        `changeproof letters` wrote it.
    task
        The task that the people belong to.
    id_column
        The column with the ids; by default id, factual_id or row_id, the first that exists.
    encoding
        The encoding of a CSV file; UTF-8 by default.

    Returns
    -------
    pandas.DataFrame
        Row id, the reason if there is no counterfactual (else empty), and the standardised
        counterfactual. `attrs["notes"]` lists ignored columns and how many people have no
        counterfactual.
    """
    encoded = [PREFIX + name for name in task.feature_names]
    if isinstance(source, pd.DataFrame) and list(source.columns) == [ROW_ID, REASON, *encoded]:
        return source  # what this function has returned
    where, frame, column = _with_ids(source, task, id_column, encoding)
    notes = [str(note) for note in frame.attrs.get("notes", ())]
    features = _features(where, frame, task, column, notes)
    row_ids = row_ids_of(where, frame[column], task)
    missing = _missing(features, task)
    complete = np.asarray(~missing.any(axis=1), dtype=np.bool_)
    rows = np.full((len(frame), task.n_features), np.nan)
    try:
        rows[complete] = task.encoded(features.loc[complete])
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    if not complete.all():
        notes.append(f"{int((~complete).sum())} of {len(frame)} rows have no counterfactual")
    table = pd.DataFrame(rows, columns=encoded)
    table.insert(0, ROW_ID, row_ids)
    table.insert(1, REASON, [_reason(features.columns, each) for each in missing])
    table.attrs["notes"] = notes
    return table


def read_choices(
    name: str,
    source: pd.DataFrame | str | Path,
    task: Task,
    id_column: str | None = None,
    encoding: str | None = None,
) -> dict[str, pd.DataFrame]:
    """Read counterfactuals of which there may be several for a person, and test all of them.

    Everybody's first are under the name, the second under NAME-2, and so on, each as from
    `read_counterfactuals`.
    """
    if isinstance(source, pd.DataFrame) and ROW_ID in source.columns and REASON in source.columns:
        return {name: read_counterfactuals(source, task, id_column, encoding)}
    _, frame, column = _with_ids(source, task, id_column, encoding)
    number = frame.groupby(frame[column].map(_number), dropna=False).cumcount()
    if not number.any():
        return {name: read_counterfactuals(source, task, id_column, encoding)}
    found = {}
    for choice in range(int(number.max()) + 1):
        part = frame[number == choice].reset_index(drop=True)
        part.attrs = frame.attrs if choice == 0 else {}
        called = name if choice == 0 else f"{name}-{choice + 1}"
        found[called] = read_counterfactuals(part, task, column, encoding)
    found[name].attrs["notes"].append(
        f"up to {len(found)} rows per person: all are tested, as {', '.join(found)}"
    )
    return found


def _with_ids(
    source: pd.DataFrame | str | Path, task: Task, id_column: str | None, encoding: str | None
) -> tuple[str, pd.DataFrame, str]:
    """Return what a table of counterfactuals is called, the table, and its column of ids."""
    if is_folder(source):
        source, id_column = letters_table(Path(str(source))), None
    where = "the counterfactuals" if isinstance(source, pd.DataFrame) else str(source)
    features = [feature.name for feature in task.features]
    spelled = [f.name for f in task.features if any(isinstance(c, str) for c in f.categories)]
    possible = [name for name in ID_COLUMNS if name not in features]
    possible = possible if id_column is None else [id_column]
    return where, *read_with_ids(where, source, possible, spelled, encoding)


def letters_table(folder: Path) -> pd.DataFrame:
    """Return letters that `changeproof letters` wrote as a table: a row for every way."""
    letters = read_letters(folder)
    features = list(dict.fromkeys(name for row in letters.rows for name in row or ()))
    rows = [None if row is None else [row.get(name) for name in features] for row in letters.rows]
    return one_row_each(str(folder), letters.people, features, rows)


def people_in(table: pd.DataFrame, task: Task) -> Factuals:
    """Return the people that a table of `read_counterfactuals` is about, in its order."""
    row_ids = table[ROW_ID].to_numpy(np.int64)
    return Factuals(row_ids, task.standardise(task.frame.loc[row_ids]))


def read_with_ids(
    where: str,
    source: pd.DataFrame | str | Path,
    possible: Sequence[str],
    text_columns: Sequence[str] = (),
    encoding: str | None = None,
) -> tuple[pd.DataFrame, str]:
    """Return a table of one row per person, and its column of ids: the first possible one."""
    if isinstance(source, pd.DataFrame) and source.index.name is not None:
        source = source.reset_index(drop=source.index.name in source.columns)
    frame = read_table(source, text_columns=[*text_columns, *possible], encoding=encoding)
    for column in possible:
        if column in frame.columns:
            return frame, column
    raise InputError(
        f"{where}: no column has the ids of people; expected {' or '.join(possible)}; its columns "
        f"are {list(frame.columns)}"
    )


def _features(
    where: str, frame: pd.DataFrame, task: Task, id_column: str, notes: list[str]
) -> pd.DataFrame:
    wanted = [feature.name for feature in task.features]
    missing = [name for name in wanted if name not in frame.columns]
    if missing:
        raise InputError(
            f"{where}: the features {missing} of task {task.name!r} are missing; "
            f"its columns are {list(frame.columns)}"
        )
    extra = [name for name in frame.columns if name not in wanted and name != id_column]
    if extra:
        notes.append(f"columns that are not features were ignored: {', '.join(extra)}")
    return frame[wanted].set_axis(pd.Index(frame[id_column].tolist(), dtype=object), axis=0)


def _missing(features: pd.DataFrame, task: Task) -> Booleans:
    """Return which cells lack a value; a gap is one where missing values are values."""
    empty = features.isna().to_numpy()
    gaps = np.array([feature.missing is not None for feature in task.features])
    return np.asarray(empty & (~gaps | empty.all(axis=1, keepdims=True)))


def row_ids_of(where: str, given: pd.Series[Any], task: Task) -> Integers:
    """Return the task's row ids of ids, whether these are numbers or text."""
    row_ids: list[int] = task.frame.index.to_list()
    known = dict(zip(map(text_of, task.ids), row_ids, strict=True))
    # Other programs take the zeros off an id such as 007. Without them it may be another person's.
    numbers = Counter(map(_number, known))
    bare = {_number(text): text for text in known if numbers[_number(text)] == 1}
    found: dict[int, int] = {}
    for number, value in enumerate(given.tolist(), start=1):
        if pd.isna(value):
            raise InputError(f"{where}: row {number} has no id in column {given.name!r}")
        key = text_of(value) if text_of(value) in known else bare.get(_number(value))
        if key is None:
            raise InputError(
                f"{where}: id {value} (row {number}) is not in task {task.name!r}; "
                f"its ids are {', '.join(list(known)[:3])}, ...{_no_ids(task, text_of(value))}"
            )
        if known[key] in found:
            raise InputError(
                f"{where}: id {value} appears twice, in rows {found[known[key]]} and {number}; "
                "expected one row per person (evaluate and audit take several)"
            )
        found[known[key]] = number
    return np.array(list(found), dtype=np.int64)


def _no_ids(task: Task, wanted: str) -> str:
    """Say what helps where rows of a task are numbered, and have no ids of their own.

    The column that has the id is named, where it is one that the model does not take.
    """
    if task.given_ids is not None or task.name in dataset_names():
        return ""
    beside = (str(name) for name in task.beside if wanted in set(map(text_of, task.beside[name])))
    column = next(beside, "")
    if column:
        return f", the numbers of its rows; pass {setting(id_column=column)}"
    return f", the numbers of its rows; if a column has the ids, pass {setting(id_column='COLUMN')}"


def _number(value: object) -> str:
    """Write an id that was read as text (007, 12.0) as the whole number it stands for."""
    text = text_of(value)
    return str(int(text.split(".")[0])) if WHOLE_NUMBER.fullmatch(text) else text


def _reason(features: pd.Index[str], missing: Booleans) -> str:
    if missing.all():
        return EMPTY_IN_TABLE
    return f"missing in the table: {', '.join(features[missing])}" if missing.any() else ""
