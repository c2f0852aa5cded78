"""People's own data, model and counterfactuals through the whole protocol, in one call."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from changeproof.datasets.custom import own_task
from changeproof.datasets.dataset_file import load_dataset
from changeproof.datasets.table_file import read_table
from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.files import write_whole
from changeproof.methods import method_names
from changeproof.methods.given import ID_COLUMNS, read_counterfactuals
from changeproof.models.find import as_learner, find_learner, object_reference
from changeproof.runs.directory import check_free, write_plan
from changeproof.runs.fitting import fitted
from changeproof.runs.plan import Plan
from changeproof.runs.results import Results
from changeproof.runs.runner import Observer
from changeproof.workflow import run

DATA = "data"
INDEX = "row_id"
BASE_SEEDS = (2026,)

Table = pd.DataFrame | str | Path


def audit(
    data: Table,
    out: str | Path,
    *,
    target: str,
    favourable: Any,
    model: Any = "mlp",
    counterfactuals: Table | Mapping[str, Table] | None = None,
    grid: Mapping[str, Sequence[Any]] | None = None,
    replacements: Sequence[str] | None = None,
    name: str | None = None,
    id_column: str | None = None,
    categorical: Sequence[str] = (),
    drop: Sequence[str] = (),
    missing: Literal["refuse", "impute"] = "refuse",
    split: str | None = None,
    jobs: int | None = None,
    observer: Observer | None = None,
    publish: bool = True,
    **plan: Any,
) -> Results:
    """Audit recourse on one's own data and model; write tables and report into a directory.

    Parameters
    ----------
    data
        A CSV or Parquet file, or a DataFrame.
    out
        The run directory. It keeps a copy of the data, so that it can be read anywhere.
    target, favourable
        The column to predict, and the value or values of it that people want.
    model
        A reference ("mlp", "sklearn:RandomForestClassifier(max_depth=8)", "python:module:name"),
        a scikit-learn classifier, a function ``fit(X, y, sample_weight, seed)`` that returns a
        function from rows to probabilities, or a learner such as `ModuleLearner`.
    counterfactuals
        A table of counterfactuals from elsewhere, or several by name. The people who are asked
        about are then those in the tables.
    grid, replacements
        Training configurations of a scikit-learn model, and models that may replace this one.
    name, id_column, categorical, drop, missing, split
        See `own_task`.
    jobs, observer, publish
        See `run`.
    **plan
        methods, families, base_seeds (one by default), factuals, rows: see `Plan`.
    """
    folder = Path(out)
    if isinstance(data, pd.DataFrame) and id_column is None:
        # The index holds the ids; a file keeps them only as a column.
        data, id_column = data.rename_axis(INDEX).reset_index(), INDEX
    options = {
        "target": target,
        "favourable": favourable,
        "name": name,
        "id_column": id_column,
        "categorical": list(categorical),
        "drop": list(drop),
        "missing": missing,
        "split": split,
    }
    task = own_task(data, **options)
    reference = _model_reference(model)
    learner = find_learner(reference, grid=grid, replacements=replacements)
    tables = {n: _with_id(t, id_column) for n, t in _tables(counterfactuals).items()}
    people = {n: read_counterfactuals(table, task) for n, table in tables.items()}
    if observer is not None:
        for table_name, answers in people.items():
            for note in answers.attrs["notes"]:
                observer.told(f"{table_name}: {note}")
    values: dict[str, Any] = {
        "datasets": (f"{DATA}/{task.name}.toml",),
        "methods": method_names(),
        "base_seeds": BASE_SEEDS,
        "model": reference,
        "counterfactuals": {n: f"{DATA}/{n}{_suffix(table)}" for n, table in tables.items()},
        **({"grid": dict(grid)} if grid is not None else {}),
        **({"replacements": tuple(replacements)} if replacements is not None else {}),
        **({"rows": _row_ids(people)} if people else {}),
        **{key: value for key, value in plan.items() if value is not None},
    }
    chosen = fitted(Plan.checked(values, where="audit"), learner)
    check_free(folder)
    write_plan(folder, chosen)
    _keep(folder, task, data, options, tables)
    return run(chosen, folder, jobs=jobs, observer=observer, publish=publish)


def _model_reference(model: Any) -> str:
    return model if isinstance(model, str) else object_reference(as_learner(model))


def _tables(given: Table | Mapping[str, Table] | None) -> dict[str, Table]:
    if given is None:
        return {}
    tables = dict(given) if isinstance(given, Mapping) else {"given": given}
    for name in tables:
        if name in method_names():
            raise InputError(f"counterfactuals cannot be called {name!r}: a method has that name")
    return tables


def _with_id(table: Table, id_column: str | None) -> Table:
    """Take the id column of the data for that of the counterfactuals, if they have it."""
    if id_column is None:
        return table
    frame = read_table(table, text_columns=[id_column])
    if id_column not in frame.columns:
        return table
    return frame.rename(columns={id_column: ID_COLUMNS[0]})


def _row_ids(people: Mapping[str, pd.DataFrame]) -> tuple[int, ...]:
    ids = pd.concat([table["row_id"] for table in people.values()])
    return tuple(int(row) for row in ids.drop_duplicates())


def _keep(
    folder: Path,
    task: Task,
    data: Table,
    options: Mapping[str, Any],
    tables: Mapping[str, Table],
) -> None:
    """Copy data and counterfactuals into the run directory, and describe the data."""
    kept = folder / DATA / f"{task.name}-rows{_suffix(data)}"
    write_whole(kept, _content(data))
    for name, table in tables.items():
        write_whole(folder / DATA / f"{name}{_suffix(table)}", _content(table))
    described = {"data": kept.name, **options, "name": task.name}
    described["id"] = described.pop("id_column")
    lines = [f"{k} = {json.dumps(v, default=str)}" for k, v in described.items() if v is not None]
    path = folder / DATA / f"{task.name}.toml"
    write_whole(path, ("\n".join(lines) + "\n").encode())
    if load_dataset(path).fingerprint != task.fingerprint:
        raise InputError(f"the copy of the data in {path} does not give the same rows")


def _suffix(data: Table) -> str:
    return ".parquet" if isinstance(data, pd.DataFrame) else Path(data).suffix


def _content(data: Table) -> bytes:
    if not isinstance(data, pd.DataFrame):
        return Path(data).read_bytes()
    buffer = io.BytesIO()
    data.to_parquet(buffer, index=False)
    return buffer.getvalue()
