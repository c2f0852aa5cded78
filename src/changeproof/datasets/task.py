"""A task: people's rows, what is favourable, and one frozen split."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from changeproof.datasets.checked import (
    check_columns,
    checked_beside,
    checked_filled,
    checked_ids,
    checked_labels,
)
from changeproof.datasets.split import PARTS as PARTS
from changeproof.datasets.split import Part as Part
from changeproof.datasets.split import Split as Split
from changeproof.errors import InputError
from changeproof.feasible.action import Action, checked_actions, checked_most
from changeproof.feasible.actions import Actions
from changeproof.feasible.decimals import unscaled
from changeproof.feasible.feature import Feature, checked_features, numeric_features
from changeproof.feasible.rules import Scales
from changeproof.model import Booleans, Integers
from changeproof.model import Floats as Floats

SMALLEST_SCALE = 1e-8
# Larger ones are whole because floats have no more digits.
LARGEST_WHOLE = 2.0**53


class Task:
    """Rows with a favourable and an adverse outcome, split and standardised.

    Parameters
    ----------
    name
        How plans and tables call it.
    frame
        The features in original units, one numeric column each; the index holds the row ids.
    labels
        One per row: 0 adverse, 1 favourable.
    split
        The four parts; by default the protocol's stratified split.
    features
        The original features that the columns of `frame` encode; by default every column is a
        numeric feature of its own.
    ids
        What people call the rows, one per row; by default the row ids.
    actions
        What may change about features, by name: an `Action`, or its settings as a mapping.
    most_changes
        The most features that may change at once; any number by default.
    beside
        What else is known of the rows and no model sees, one row each in the same order: groups,
        the time.
    time
        The column of `beside` that says when a row became known.
    filled
        Which values [rows, features] were missing and were filled in; none by default. What was
        filled in is never told as a fact.
    keep_filled
        Whether advice leaves those values alone.
    """

    def __init__(
        self,
        name: str,
        frame: pd.DataFrame,
        labels: npt.ArrayLike,
        split: Split | None = None,
        features: Sequence[Feature] | None = None,
        ids: Sequence[Any] | None = None,
        actions: Mapping[str, Action | Mapping[str, Any]] | None = None,
        most_changes: int | None = None,
        beside: pd.DataFrame | None = None,
        time: str | None = None,
        filled: npt.ArrayLike | None = None,
        keep_filled: bool = False,
    ) -> None:
        self.name = name
        self.frame = frame
        self.labels = checked_labels(name, labels, len(frame))
        check_columns(name, frame)
        self.split = split if split is not None else Split.stratified(self.labels)
        given = numeric_features(frame) if features is None else features
        self.features = checked_features(name, given, self.n_features)
        self.given_ids = checked_ids(name, ids, len(frame))
        self.declared = checked_actions(self.features, actions)
        self.most_changes = checked_most(most_changes)
        self.beside, self.time = checked_beside(name, beside, time, frame.index), time
        self.filled = checked_filled(name, filled, (len(frame), len(self.features)))
        self.keep_filled = keep_filled and self.filled is not None
        # What the data call the favourable outcomes, where that is known.
        self.favourable_values: tuple[Any, ...] = ()
        # What was odd about the table, and what to do.
        self.notes: tuple[str, ...] = ()
        if self.declared and not any(self.actions.changeable):
            raise InputError(f"task {name!r}: no feature may change; expected at least one")

    @cached_property
    def actions(self) -> Actions:
        """What may change about people, and which rows they may be told."""
        scales = Scales(self.mean, self.scale, self.distance_scale)
        return Actions(self.features, self._raw, scales, self.declared, self.most_changes)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what the frame says already: in another process it is made again."""
        return {name: value for name, value in vars(self).items() if name != "_raw"}

    def __repr__(self) -> str:
        return f"Task({self.name!r}, {len(self.frame)} rows, {len(self.features)} features)"

    @property
    def feature_names(self) -> list[str]:
        """The columns of the encoded rows, in order; `features` are the original ones."""
        return [str(column) for column in self.frame.columns]

    @property
    def n_features(self) -> int:
        """How many columns the encoded rows have."""
        return self.frame.shape[1]

    @property
    def times(self) -> pd.Series[Any] | None:
        """When each row became known, by row id; None if nothing says so."""
        return None if self.time is None else self.beside[self.time]

    def over_time(self) -> Task:
        """Return the task as of the time at which half of its rows were known.

        What came later is the update pool, in the order of time.
        """
        if self.times is None:
            raise InputError(f"task {self.name!r} has no times; name a column that says when")
        split = Split.by_time(self.times.to_numpy(), self.labels)
        described = (self.features, self.given_ids, self.declared, self.most_changes)
        known = (self.beside, self.time, self.filled, self.keep_filled)
        later = Task(self.name, self.frame, self.labels, split, *described, *known)
        later.favourable_values, later.notes = self.favourable_values, self.notes
        return later

    @cached_property
    def ids(self) -> pd.Series[Any]:
        """What people call the rows, by row id."""
        given = self.frame.index if self.given_ids is None else list(self.given_ids)
        return pd.Series(given, index=self.frame.index, name="id")

    def filled_of(self, row_ids: Integers, rows: Floats) -> Booleans:
        """Return which values [people, features] of people's rows nobody knows.

        They were filled in, and the row still has them: what a letter has told people to reach
        is known.

        Parameters
        ----------
        row_ids
            Who they are.
        rows
            Their rows, standardised.
        """
        result = np.zeros((len(rows), len(self.features)), dtype=np.bool_)
        places = self.frame.index.get_indexer(pd.Index(row_ids))
        known = np.flatnonzero(places >= 0)
        if self.filled is None or not len(known):
            return result
        places = places[known]
        same = self.standardise(self._raw[places]) == rows[known]
        for place, feature in enumerate(self.features):
            untouched = same[:, list(feature.columns)].all(axis=1)
            result[known, place] = self.filled[places, place] & untouched
        return result

    def kept_of(self, row_ids: Integers, rows: Floats) -> Booleans | None:
        """Return which features [people, features] advice leaves alone; None if it may all move."""
        return self.filled_of(row_ids, rows) if self.keep_filled else None

    @cached_property
    def _raw(self) -> Floats:
        return self.frame.to_numpy(dtype=np.float64)

    @cached_property
    def mean(self) -> Floats:
        """Training mean per feature, in original units."""
        return np.asarray(self._raw[self.split.train].mean(axis=0))

    @cached_property
    def scale(self) -> Floats:
        """Training standard deviation per feature (1 where a feature is constant)."""
        return _deviation(self._raw[self.split.train])

    def standardise(self, rows: pd.DataFrame | npt.ArrayLike) -> Floats:
        """Bring rows in original units to the scale that networks and methods work in."""
        if isinstance(rows, pd.DataFrame):
            missing = [name for name in self.feature_names if name not in rows.columns]
            if missing:
                raise InputError(f"task {self.name!r}: the rows have no columns {missing}")
            rows = rows[list(self.frame.columns)].to_numpy(dtype=np.float64)
        standardised: Floats = (np.asarray(rows, dtype=np.float64) - self.mean) / self.scale
        return standardised

    def original(self, rows: Floats) -> pd.DataFrame:
        """Bring standardised rows back to original units."""
        return pd.DataFrame(rows * self.scale + self.mean, columns=self.frame.columns)

    def encoded(self, frame: pd.DataFrame) -> Floats:
        """Bring rows of the original features to the scale that networks and methods work in.

        Columns are matched by name and others ignored; the index names rows in messages.
        """
        columns = {str(column): column for column in frame.columns}
        missing = [feature.name for feature in self.features if feature.name not in columns]
        if missing:
            raise InputError(f"task {self.name!r}: the rows have no columns {missing}")
        raw = np.empty((len(frame), self.n_features))
        for feature in self.features:
            values = frame[columns[feature.name]]
            if isinstance(values, pd.DataFrame):
                raise InputError(f"column {feature.name!r} appears more than once")
            raw[:, list(feature.columns)] = feature.encode(values)
        return self.standardise(raw)

    def decoded(self, rows: Floats) -> pd.DataFrame:
        """Bring standardised rows back to the original features and their values.

        Numbers are in original units and not rounded. A category is the one with the largest
        share, a binary value the nearer one. Rows of NaN stay missing.
        """
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise InputError(f"expected rows of shape (n, {self.n_features}); got {rows.shape}")
        raw = rows * self.scale + self.mean
        return pd.DataFrame(
            {feature.name: feature.decode(raw[:, feature.columns]) for feature in self.features}
        )

    def told(self, rows: Floats) -> pd.DataFrame:
        """Return standardised rows as people are told them: the original features, exactly.

        Numbers are the shortest decimals that `encoded` turns into these very rows again, whole
        ones as integers. Of a feasible row, categories are whole as well, so nothing is lost.
        """
        frame = self.decoded(rows)
        for feature in self.features:
            column = feature.columns[0]
            if not feature.categories:
                exact = unscaled(rows[:, column], self.mean[column], self.scale[column])
                whole = bool(((np.abs(exact) < LARGEST_WHOLE) & (exact == np.rint(exact))).all())
                frame[feature.name] = exact.astype(np.int64) if whole else exact
        return frame

    def _positions(self, part: Part) -> Integers:
        positions: Integers = getattr(self.split, part)
        return positions

    def rows(self, part: Part) -> Floats:
        """Return the standardised rows of one part."""
        return self.standardise(self._raw[self._positions(part)])

    def labels_of(self, part: Part) -> npt.NDArray[np.int8]:
        """Return the labels of one part."""
        return self.labels[self._positions(part)]

    def row_ids(self, part: Part) -> Integers:
        """Return the row ids of one part."""
        return np.asarray(self.frame.index.to_numpy()[self._positions(part)], dtype=np.int64)

    @cached_property
    def training_range(self) -> tuple[Floats, Floats]:
        """Smallest and largest standardised training value per feature."""
        train = self.rows("train")
        return train.min(axis=0), train.max(axis=0)

    @cached_property
    def distance_scale(self) -> Floats:
        """What one unit of distance is, per standardised column.

        Of a number the training median absolute deviation; the standard deviation where that
        vanishes; one where both do. Another category is one unit, and so is the other value of a
        number that has only two. A stated cost replaces all of that.
        """
        train = self.rows("train")
        # Column by column, for little memory; the numbers are the same.
        mad = np.array([np.median(np.abs(column - np.median(column))) for column in train.T])
        scale = np.where(mad < SMALLEST_SCALE, _deviation(train), mad)
        for feature in self.features:
            action = self.declared.get(feature.name)
            columns = list(feature.columns)
            cost = None if action is None else action.cost
            if cost is None:
                cost = 1.0 if feature.categories else self._cost_of_two(columns[0])
            if cost is not None:
                # Another category is a change of two columns.
                columns_moved = 2.0 if feature.kind == "categorical" else 1.0
                scale[columns] = columns_moved / (cost * self.scale[columns])
        return scale

    def _cost_of_two(self, column: int) -> float | None:
        """Return what a unit of a number costs if it has just two values; None if it has more."""
        values = self._raw[:, column]
        low, high = values.min(), values.max()
        two = low < high and bool(((values == low) | (values == high)).all())
        return float(1.0 / (high - low)) if two else None

    @cached_property
    def _varying(self) -> Booleans | slice:
        """The columns that distances are about: those with more than one value."""
        varying = np.array([(column != column[0]).any() for column in self._raw.T])
        return slice(None) if varying.all() or not varying.any() else varying

    @cached_property
    def n_counted(self) -> int:
        """How many features distances are the mean over: those with more than one value."""
        columns = set(np.arange(self.n_features)[self._varying].tolist())
        return sum(not columns.isdisjoint(feature.columns) for feature in self.features)

    def distances(self, rows: Floats, others: Floats) -> Floats:
        """Return the mean change per feature, in units of its typical deviation, row by row.

        A feature counts once, however many columns encode it. One that has the same value in
        every row does not count.
        """
        changes = np.abs(others - rows) / self.distance_scale
        return np.asarray(changes[:, self._varying].sum(axis=1) / self.n_counted)

    @cached_property
    def distance_weights(self) -> Floats:
        """What a unit of change of every column adds to the distance."""
        return self.distances(np.zeros((1, self.n_features)), np.eye(self.n_features))

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the rows, labels, names and split: of all that a task is."""
        digest = hashlib.sha256(repr((self.name, self.feature_names)).encode())
        ids = self.frame.index.to_numpy()
        parts = [getattr(self.split, part) for part in PARTS]
        for array in (self._raw, self.labels, ids, *parts):
            digest.update(np.ascontiguousarray(array).tobytes())
        # Whether a column of numbers is called whole changes no result: encodings do.
        if any(feature.categories for feature in self.features):
            digest.update(repr(self.features).encode())
        if self.given_ids is not None:
            digest.update(repr(self.given_ids).encode())
        if self.declared or self.most_changes is not None:
            digest.update(repr((self.declared, self.most_changes)).encode())
        if len(self.beside.columns):
            digest.update(repr((self.time, self.beside.to_dict(orient="list"))).encode())
        if self.filled is not None:
            digest.update(b"filled in" + self.filled.tobytes() + bytes([self.keep_filled]))
        return digest.hexdigest()


def _deviation(rows: Floats) -> Floats:
    deviation = rows.std(axis=0)
    return np.where(deviation < SMALLEST_SCALE, 1.0, deviation)
