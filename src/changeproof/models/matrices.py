"""Rows of a task as the numbers that a forest takes: what people read, without a DataFrame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import pandas as pd

from changeproof.arithmetic.compiling import compiled
from changeproof.datasets.raw import RawColumn
from changeproof.datasets.task import Task
from changeproof.feasible.decimals import MOST_DECIMALS
from changeproof.feasible.feature import Feature, text_of
from changeproof.model import Booleans, Floats, Integers
from changeproof.models.forests.forest import Forest
from changeproof.models.forests.reading import read_forest
from changeproof.models.forests.views import ForestView
from changeproof.models.inputs import Inputs
from changeproof.models.settings import probabilities

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
class ReadEstimator:
    """A fitted classifier, read as a forest, that takes rows as a matrix."""

    forest: Forest
    classes_: npt.NDArray[Any]

    def predict_proba(self, matrix: Floats) -> Floats:
        return self.forest.probabilities(matrix)

    def predict(self, matrix: Floats) -> npt.NDArray[Any]:
        return np.asarray(self.classes_[self.forest.classes(matrix)])


@dataclass(frozen=True, eq=False)
class MatrixInputs(Inputs):
    """How a forest that was read takes rows: as a matrix."""

    matrix: Matrix

    def taken(self, rows: Floats, task: Task) -> Floats:
        return self.matrix.of_rows(rows)


class ReadModel(NamedTuple):
    """A fitted classifier that was read as a forest, and how it takes rows."""

    estimator: ReadEstimator
    inputs: MatrixInputs

    def view(self, places: Sequence[int], spare: float = 0.0) -> ForestView | None:
        """Return it as a forest of two classes, if it has two, of which one is favourable."""
        if self.estimator.forest.n_classes != 2:
            return None
        return ForestView(self.estimator.forest, places[0], self.inputs.matrix, spare)


def read_estimator(estimator: Any, inputs: Inputs, task: Task) -> ReadModel | None:
    """Read a fitted classifier on columns of a table; None where it has to be asked itself.

    What was read is compared with the classifier on some rows, also between those of the table.
    """
    forest = read_forest(estimator).forest
    if forest is None or not forest.n_classes:
        return None
    known = _SAMPLES.setdefault(task, {})
    key = repr((inputs, forest.n_features, sorted(forest.categories.items())))
    if key not in known:
        known[key] = Sample.of(forest, inputs, task)
    sample = known[key]
    if sample is None:
        return None
    expected = np.asarray(probabilities(estimator, sample.taken), np.float64)
    if not np.array_equal(forest.probabilities(sample.numbers), expected):
        return None
    classes = np.asarray(estimator.classes_)
    return ReadModel(ReadEstimator(forest, classes), MatrixInputs(sample.matrix))


class Sample(NamedTuple):
    """How forests take rows, and some rows: as an estimator takes them, and as numbers."""

    matrix: Matrix
    taken: pd.DataFrame | Floats
    numbers: Floats

    @classmethod
    def of(cls, forest: Forest, inputs: Inputs, task: Task) -> Self | None:
        matrix = Matrix.of(forest, inputs, task)
        if matrix is None:
            return None
        rows = task.rows("train")[:COMPARED]
        moves = MOVED * np.random.default_rng(0).standard_normal(rows.shape)
        rows = np.concatenate([rows, rows + moves])
        return cls(matrix, inputs.taken(rows, task), matrix.of_rows(rows))


# The same for all models that take the rows of a task in the same way.
_SAMPLES: WeakKeyDictionary[Task, dict[str, Sample | None]] = WeakKeyDictionary()
