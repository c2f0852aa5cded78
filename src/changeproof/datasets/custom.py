"""Tasks from people's own tables, and from dataset files: what a table means, in TOML beside it."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from changeproof.datasets import dataset_names
from changeproof.datasets.columns import (
    AS_IS,
    Column,
    Missing,
    as_named,
    complete,
    read_as_missing,
    understand,
)
from changeproof.datasets.oddities import table_notes
from changeproof.datasets.person_limits import read_person_limits
from changeproof.datasets.split import PARTS, Split
from changeproof.datasets.table_file import READ_AS_MISSING, UTF8, read_table
from changeproof.datasets.task import Task
from changeproof.datasets.threshold import Threshold
from changeproof.datasets.words import ENGLISH, Catalogue, FeatureWords, Words, find_catalogue
from changeproof.errors import InputError, as_keys, unknown
from changeproof.feasible.action import Action
from changeproof.feasible.decimals import written
from changeproof.feasible.feature import Feature, as_numbers, refuse_first
from changeproof.feasible.wide_tables import wide_notes
from changeproof.files import plain_name, read_toml, safe_name, validated
from changeproof.model import Floats

# The columns that a fitted model takes; all where it does not say.
Taken = Sequence[str] | Literal["all"]
# Row ids are part of seeds, so they must be small and not negative.
LARGEST_ROW_ID = 2**53


def own_task(
    data: pd.DataFrame | str | Path,
    *,
    target: str,
    favourable: Any | Sequence[Any],
    name: str | None = None,
    id_column: str | None = None,
    categorical: Sequence[str] = (),
    drop: Sequence[str] = (),
    missing: Missing | None = None,
    split: str | Split | None = None,
    actions: Mapping[str, Action | Mapping[str, Any]] | None = None,
    most_changes: int | None = None,
    rules: Sequence[str] = (),
    causes: Mapping[str, str] | None = None,
    person_limits: pd.DataFrame | str | Path | None = None,
    beside: Sequence[str] = (),
    time: str | None = None,
    encoding: str = UTF8,
    allow_leak: Sequence[str] = (),
    taken: Taken | None = None,
    words: Mapping[str, FeatureWords | Mapping[str, Any]] | None = None,
    letter: Mapping[str, str] | None = None,
    language: str | Path | Catalogue = ENGLISH,
) -> Task:
    """Make a task of a table.

    Numbers stay numbers. Booleans, and text with two values, become one column of 0 and 1. Other
    text becomes one such column per category. A text column whose values are nearly all numbers is
    refused; the message shows the exception.

    Parameters
    ----------
    data
        A DataFrame, or the path of a CSV or Parquet file.
    target
        The column with the outcome.
    favourable
        The value of the target that people want, or several; ``1`` and ``"1"`` are the same. Of a
        numeric target also a range, ends included: ``">=620"``, ``"<=0.2"`` or ``"200:300"``.
    name
        The name of the task in plans and tables; by default that of the file, or ``data``.
    id_column
        The column with one id per row; by default the index or, in a file, the number of the row
        from 0. `Task.ids` keeps them as they are written (00985).
    categorical
        Columns to treat as categories, whatever they contain.
    drop
        Columns to ignore.
    missing
        ``refuse`` missing values, or ``impute`` them with the median or the most frequent
        category of the training part. They are marked as filled in wherever they are shown, and
        advice then names a goal ("income of at least 130"). With ``impute-and-keep``, advice never
        changes what was filled in. With ``as-is``, a fitted model gets missing values as they are,
        and advice leaves them alone. By default they are refused, or as they are where `taken` is
        given.
    split
        A column that says train, update, validation or test, or a `Split`. A column may also say
        train and test only: see `Split.of_two`. By default the stratified split of the protocol.
    actions
        What may change, by feature: ``{"age": {"change": "increase"}, "sex": {"change": "none"}}``
        or `Action` objects. Other features may change freely, inside the range of the data.
    most_changes
        How many features may change at once.
    rules
        Rules between features: ``"charge = 0.17 * minutes"``, ``"seniority <= age - 16"``,
        ``"education up => age at least + 2"``. See docs/rules-between-features.md.
    causes
        What causes a feature, by its name: ``{"income": "120 * education"}`` or
        ``{"income": "fitted(education, seniority)"}``. Advice is then an intervention.
    person_limits
        A table of people's own limits: an id and columns such as ``low:income``, ``high:income``
        and ``fixed:income``.
    beside
        Columns to remember beside the features, such as groups of people. They are features as
        well, unless they are in `drop`.
    time
        The column that says when a row became known: a date, or a number. It is not a feature.
        See `Task.over_time`.
    encoding
        The encoding of a CSV file.
    allow_leak
        Columns that may predict the target without a mistake. Others that do are refused: they
        are likely copies of it, or known only afterwards.
    taken
        The columns that a fitted model takes, or "all": only these are features, and others are
        kept beside them. Dates, and texts with very many values, are carried along for the model;
        advice leaves them as they are.
    words
        What features are called, and how their values and changes are told:
        ``{"income": {"label": "monthly income", "unit": "EUR"}}`` or `FeatureWords` objects.
    letter
        Words of letters in place of the usual ones, such as ``{"sender": "The Bank"}``.
    language
        The language of the words: "en", "de", or the path of a catalogue file.

    Examples
    --------
    >>> own_task("loans.csv", target="approved", favourable="yes", id_column="applicant")
    Task('loans', 600 rows, 6 features)
    """
    way: Missing = missing or ("refuse" if taken is None else AS_IS)
    if way not in get_args(Missing):
        raise unknown("way to treat missing values", way, get_args(Missing))
    listed = {"categorical": categorical, "drop": drop, "beside": beside, "allow_leak": allow_leak}
    for what, names in listed.items():
        if isinstance(names, str):
            raise InputError(f"{what}: expected a list of columns; got the text {names!r}")
    chosen = checked_name(name) if name is not None else default_name(data)
    reserved = [target, *(c for c in (id_column, split, time) if isinstance(c, str))]
    unread = {*drop} - {*beside, *reserved}
    table = read_table(data, categorical, unread, encoding, id_column, taken is not None)
    missing_texts = table.attrs.pop(READ_AS_MISSING, {})
    if id_column is not None and id_column == table.index.name:
        table = table.reset_index()
    _check_columns(table, reserved, **listed)
    if taken is not None and taken != "all":
        taken = as_named(taken, list(map(str, table.columns)))
        _check_taken(table, taken, {*reserved, *drop})
        others = [c for c in table.columns if c not in {*taken, *reserved, *drop}]
        drop, beside = [*drop, *others], [*beside, *others]
        # In the model's own order.
        table = table[[*taken, *(c for c in table.columns if c not in taken)]]
    known = _beside(table, beside, time)
    table.index = _checked_ids(table, id_column)
    outcomes, labels = _outcomes(table[target], favourable, missing_texts.get(target))
    parts = _split(table, labels, split)
    left_out = {*reserved, *drop}
    understood = [
        understand(table[column], column in categorical, carry=taken is not None)
        for column in table.columns
        if column not in left_out
    ]
    if not understood:
        raise InputError(f"no column is left as a feature besides {', '.join(sorted(left_out))}")
    columns = [
        complete(column, way, parts.train, missing_texts.get(column.name)) for column in understood
    ]
    features, encoded = _encoded(columns)
    encoded.index, ids = _row_ids(table.index)
    as_is = way == AS_IS
    filled = None if as_is else np.column_stack([column.cells.isna() for column in understood])
    task = Task(
        chosen,
        encoded,
        labels,
        parts,
        features,
        ids,
        _with_carried(actions, columns),
        most_changes,
        known,
        time,
        filled=filled,
        keep_filled=way == "impute-and-keep",
        raw={column.name: column.raw for column in columns} if as_is or taken else {},
        outcomes=outcomes,
        favourable_values=_several(favourable),
        words=Words.checked(features, words, letter, language),
        rules=rules,
        causes=causes,
        person_limits=None
        if person_limits is None
        else read_person_limits(person_limits, list(table.index), features, id_column),
    )
    notes = table_notes(
        understood,
        table[target] if task.favourable_range is None else pd.Series(labels, name=target),
        labels,
        task.favourable_values,
        task.declared,
        categorical=categorical,
        allow_leak=allow_leak,
        missing_texts=missing_texts,
        ruled=task.ruled,
    )
    task.notes = (*notes, *task.relation_notes, *wide_notes(task.n_features))
    return task


class DatasetFile(BaseModel):
    """The keys of a dataset file; they mean what they mean to `own_task`.

    `data` and `person_limits` are paths relative to the dataset file, `id` is the id column, and
    the name is that of the dataset file where none is given. `features` are tables of what may
    change, one per feature: see `Action`. `words` are tables of what features are called: see
    `FeatureWords`. `language` is that of the words, or a catalogue file beside the dataset file.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    data: str = Field(min_length=1)
    target: str
    favourable: str | bool | int | float | list[str | bool | int | float]
    name: str | None = None
    id: str | None = None
    categorical: list[str] = []
    drop: list[str] = []
    missing: Missing | None = None
    split: str | None = None
    features: dict[str, dict[str, Any]] = {}
    most_changes: int | None = None
    rules: list[str] = []
    causes: dict[str, str] = {}
    person_limits: str | None = None
    beside: list[str] = []
    time: str | None = None
    encoding: str = UTF8
    allow_leak: list[str] = []
    words: dict[str, dict[str, Any]] = {}
    letter: dict[str, str] = {}
    language: str = ENGLISH


def load_dataset(path: str | Path, beside: Sequence[str] = (), taken: Taken | None = None) -> Task:
    """Make a task of a dataset file.

    Parameters
    ----------
    path
        The dataset file.
    beside
        Columns to remember beside the features, as well as those that it names itself.
    taken
        The columns that a fitted model takes, as for `own_task`.

    Examples
    --------
    >>> load_dataset("loans.toml")
    Task('loans', 600 rows, 6 features)
    """
    path = Path(path)
    given = validated(DatasetFile, read_toml(path, "dataset file"), f"dataset file {path}")
    try:
        name = default_name(path) if given.name is None else checked_name(given.name)
        elsewhere = {"data", "name", "id", "features", "beside", "language", "person_limits"}
        others = given.model_dump(exclude=elsewhere)
        limits = None if given.person_limits is None else path.parent / given.person_limits
        task = own_task(
            path.parent / given.data,
            name=name,
            id_column=given.id,
            actions=given.features,
            beside=[*given.beside, *beside],
            person_limits=limits,
            taken=taken,
            language=find_catalogue(given.language, path.parent),
            **others,
        )
    except InputError as error:
        raise InputError(f"dataset file {path}: {as_keys(str(error))}") from None
    task.notes = tuple(map(as_keys, task.notes))
    return task


def checked_name(name: str) -> str:
    """Return a name that can name a folder and is not that of an embedded dataset."""
    if safe_name(name, "a dataset") in dataset_names():
        raise InputError(f"{name!r} is an embedded dataset; give yours another name")
    return name


def default_name(data: pd.DataFrame | str | Path) -> str:
    plain = plain_name("" if isinstance(data, pd.DataFrame) else Path(data).stem, "data")
    return f"own-{plain}" if plain in dataset_names() else plain


def _check_columns(table: pd.DataFrame, reserved: list[str], **listed: Sequence[str]) -> None:
    for column in (*reserved, *(name for names in listed.values() for name in names)):
        if column not in table.columns:
            raise unknown("column", column, table.columns)
    categorical, drop = listed["categorical"], listed["drop"]
    for column in reserved:
        if reserved.count(column) > 1 or column in categorical or column in drop:
            raise InputError(f"column {column!r} is given two roles; expected one")
    for column in categorical:
        if column in drop:
            raise InputError(f"column {column!r} is both categorical and dropped")


def _check_taken(table: pd.DataFrame, taken: Sequence[str], elsewhere: set[str]) -> None:
    """Refuse a table that lacks columns which a fitted model takes."""
    if lacking := [name for name in taken if name not in table.columns]:
        raise InputError(
            f"the model takes the columns {', '.join(taken)}; the table has no "
            f"{', '.join(lacking)}: its columns are {', '.join(map(str, table.columns))}"
        )
    if clashing := [name for name in taken if name in elsewhere]:
        raise InputError(
            f"the model takes the column {clashing[0]!r}, which cannot be the target, the id, the "
            "time or dropped as well"
        )


def _with_carried(
    actions: Mapping[str, Action | Mapping[str, Any]] | None, columns: Sequence[Column]
) -> dict[str, Action | Mapping[str, Any]]:
    """Return what may change: nothing about what a model takes but no search can change."""
    carried = {
        column.name: Action(change="none", reason=f"Advice leaves {column.name}: {column.carried}.")
        for column in columns
        if column.carried
    }
    for name in (actions or {}).keys() & carried.keys():
        if Action.checked((actions or {})[name], name).change != "none":
            raise InputError(f"feature {name!r} cannot change: {carried[name].reason}")
    return {**carried, **(actions or {})}


def _beside(table: pd.DataFrame, beside: Sequence[str], time: str | None) -> pd.DataFrame:
    """Return what is remembered beside the features; times as dates, or as numbers."""
    names = dict.fromkeys((*beside, *([time] if time is not None else [])))
    known = table[list(names)].copy()
    if time is not None and not pd.api.types.is_numeric_dtype(known[time]):
        try:
            with warnings.catch_warnings():
                # Dates in one format, whichever it is, and nothing else.
                warnings.filterwarnings("error", "Could not infer format")
                warnings.filterwarnings("ignore", "Parsing dates in")
                known[time] = pd.to_datetime(known[time])
        except (ValueError, TypeError, UserWarning):
            raise InputError(
                f"column {time!r} holds no times; expected numbers, or dates such as 2026-11-17"
            ) from None
    return known


def _checked_ids(table: pd.DataFrame, id_column: str | None) -> pd.Index[Any]:
    ids = table.index if id_column is None else pd.Index(table[id_column])
    where = "the index" if id_column is None else f"column {id_column!r}"
    if ids.nlevels > 1:
        raise InputError(f"{where} has {ids.nlevels} levels; expected one id per row: reset it")
    if ids.hasnans:
        raise InputError(f"{where} has a row without an id; expected one id per row")
    plain: pd.Index[Any] = pd.Index([_plain(value) for value in ids], dtype=object)
    if plain.has_duplicates:
        raise InputError(f"{where} holds the id {plain[plain.duplicated()][0]!r} more than once")
    return plain


def _row_ids(ids: pd.Index[Any]) -> tuple[pd.Index[int], tuple[Any, ...] | None]:
    """Return integer row ids, and the original ids where those are no such integers."""
    if all(type(value) is int and 0 <= value < LARGEST_ROW_ID for value in ids):
        return pd.Index(ids.to_list(), dtype=np.int64), None
    return pd.RangeIndex(len(ids)), tuple(ids)


def _outcomes(
    values: pd.Series[Any], favourable: Any, missing_texts: Mapping[str, int] | None
) -> tuple[npt.NDArray[Any] | None, npt.NDArray[np.int8]]:
    """Return the outcomes, where labels do not say it all, and the labels.

    That is where there are more than two classes, or where a range of numbers is favourable.
    """
    name = str(values.name)
    absent = values.isna()
    if absent.any():
        first = values.index[absent][0]
        raise InputError(
            f"the target {name!r} has {int(absent.sum())} missing values "
            f"(first at row {first!r}{read_as_missing(missing_texts)}); expected none"
        )
    objects = pd.api.types.is_object_dtype(values.dtype)
    if objects:
        unusable = np.array([not isinstance(value, Hashable) for value in values])
        refuse_first(f"the target {name!r}", values, unusable, "text")
    wanted = _several(favourable)
    found = tuple(_plain(value) for value in pd.unique(values))
    outcome = Feature(name, "categorical", tuple(range(len(found))), found)
    codes = {outcome.code_of(value) for value in wanted}
    shown = ", ".join(repr(value) for value in found[:10])
    if -1 in codes or not codes:
        missed = next((value for value in wanted if outcome.code_of(value) < 0), favourable)
        if len(wanted) == 1 and _is_range(missed):
            return _in_range(values, missed)
        raise InputError(
            f"favourable {missed!r} is not in the target {name!r}; its values are {shown}"
        )
    if len(found) == len(codes):
        raise InputError(
            f"the target {name!r} has one class only: every row is favourable ({shown})"
        )
    # Of Python objects, 1 and True are equal and need not be the same outcome.
    cells, different = (range(len(values)), values) if objects else pd.factorize(values)
    each = np.array([outcome.code_of(value) for value in different], dtype=np.int64).take(cells)
    labels = np.isin(each, list(codes)).astype(np.int8)
    if len(found) <= 2:
        return None, labels
    plain = [
        value if isinstance(value, str | bool | int | float) else str(value) for value in found
    ]
    return np.array(plain, dtype=object).take(each), labels


def _is_range(favourable: Any) -> bool:
    return isinstance(favourable, str) and (
        favourable.strip().startswith((">=", "<=")) or ":" in favourable
    )


def _in_range(values: pd.Series[Any], given: str) -> tuple[Floats, npt.NDArray[np.int8]]:
    """Return the numbers of a target, and which of them are in the range that is favourable."""
    name = str(values.name)
    numbers, text = as_numbers(values)
    if (bad := text | ~np.isfinite(numbers)).any():
        raise InputError(
            f"favourable {given!r} is a range of numbers, and the target {name!r} holds "
            f"{values.iloc[int(bad.argmax())]!r}; expected one of its values"
        )
    try:
        inside = Threshold.of(given).accepts(numbers)
    except InputError as error:
        raise InputError(f"favourable {given!r}: {error}") from None
    if inside.all() or not inside.any():
        raise InputError(
            f"favourable {given!r}: {'every' if inside.all() else 'no'} row is in that range; the "
            f"target {name!r} goes from {written(numbers.min())} to {written(numbers.max())}"
        )
    return numbers, inside.astype(np.int8)


def _several(favourable: Any) -> list[Any]:
    several = isinstance(favourable, Iterable) and not isinstance(favourable, str)
    return list(favourable) if several else [favourable]


def _split(table: pd.DataFrame, labels: npt.NDArray[np.int8], split: str | Split | None) -> Split:
    if split is None:
        return Split.stratified(labels)
    if isinstance(split, str):
        values = table[split].map(lambda value: str(value).strip())
        unknown_part = ~values.isin(PARTS).to_numpy()
        expected = f"one of: {', '.join(PARTS)}"
        refuse_first(f"split column {split!r}", values, unknown_part, expected)
        if set(values) == {"train", "test"}:
            train, test = (np.flatnonzero(values == part) for part in ("train", "test"))
            return Split.of_two(train, test, labels)
        split = Split(*(np.flatnonzero(values == part) for part in PARTS))
    positions = {part: getattr(split, part) for part in PARTS}
    for part in PARTS:
        if not len(positions[part]):
            raise InputError(
                f"the split has no row in the part {part!r}; expected rows in each of "
                f"{', '.join(PARTS)}, or train and test only: the test rows are then shared out"
            )
    taken = np.concatenate(list(positions.values()))
    if taken.min() < 0 or taken.max() >= len(labels) or len(np.unique(taken)) < len(taken):
        raise InputError(
            f"the split's positions must be different numbers from 0 to {len(labels) - 1}"
        )
    for part in ("train", "validation"):
        if len(np.unique(labels[positions[part]])) < 2:
            raise InputError(f"the split's part {part!r} has rows of one class only")
    return split


def _encoded(columns: list[Column]) -> tuple[list[Feature], pd.DataFrame]:
    features: list[Feature] = []
    names: list[str] = []
    for column in columns:
        features.append(column.feature(len(names)))
        names += features[-1].column_names
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two encoded columns would be called {name!r}; rename one column")
    # Column by column, as a frame stores them, so that nothing is copied.
    encoded = np.empty((len(names), len(columns[0].cells)))
    for feature, column in zip(features, columns, strict=True):
        encoded[list(feature.columns)] = feature.encode(column.cells).T
        if column.absent is not None:
            encoded[feature.missing] = column.absent
    return features, pd.DataFrame(encoded.T, columns=names, copy=False)


def _plain(value: Any) -> Any:
    """Return a value as plain Python has it: whole numbers as integers, text without blanks."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, str):
        return plain.strip()
    return int(plain) if isinstance(plain, float) and plain.is_integer() else plain
