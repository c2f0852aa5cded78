"""The answers of an entry: who was told what, and nothing else.

A table with a row for every person of every base model: a standardised row as a list of numbers,
or the reason why there is none. It may be a stranger's, so all of it is checked.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from changeproof.datasets.table_file import check_size
from changeproof.errors import InputError, one_line, visible
from changeproof.methods.answers import FOUND, NOT_FOUND, Counterfactuals
from changeproof.methods.method import Candidates, Factuals, Method
from changeproof.model import Floats, Integers

SCHEMA = pa.schema(
    [
        ("track", pa.string()),
        ("dataset", pa.string()),
        ("model", pa.string()),
        ("base_seed", pa.int64()),
        ("row_id", pa.int64()),
        ("outcome", pa.string()),
        ("counterfactual", pa.list_(pa.float64())),
        ("certified", pa.bool_()),
    ]
)
LONGEST_REASON = 500
CERTIFIED = "certified"


class Cell(NamedTuple):
    """The people of one base model of a track."""

    track: str
    model: str
    dataset: str
    base_seed: int

    def __str__(self) -> str:
        return f"{self.track}, {self.dataset}, {self.model}, seed {self.base_seed}"


class Told(NamedTuple):
    """What the people of one base model are told, in the order of the file.

    `rows` [people, columns] are NaN where there is no answer; `outcomes` are then the reasons, and
    else "found". `certified` is None where the method certifies nothing.
    """

    row_ids: Integers
    rows: Floats
    outcomes: npt.NDArray[np.object_]
    certified: npt.NDArray[np.bool_] | None = None

    @property
    def found(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.outcomes == FOUND, dtype=np.bool_)


def answers_to_bytes(cells: Mapping[Cell, Counterfactuals | Told]) -> bytes:
    """Return the file of answers, a method's or those of a file; equal answers give equal bytes."""
    columns: dict[str, list[Any]] = {name: [] for name in SCHEMA.names}
    for cell, answers in cells.items():
        people = len(answers.row_ids)
        for name in ("track", "dataset", "model", "base_seed"):
            columns[name] += [getattr(cell, name)] * people
        columns["row_id"] += answers.row_ids.tolist()
        columns["outcome"] += answers.outcomes.tolist()
        columns["counterfactual"] += [
            row if found else None
            for row, found in zip(answers.rows.tolist(), answers.found.tolist(), strict=True)
        ]
        certified = answers.certified
        columns[CERTIFIED] += [None] * people if certified is None else certified.tolist()
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns, schema=SCHEMA), buffer, compression="zstd")
    return buffer.getvalue()


def read_answers(path: Path) -> dict[Cell, Told]:
    """Return the answers of an entry by the people of a base model, checked as far as they go."""
    try:
        content = path.read_bytes()
        check_size(io.BytesIO(content), str(path))
        file = pq.ParquetFile(io.BytesIO(content))
        for field in SCHEMA:
            if field.name not in file.schema_arrow.names:
                raise InputError(f"{path}: the column {field.name!r} is missing")
            kind = file.schema_arrow.field(field.name).type
            if not kind.equals(field.type):
                raise InputError(f"{path}: {field.name} is {kind}; expected {field.type}")
        if len(file.schema_arrow.names) > len(SCHEMA):
            other = next(n for n in file.schema_arrow.names if n not in SCHEMA.names)
            raise InputError(
                f"{path}: unknown column {visible(other)!r}; an entry holds answers, never scores"
            )
        table = file.read(columns=SCHEMA.names, use_threads=False)
    except OSError as error:
        raise InputError(f"cannot read {path}: {one_line(error)}") from None
    except pa.ArrowException as error:
        raise InputError(f"cannot read {path}: {one_line(error)}") from None
    for name in SCHEMA.names[:6]:
        if table.column(name).null_count:
            raise InputError(f"{path}: {name} is empty in some rows; expected a value")
    frame: pd.DataFrame = table.drop_columns(["counterfactual"]).to_pandas()
    rows = table.column("counterfactual").combine_chunks()
    found = {}
    for key, group in frame.groupby(list(Cell._fields), sort=False):
        track, model, dataset, seed = map(str, key)
        lists = rows.take(pa.array(group.index.to_numpy()))
        found[Cell(track, model, dataset, int(seed))] = _told(path, group, lists)
    return found


def of_track(told: Mapping[Cell, Told], track: str) -> dict[Cell, Told]:
    """Return the answers to a track."""
    return {cell: each for cell, each in told.items() if cell.track == track}


def _told(path: Path, group: pd.DataFrame, lists: Any) -> Told:
    """Return the answers of some people; every row is whole and finite, or has a reason."""
    outcomes = group["outcome"].to_numpy(dtype=object)
    found = np.asarray(outcomes == FOUND)
    there = np.asarray(lists.is_valid().to_numpy(zero_copy_only=False))

    def refuse(which: npt.NDArray[np.bool_], why: str) -> None:
        if which.any():
            person = group.iloc[int(which.argmax())]
            where = f"{person['track']}, {person['dataset']}, seed {person['base_seed']}"
            raise InputError(f"{path}: {visible(where)}, row {person['row_id']}: {why}")

    refuse(found & ~there, 'no counterfactual, and no reason; the outcome says "found"')
    refuse(~found & there, "a counterfactual, and a reason why there is none; expected one of both")
    long = np.array([not 0 < len(each) <= LONGEST_REASON for each in outcomes])
    refuse(long, f"expected a reason of 1 to {LONGEST_REASON} characters")
    lengths = np.asarray(lists.value_lengths().fill_null(0))[found]
    width = int(lengths[0]) if len(lengths) else 0
    wrong = np.zeros(len(group), np.bool_)
    wrong[found] = lengths != width
    refuse(wrong, f"a counterfactual of another width than {width}")
    flat = lists.flatten()
    rows = np.full((len(group), width), np.nan)
    if width:
        rows[found] = flat.to_numpy(zero_copy_only=False).reshape(-1, width)
    refuse(found & ~np.isfinite(rows).all(axis=1), "NaN or infinite values, and no reason")
    ids = group["row_id"].to_numpy(np.int64)
    twice = pd.Series(ids).duplicated().to_numpy()
    refuse(np.asarray(twice), "this person is answered twice")
    return Told(ids, rows, outcomes, _certified(group[CERTIFIED]))


def _certified(column: pd.Series[Any]) -> npt.NDArray[np.bool_] | None:
    if column.isna().all():
        return None
    return np.asarray(column.fillna(False).astype(np.bool_))


class HandedIn(Method):
    """Answer from an entry instead of searching; each base model's people have their own answers.

    Parameters
    ----------
    told
        By dataset and base seed.
    """

    name = "handed-in"
    summary = "the answers of an entry"
    searches_feasible = False

    def __init__(self, *, told: Any) -> None:
        self.told: Mapping[tuple[str, int], Told] = told

    @cached_property
    def fingerprint(self) -> str:
        """Hash of all answers."""
        digest = hashlib.sha256()
        for where, told in sorted(self.told.items()):
            digest.update(repr((where, told.outcomes.tolist())).encode())
            for array in (told.row_ids, told.rows, told.certified):
                digest.update(b"" if array is None else np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def _search(self, factuals: Factuals) -> Candidates:
        task, seed = self.context.task, self.context.base_seed
        told = self.told[task.name, seed]
        places = pd.Index(told.row_ids).get_indexer(pd.Index(factuals.row_ids))
        if (places < 0).any():
            raise InputError(f"{task.name}, seed {seed}: somebody who asks has no answer")
        reasons = np.where(told.found, "", told.outcomes)[places].tolist()
        rows = np.full_like(factuals.rows, np.nan)
        found = told.found[places]
        if found.any():  # where nobody has an answer, nothing says how wide answers are
            rows[found] = told.rows[places[found]]
        certified = told.certified
        extra = {} if certified is None else {CERTIFIED: certified[places]}
        return Candidates(rows, [reason or NOT_FOUND for reason in reasons], extra)
