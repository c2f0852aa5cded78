"""Rows of a task as the numbers that a forest takes: what people read, without a DataFrame."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
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
from changeproof.models.forests.reading import read_forest
from changeproof.models.forests.views import ForestView, Rows
from changeproof.models.inputs import EncodedInputs, Inputs
from changeproof.models.libraries import library_of
from changeproof.models.scaling import PLAIN_SCALE, sources_of
from changeproof.models.settings import predictions, probabilities

NUMBER, TWO, SEVERAL = 0, 1, 2
# How a column of numbers may be written in a table.
PLAIN = ("int64", "int32", "int16", "int8", "float64", "Int64", "Int32", "Float64")
POWERS = np.array([10.0**decimals for decimals in range(MOST_DECIMALS + 1)])
# Floating-point numbers next to the nearest that are tried.
NEXT = 4
# A number that is put on another scale and back is off by no more than this share of its size.
ROUNDED = 1e-12
# Rows on which a forest is compared with the library, and how far some of them are moved.
COMPARED, MOVED = 64, 0.3


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

    @property
    def key(self) -> object:
        return self

    def table(self, rows: Floats) -> Any:
        table: Any = self.inputs.taken(rows, self.task)
        for step in self.steps:
            table = step.transform(table)
        return table

    def of_rows(self, rows: Floats) -> Floats:
        table = self.table(rows)
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
    places = {text_of(value): place for place, value in enumerate(known)}
    codes, distinct = pd.factorize(values.astype(object))
    found = [places.get(text_of(value), -1) for value in distinct]
    return np.array([*found, np.nan], np.float64)[codes]


@dataclass(frozen=True, eq=False)
class Matrix:
    """How rows become the numbers that a forest takes, where each is of one feature.

    `features` are [kind, first column, columns, column that says what is missing or -1, first
    output]; `outputs` are [place in the matrix, first place in `codes`]. What categories are to the
    forest stands in `codes`, and then what a missing value is. A number is first put on another
    scale: (number - shift) / divisor * factor + offset, see `scaling`.
    """

    features: Integers
    outputs: Integers
    scaling: Floats
    codes: Floats
    mean: Floats
    scale: Floats

    @classmethod
    def of(cls, taken: Transformed, n_outputs: int) -> Self | None:
        """Return the same as one compiled loop; None where it takes the transformers themselves."""
        task, known = taken.task, {feature.name: feature for feature in taken.task.features}
        some = task.rows("train")[:1]
        sample = taken.inputs.taken(some, task)
        names = list(sample.columns) if isinstance(sample, pd.DataFrame) else list(known)
        if isinstance(taken.inputs, EncodedInputs) or not set(names) <= set(known):
            return None
        if taken.unstored != 0.0 and issparse(taken.table(some)):  # a number of 0 is missing then
            return None
        sources = sources_of(taken.steps, len(names))
        if sources is None or len(sources) != n_outputs:
            return None
        features, probes = [], []
        outputs: list[tuple[int, int]] = []
        for place, name in enumerate(names):
            feature, own = known[name], [k for k, each in enumerate(sources) if each[0] == place]
            first, width = feature.columns[0], len(feature.columns)
            number = not feature.categories
            if own and number and not _is_plain(task.raw.get(name)):
                return None
            if feature.columns != tuple(range(first, first + width)) or any(
                number and (sources[k][1] is None or k in taken.categories) for k in own
            ):
                return None
            kind = NUMBER if number else TWO if feature.kind == "binary" else SEVERAL
            missing = -1 if feature.missing is None else feature.missing
            features.append((kind, first, width, missing, len(outputs)))
            outputs += [(k, place) for k in own]
            probes.append(_probes(feature, task))
        starts = np.cumsum([1, *map(len, probes)])
        answers = taken.of_rows(np.concatenate([some, *probes]))
        codes = [answers[starts[place] : starts[place + 1], k] for k, place in outputs]
        at = np.cumsum([0, *map(len, codes)])
        return cls(
            np.array(features, np.int64),
            np.array([(k, start) for (k, _), start in zip(outputs, at, strict=False)], np.int64),
            np.array([sources[k][1] or PLAIN_SCALE for k, _ in outputs]),
            np.concatenate(codes),
            task.mean,
            task.scale,
        )

    @cached_property
    def key(self) -> object:
        return tuple(getattr(self, field.name).tobytes() for field in fields(self))

    def of_rows(self, rows: Floats) -> Floats:
        matrix = np.empty((len(rows), len(self.outputs)))
        rows = np.ascontiguousarray(rows, np.float64)
        how = (self.features, self.outputs, self.scaling, self.codes)
        _fill(rows, *how, self.mean, self.scale, POWERS, matrix)
        return matrix

    def of_moves(self, moves: Floats) -> Floats:
        """Return what moves of rows are to numbers; categories stay as they are."""
        found = np.zeros((len(moves), len(self.outputs)))
        ends = [*self.features[1:, 4].tolist(), len(self.outputs)]
        for (kind, first, _, _, start), end in zip(self.features.tolist(), ends, strict=True):
            for k in range(start, end) if kind == NUMBER else ():
                _, divisor, factor, _ = self.scaling[k]
                found[:, self.outputs[k, 0]] = (
                    moves[:, first] * self.scale[first] / divisor * factor
                )
        return found

    def of_splits(self, splits: list[Floats]) -> list[Floats]:
        """Return splits per column of rows from those per number; categories have none."""
        found = [[np.zeros(0)] for _ in self.mean]
        ends = [*self.features[1:, 4].tolist(), len(self.outputs)]
        for (kind, first, _, _, start), end in zip(self.features.tolist(), ends, strict=True):
            for k in range(start, end) if kind == NUMBER else ():
                shift, divisor, factor, offset = self.scaling[k]
                at = (splits[self.outputs[k, 0]] - offset) / factor * divisor + shift
                # For rounding, a value next to a split may be on either side of it.
                slack = ROUNDED * (np.abs(at) + abs(shift) + abs(self.mean[first]))
                at = np.concatenate([at - slack, at + slack])
                found[first].append((at - self.mean[first]) / self.scale[first])
        return [np.unique(np.concatenate(own)) for own in found]

    def stays(self, rows: Floats, moves: Floats) -> Booleans:
        """Return which rows have the same categories, and the same missing, after every move."""
        raw, reach = rows * self.scale + self.mean, np.abs(moves).max(axis=0) * self.scale
        result = np.ones(len(rows), np.bool_)
        for kind, first, width, missing, _ in self.features.tolist():
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


def _probes(feature: Feature, task: Task) -> Floats:
    """Return rows with every category of a feature and, if it may be missing, one without it."""
    some, flag = list(feature.columns), feature.missing
    raw = np.zeros((0, len(some)))
    if feature.categories:
        raw = np.arange(2.0)[:, None] if feature.kind == "binary" else np.eye(len(some))
    rows = np.repeat(task.rows("train")[:1], len(raw) + (flag is not None), axis=0)
    rows[: len(raw), some] = (raw - task.mean[some]) / task.scale[some]
    if flag is not None:
        absent = np.arange(len(rows)) == len(raw)
        rows[:, flag] = (absent - task.mean[flag]) / task.scale[flag]
    return rows


@compiled
def _fill(
    rows: Any,
    features: Any,
    outputs: Any,
    scaling: Any,
    codes: Any,
    mean: Any,
    scale: Any,
    powers: Any,
    matrix: Any,
) -> None:
    for k in range(len(features)):
        kind, first, width, missing, start = features[k]
        stop = features[k + 1, 4] if k + 1 < len(features) else len(outputs)
        if start == stop:
            continue
        for i in range(len(rows)):
            known, number = 0, 0.0
            if kind == TWO:
                known = int(rows[i, first] * scale[first] + mean[first] >= 0.5)
            elif kind == SEVERAL:
                most = -np.inf
                for j in range(width):
                    share = rows[i, first + j] * scale[first + j] + mean[first + j]
                    if share > most:
                        known, most = j, share
            else:
                number = _unscaled(rows[i, first], mean[first], scale[first], powers)
            absent = missing >= 0 and rows[i, missing] * scale[missing] + mean[missing] >= 0.5
            if absent:
                known = 0 if kind == NUMBER else 2 if kind == TWO else width
            for n in range(start, stop):
                if kind == NUMBER and not absent:
                    moved = (number - scaling[n, 0]) / scaling[n, 1]
                    matrix[i, outputs[n, 0]] = moved * scaling[n, 2] + scaling[n, 3]
                else:
                    matrix[i, outputs[n, 0]] = codes[outputs[n, 1] + known]


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
    try:
        matrix = None
        if steps or not isinstance(inputs, EncodedInputs):
            unstored = np.nan if library_of(final) == "xgboost" else 0.0
            transformed = Transformed(steps, forest.categories, unstored, inputs, task)
            key = (inputs, forest.n_features, sorted(forest.categories.items()))
            make = partial(_quickest, transformed, forest.n_features, rows)
            matrix = make() if steps else _once(task, key, make)
        found = forest.probabilities(rows if matrix is None else matrix.of_rows(rows))
        expected = probabilities(estimator, taken) if places else predictions(estimator, taken)
    except Exception:  # whoever asks the estimator itself is told
        return None
    same = np.array_equal(found if places else found[:, -1], np.asarray(expected, np.float64))
    return ForestView(forest, places, matrix, own) if same else None


def _quickest(taken: Transformed, n_outputs: int, rows: Floats) -> Rows:
    """Return the same as one compiled loop, where that gives the same numbers for some rows."""
    found = Matrix.of(taken, n_outputs)
    if found is None:
        return taken
    same = np.array_equal(found.of_rows(rows), taken.of_rows(rows), equal_nan=True)
    return found if same else taken


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
