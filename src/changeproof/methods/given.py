"""Counterfactuals from elsewhere: a table with one row per person instead of a search.

`read_counterfactuals` brings what another tool wrote (row ids and features in original units) to
the table that `GivenCounterfactuals` answers from.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from changeproof.datasets.feature import text_of
from changeproof.datasets.table_file import read_table
from changeproof.datasets.task import Floats, Integers, Task
from changeproof.errors import InputError
from changeproof.methods.method import Candidates, Factuals, Method

ID_COLUMNS = ("id", "factual_id", "row_id")
ROW_ID, REASON, PREFIX = "row_id", "reason", "counterfactual:"
NOT_IN_TABLE = "not in the table"
EMPTY_IN_TABLE = "the table has no counterfactual"
WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+(\.0+)?")


class GivenCounterfactuals(Method):
    """Answer from a table instead of searching.

    Parameters
    ----------
    table
        What `read_counterfactuals` returns.
    """

    name = "given"
    summary = "counterfactuals from a table that another tool made"

    def __init__(self, *, table: pd.DataFrame) -> None:
        lacking = [name for name in (ROW_ID, REASON) if name not in table.columns]
        if lacking:
            raise InputError(
                f"method {self.name!r} needs the table that read_counterfactuals returns; "
                f"this one lacks the columns {lacking}"
            )
        self.table = table

    def __repr__(self) -> str:
        return f"{type(self).__name__}(table=<{len(self.table)} people>)"

    @cached_property
    def fingerprint(self) -> str:
        """Hash of all that the table says; the order of its rows does not count."""
        ordered = self.table.sort_values(ROW_ID)
        names = [str(name) for name in ordered.columns]
        digest = hashlib.sha256(repr((names, ordered[REASON].to_list())).encode())
        digest.update(ordered[ROW_ID].to_numpy(np.int64).tobytes())
        digest.update(np.ascontiguousarray(_rows_of(ordered)).tobytes())
        return digest.hexdigest()

    def _prepare(self) -> None:
        expected = [PREFIX + name for name in self.context.task.feature_names]
        given = [name for name in self.table.columns if str(name).startswith(PREFIX)]
        if given != expected:
            raise InputError(
                f"method {self.name!r}: the table was read for a task with other features than "
                f"{self.context.task.name!r}; read it again with this task"
            )
        self._rows = _rows_of(self.table)
        self._reasons = self.table[REASON].to_numpy(dtype=object)
        self._index = pd.Index(self.table[ROW_ID])

    def _search(self, factuals: Factuals) -> Candidates:
        places = self._index.get_indexer(pd.Index(factuals.row_ids))
        there = places >= 0
        rows = np.full_like(factuals.rows, np.nan)
        rows[there] = self._rows[places[there]]
        reasons = np.full(len(factuals), NOT_IN_TABLE, dtype=object)
        reasons[there] = self._reasons[places[there]]
        return Candidates(rows, reasons=reasons.tolist())


def read_counterfactuals(
    source: pd.DataFrame | str | Path, task: Task, id_column: str | None = None
) -> pd.DataFrame:
    """Read counterfactuals that another tool made.

    Parameters
    ----------
    source
        A CSV or Parquet file, or a frame: one row per person, with the id of the person's row in
        the task and the task's features in original units. A row without any features, or with
        some missing, says that the tool found nothing for this person.
    task
        What the counterfactuals are for.
    id_column
        The column with the ids; by default the first there is of id, factual_id and row_id.

    Returns
    -------
    pandas.DataFrame
        Row id, why there is no counterfactual (empty where there is one), and the standardised
        counterfactual. `attrs["notes"]` lists what people should be told: columns that were
        ignored, people without a counterfactual.
    """
    where = "the counterfactuals" if isinstance(source, pd.DataFrame) else str(source)
    frame = _read(source, task, id_column)
    column = _id_column(where, frame.columns, task, id_column)
    notes = [str(note) for note in frame.attrs.get("notes", ())]
    features = _features(where, frame, task, column, notes)
    row_ids = _row_ids(where, frame[column], task)
    missing = features.isna().to_numpy()
    complete = np.asarray(~missing.any(axis=1), dtype=np.bool_)
    rows = np.full((len(frame), task.n_features), np.nan)
    try:
        rows[complete] = task.encoded(features.loc[complete])
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    if not complete.all():
        notes.append(f"{int((~complete).sum())} of {len(frame)} rows hold no counterfactual")
    columns: dict[str, Any] = {ROW_ID: row_ids, REASON: _reasons(features.columns, missing)}
    columns |= {PREFIX + name: rows[:, i] for i, name in enumerate(task.feature_names)}
    table = pd.DataFrame(columns)
    table.attrs["notes"] = notes
    return table


def people_in(table: pd.DataFrame, task: Task) -> Factuals:
    """Return the people that a table of `read_counterfactuals` is about, in its order."""
    row_ids = table[ROW_ID].to_numpy(np.int64)
    return Factuals(row_ids, task.standardise(task.frame.loc[row_ids]))


def _rows_of(table: pd.DataFrame) -> Floats:
    names = [name for name in table.columns if str(name).startswith(PREFIX)]
    return table[names].to_numpy(np.float64)


def _read(source: pd.DataFrame | str | Path, task: Task, id_column: str | None) -> pd.DataFrame:
    if isinstance(source, pd.DataFrame) and source.index.name is not None:
        source = source.reset_index(drop=source.index.name in source.columns)
    spelled = [f.name for f in task.features if any(isinstance(c, str) for c in f.categories)]
    return read_table(source, text_columns=[*spelled, *_possible_ids(task, id_column)])


def _possible_ids(task: Task, asked: str | None) -> list[str]:
    features = [feature.name for feature in task.features]
    return [asked] if asked is not None else [name for name in ID_COLUMNS if name not in features]


def _id_column(where: str, columns: pd.Index[Any], task: Task, asked: str | None) -> str:
    possible = _possible_ids(task, asked)
    there = [name for name in possible if name in columns]
    if not there:
        raise InputError(
            f"{where}: no column says whose counterfactual a row is; expected "
            f"{' or '.join(possible)}; its columns are {list(columns)}"
        )
    return there[0]


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
        notes.append(f"columns that are no features were ignored: {', '.join(extra)}")
    return frame[wanted].set_axis(pd.Index(frame[id_column].tolist(), dtype=object), axis=0)


def _row_ids(where: str, given: pd.Series[Any], task: Task) -> Integers:
    """Find the task's row ids for ids that may be numbers here and text there."""
    row_ids: list[int] = task.frame.index.to_list()
    known = dict(zip(map(text_of, task.ids), row_ids, strict=True))
    found: dict[int, int] = {}
    for number, value in enumerate(given.tolist(), start=1):
        if pd.isna(value):
            raise InputError(f"{where}: row {number} has no id in column {given.name!r}")
        key = next((k for k in (text_of(value), _number(value)) if k in known), None)
        if key is None:
            raise InputError(
                f"{where}: id {value} (row {number}) is not in task {task.name!r}; "
                f"its ids are {', '.join(list(known)[:3])}, ..."
            )
        if known[key] in found:
            raise InputError(
                f"{where}: id {value} is there twice, in rows {found[known[key]]} and {number}; "
                f"expected one counterfactual per person"
            )
        found[known[key]] = number
    return np.array(list(found), dtype=np.int64)


def _number(value: object) -> str:
    """Write an id that was read as text (007, 12.0) as the whole number it stands for."""
    text = text_of(value)
    return str(int(text.split(".")[0])) if WHOLE_NUMBER.fullmatch(text) else text


def _reasons(names: Sequence[str] | pd.Index[Any], missing: npt.NDArray[np.bool_]) -> list[str]:
    reasons = []
    for row in missing:
        lacking = [str(name) for name, gone in zip(names, row, strict=True) if gone]
        if len(lacking) == len(row):
            reasons.append(EMPTY_IN_TABLE)
        else:
            reasons.append(f"missing in the table: {', '.join(lacking)}" if lacking else "")
    return reasons
