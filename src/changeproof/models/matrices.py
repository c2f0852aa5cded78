"""Rows of a task as the numbers that a forest takes: what people read, without a DataFrame."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, cast
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
from scipy.sparse import coo_array, issparse
from sklearn.pipeline import Pipeline

from changeproof.arithmetic.compiling import compiled
from changeproof.datasets.raw import RawColumn
from changeproof.datasets.task import Task
from changeproof.feasible.decimals import MOST_DECIMALS
from changeproof.feasible.feature import Feature, text_of
from changeproof.model import Booleans, Floats, Integers
from changeproof.models.forests.forest import Forest
from changeproof.models.forests.reading import read_forest
from changeproof.models.forests.views import ForestView, Rows
from changeproof.models.inputs import EncodedInputs, Inputs
from changeproof.models.libraries import library_of
from changeproof.models.settings import predictions, probabilities

NUMBER, TWO, SEVERAL = 0, 1, 2
# How a column of numbers may be written in a table.
PLAIN = ("int64", "int32", "int16", "int8", "float64", "Int64", "Int32", "Float64")
POWERS = np.array([10.0**decimals for decimals in range(MOST_DECIMALS + 1)])
# Floating-point numbers next to the nearest that are tried.
NEXT = 4
# Rows on which a forest is compared with the library, and how far some of them are moved.
COMPARED, MOVED = 64, 0.3


@dataclass(frozen=True, eq=False)
class Matrix:
    """How rows become the numbers that a forest takes.

    `columns` are [inputs, kind, first column, width, column that says what is missing or -1, first
    place in `codes`]; `codes` are what categories are to the forest.
    """

    columns: Integers
    codes: Floats
    mean: Floats
    scale: Floats

    @classmethod
    def of(cls, forest: Forest, inputs: Inputs, task: Task) -> Self | None:
        """Return how a forest takes rows; None where that takes a DataFrame."""
        sample = inputs.taken(task.rows("train")[:1], task)
        if isinstance(sample, np.ndarray):
            sample = pd.DataFrame(sample, columns=[each.name for each in task.features])
        features = {feature.name: feature for feature in task.features}
        if len(sample.columns) != forest.n_features or not set(sample.columns) <= set(features):
            return None
        found, codes = [], [np.zeros(0)]
        for place, name in enumerate(sample.columns):
            feature = features[name]
            first, width = feature.columns[0], len(feature.columns)
            if feature.columns != tuple(range(first, first + width)):
                return None
            missing = -1 if feature.missing is None else feature.missing
            kind, start = NUMBER, sum(map(len, codes))
            if feature.categories:
                kind = TWO if feature.kind == "binary" else SEVERAL
                own = _codes(feature, place, inputs, task, forest.categories.get(place))
                if own is None:
                    return None
                codes.append(own)
            elif place in forest.categories or not _is_plain(task.raw.get(name)):
                return None
            found.append((kind, first, width, missing, start))
        return cls(np.array(found, np.int64), np.concatenate(codes), task.mean, task.scale)

    def of_rows(self, rows: Floats) -> Floats:
        matrix = np.empty((len(rows), len(self.columns)))
        rows = np.ascontiguousarray(rows, np.float64)
        _fill(rows, self.columns, self.codes, self.mean, self.scale, POWERS, matrix)
        return matrix

    def of_moves(self, moves: Floats) -> Floats:
        """Return what moves of rows are to numbers; categories stay as they are."""
        found = np.zeros((len(moves), len(self.columns)))
        for place, (kind, first, *_) in enumerate(self.columns.tolist()):
            if kind == NUMBER:
                found[:, place] = moves[:, first] * self.scale[first]
        return found

    def stays(self, rows: Floats, moves: Floats) -> Booleans:
        """Return which rows have the same categories, and the same missing, after every move."""
        raw, reach = rows * self.scale + self.mean, np.abs(moves).max(axis=0) * self.scale
        result = np.ones(len(rows), np.bool_)
        for kind, first, width, missing, _ in self.columns.tolist():
            flags = [missing] * (missing >= 0) + [first] * (kind == TWO)
            for column in flags:
                result &= np.abs(raw[:, column] - 0.5) > reach[column]
            if kind == SEVERAL:
                block, own = raw[:, first : first + width], reach[first : first + width]
                best = block.argmax(axis=1)
                least = block.max(axis=1) - own[best]
                others = np.where(np.arange(width) == best[:, None], -np.inf, block + own)
                result &= others.max(axis=1) < least
        return result


def _is_plain(written: RawColumn | None) -> bool:
    return written is None or (written.dtype in PLAIN and not written.stands_for_numbers)


def _codes(
    feature: Feature, place: int, inputs: Inputs, task: Task, known: tuple[Any, ...] | None
) -> Floats | None:
    """Return the number that each category of a feature is to a forest; None if that is open."""
    count = len(feature.categories)
    rows = np.repeat(task.rows("train")[:1], count, axis=0)
    raw = np.arange(2.0)[:, None] if feature.kind == "binary" else np.eye(count)
    some = list(feature.columns)
    rows[:, some] = (raw - task.mean[some]) / task.scale[some]
    if feature.missing is not None:
        rows[:, feature.missing] = -task.mean[feature.missing] / task.scale[feature.missing]
    taken = inputs.taken(rows, task)
    values = taken.iloc[:, place] if isinstance(taken, pd.DataFrame) else pd.Series(taken[:, place])
    if known is not None:
        places = {text_of(value): code for code, value in enumerate(known)}
        found = [places.get(text_of(value), -1) for value in values]
        return None if min(found) < 0 else np.array(found, np.float64)
    if pd.api.types.is_numeric_dtype(values.dtype) and not values.isna().any():
        return np.asarray(values, np.float64)
    return None


@compiled
def _fill(
    rows: Any, columns: Any, codes: Any, mean: Any, scale: Any, powers: Any, matrix: Any
) -> None:
    for i in range(len(rows)):
        for k in range(len(columns)):
            kind, first, width, missing, start = columns[k]
            if missing >= 0 and rows[i, missing] * scale[missing] + mean[missing] >= 0.5:
                matrix[i, k] = np.nan
            elif kind == NUMBER:
                matrix[i, k] = _unscaled(rows[i, first], mean[first], scale[first], powers)
            elif kind == TWO:
                second = rows[i, first] * scale[first] + mean[first] >= 0.5
                matrix[i, k] = codes[start + 1] if second else codes[start]
            else:
                best, most = 0, -np.inf
                for j in range(width):
                    share = rows[i, first + j] * scale[first + j] + mean[first + j]
                    if share > most:
                        best, most = j, share
                matrix[i, k] = codes[start + best]


@compiled
def _unscaled(value: float, mean: float, scale: float, powers: Any) -> Any:
    """Do for one number what `feasible.decimals.unscaled` does for many."""
    near = value * scale + mean
    for power in powers:
        tried = np.rint(near * power) / power
        if (tried - mean) / scale == value:
            return tried
    for direction in (-np.inf, np.inf):
        tried = near
        for _ in range(NEXT):
            tried = np.nextafter(tried, direction)
            if (tried - mean) / scale == value:
                return tried
    return near


@dataclass(frozen=True, eq=False)
class Transformed:
    """How a forest takes rows at the end of a pipeline: as the steps before it transform them.

    `unstored` is what a forest takes for entries that a sparse matrix leaves out.
    """

    steps: tuple[Any, ...]
    categories: Mapping[int, tuple[Any, ...]]
    unstored: float
    inputs: Inputs
    task: Task

    def of_rows(self, rows: Floats) -> Floats:
        table: Any = self.inputs.taken(rows, self.task)
        for step in self.steps:
            table = step.transform(table)
        if issparse(table):
            stored: Any = coo_array(cast("Any", table))
            matrix = np.full(stored.shape, self.unstored)
            matrix[stored.coords] = stored.data
            return matrix
        if not self.categories:
            return np.ascontiguousarray(table, np.float64)
        frame = pd.DataFrame(table)
        columns = [
            _places(values, self.categories[place])
            if place in self.categories
            else values.to_numpy(np.float64, na_value=np.nan)
            for place, (_, values) in enumerate(frame.items())
        ]
        return np.column_stack(columns)


def _places(values: pd.Series[Any], known: tuple[Any, ...]) -> Floats:
    """Return the places of values among those that are known: -1 for others, NaN for missing."""
    found = pd.Index(known).get_indexer(pd.Index(values.astype(object)))
    return np.where(values.isna(), np.nan, found)


def read_estimator(
    estimator: Any, inputs: Inputs, task: Task, places: Sequence[int] = (), own: bool = False
) -> ForestView | None:
    """Read a fitted forest, also at the end of a pipeline; None where it has to be asked itself.

    What was read is compared with the estimator on some rows, also between those of the table.
    """
    steps, final = _steps(estimator)
    forest = read_forest(final).forest
    if forest is None:
        return None
    rows, taken = _once(task, inputs, partial(_sample, inputs, task))
    matrix: Rows | None = None
    if steps:
        unstored = np.nan if library_of(final) == "xgboost" else 0.0
        matrix = Transformed(steps, forest.categories, unstored, inputs, task)
    elif not isinstance(inputs, EncodedInputs):
        key = (inputs, forest.n_features, sorted(forest.categories.items()))
        matrix = _once(task, key, partial(Matrix.of, forest, inputs, task))
        if matrix is None:
            return None
    try:
        found = forest.probabilities(rows if matrix is None else matrix.of_rows(rows))
        expected = probabilities(estimator, taken) if places else predictions(estimator, taken)
    except Exception:  # whoever asks the estimator itself is told
        return None
    same = np.array_equal(found if places else found[:, -1], np.asarray(expected, np.float64))
    return ForestView(forest, places, matrix, own) if same else None


def _steps(estimator: Any) -> tuple[tuple[Any, ...], Any]:
    """Return the steps of a pipeline that transform, and the last."""
    if type(estimator) is not Pipeline:
        return (), estimator
    *steps, final = (step for _, step in estimator.steps)
    return tuple(step for step in steps if step not in (None, "passthrough")), final


def _sample(inputs: Inputs, task: Task) -> tuple[Floats, pd.DataFrame | Floats]:
    """Return some rows, also as an estimator takes them."""
    rows = task.rows("train")[:COMPARED]
    moves = MOVED * np.random.default_rng(0).standard_normal(rows.shape)
    rows = np.concatenate([rows, rows + moves])
    return rows, inputs.taken(rows, task)


def _once(task: Task, key: Any, make: Callable[[], Any]) -> Any:
    """Return what is the same for all models that take the rows of a task in the same way."""
    known = _KNOWN.setdefault(task, {})
    if (name := repr(key)) not in known:
        known[name] = make()
    return known[name]


_KNOWN: WeakKeyDictionary[Task, dict[str, Any]] = WeakKeyDictionary()
