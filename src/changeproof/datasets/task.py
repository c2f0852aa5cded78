"""A task: people's rows, what is favourable, and one frozen split."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from changeproof.datasets.checking import (
    check_frame,
    checked_beside,
    checked_filled,
    checked_ids,
    checked_labels,
)
from changeproof.datasets.classes import Classes
from changeproof.datasets.raw import RawColumn
from changeproof.datasets.split import PARTS, Part, Split
from changeproof.datasets.threshold import Threshold
from changeproof.datasets.words import FeatureWords, Words, checked_words
from changeproof.errors import InputError, unknown
from changeproof.feasible.action import Action, checked_actions, checked_most, ranks
from changeproof.feasible.actions import Actions
from changeproof.feasible.decimals import unscaled
from changeproof.feasible.feature import (
    Feature,
    checked_features,
    numeric_features,
    refuse_first,
    text_of,
)
from changeproof.feasible.relations import Relations
from changeproof.feasible.rules import Personal, Scales
from changeproof.feasible.stated import (
    check_fit,
    check_relations,
    checked_causes,
    checked_texts,
    fitted_causes,
    relation_notes,
    rules_within,
)
from changeproof.model import Booleans, Floats, Integers

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
        How many features may change at once; any number by default.
    beside
        What is known of the rows but no model sees, such as groups and times; one row each, in the
        same order.
    time
        The column of `beside` that says when a row became known.
    filled
        Which values [rows, features] were missing and were filled in; none by default. Advice
        never states such a value as a fact.
    keep_filled
        Whether advice leaves those values alone.
    raw
        How the columns of the original features are written in the table, by feature, for models
        that take the table's own columns.
    outcomes
        The outcomes as the table has them, one per row, where labels do not say it all: several
        classes, or numbers of which a range is favourable.
    favourable_values
        The favourable outcomes as the data write them, where that is known; of numbers, the range.
    words
        What features are called, and how their values and changes are told, by name: `FeatureWords`
        or its settings as a mapping; or all words of a task, `Words`. No result depends on them.
    rules
        Rules between features, as texts: ``"seniority <= age - 16"``.
    causes
        What causes a feature, by its name: an expression, or ``"fitted(a, b)"``.
    person_limits
        What each person may have besides, row by row.
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
        raw: Mapping[str, RawColumn] | None = None,
        outcomes: npt.NDArray[Any] | None = None,
        favourable_values: Sequence[Any] = (),
        words: Words | Mapping[str, FeatureWords | Mapping[str, Any]] | None = None,
        rules: Sequence[str] = (),
        causes: Mapping[str, str] | None = None,
        person_limits: Personal | None = None,
    ) -> None:
        self.name = name
        self.frame = frame
        self.labels = checked_labels(name, labels, len(frame))
        check_frame(name, frame)
        self.split = split if split is not None else Split.stratified(self.labels)
        given = numeric_features(frame) if features is None else features
        self.features = checked_features(name, given, self.n_features)
        self.given_ids = checked_ids(name, ids, len(frame))
        self.declared = checked_actions(self.features, actions)
        self.most_changes = checked_most(most_changes)
        self.beside, self.time = checked_beside(name, beside, time, frame.index), time
        self.filled = checked_filled(name, filled, (len(frame), len(self.features)))
        self.keep_filled = keep_filled and self.filled is not None
        self.raw = dict(raw or {})
        self.favourable_values = tuple(favourable_values)
        self.outcomes = self._checked_outcomes(outcomes)
        self.words = words if isinstance(words, Words) else Words.checked(self.features, words)
        checked_words(self.features, self.words.features)
        self.rules, self.causes = checked_texts(rules), checked_causes(causes)
        self.person_limits = person_limits
        # What looks odd about the table, and what to do about it.
        self.notes: tuple[str, ...] = ()
        if self.rules or self.causes:
            check_relations(self.relations, self.declared)
            check_fit(self.actions, self._values, self._known)
        if self.declared and not any(self.actions.changeable):
            raise InputError(f"task {name!r}: no feature may change; expected at least one")

    @cached_property
    def actions(self) -> Actions:
        """What may change about people, and which rows they may be told."""
        scales = Scales(self.mean, self.scale, self.distance_scale)
        given = self.declared, self.most_changes, self.relations
        return Actions(self.features, self._values, scales, *given)

    @cached_property
    def relations(self) -> Relations | None:
        """The rules between features; None where there are none."""
        if not self.rules and not self.causes:
            return None
        train = self._values[self.split.train]
        order = [ranks(feature, self.declared.get(feature.name)) for feature in self.features]
        return Relations(
            self.features, order, self.rules, fitted_causes(self.causes, self.features, train)
        )

    @property
    def constrained(self) -> bool:
        """Whether anything was said about what may change."""
        stated = self.declared or self.rules or self.causes
        return bool(stated) or self.most_changes is not None or self.person_limits is not None

    @property
    def ruled(self) -> list[str]:
        """The features that rules between features, or causes, are about."""
        places = self.relations.places if self.relations else ()
        return [self.features[place].name for place in places]

    @property
    def relation_notes(self) -> list[str]:
        """What is worth knowing about the rules between features."""
        return relation_notes(self.actions, self._values, self._known) if self.relations else []

    def actions_for(self, row_ids: Integers) -> Actions:
        """Return what may change about certain people, in their order."""
        return self.actions.for_people(self.personal_of(row_ids))

    def personal_of(self, row_ids: Integers) -> Personal | None:
        """Return what certain people may have besides, in their order; None if nobody has limits.

        Nothing is known of people who are not in the table.
        """
        if self.person_limits is None:
            return None
        places = self.frame.index.get_indexer(pd.Index(row_ids))
        unknown_rows = places < 0
        personal = self.person_limits.of(places)
        personal.low[unknown_rows], personal.high[unknown_rows] = -np.inf, np.inf
        personal.fixed[unknown_rows] = False
        return personal

    @property
    def _known(self) -> Booleans:
        """Which values [rows, features] are known: neither missing nor filled in."""
        known = ~self.missing_of(self.standardise(self._values))
        return known if self.filled is None else known & ~self.filled

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what another process computes from the frame again."""
        return {name: value for name, value in vars(self).items() if name != "_values"}

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
        """When each row became known, by row id; None without a column of times."""
        return None if self.time is None else self.beside[self.time]

    def over_time(self) -> Task:
        """Return the task as of the time at which half of its rows were known.

        Later rows are the update pool, in the order of time.
        """
        if self.times is None:
            raise InputError(f"task {self.name!r} has no times; name a column that says when")
        split = Split.by_time(self.times.to_numpy(), self.labels)
        return self.replaced(split=split)

    def replaced(self, **given: Any) -> Task:
        """Return the task with some of its parts replaced, by the names of the parameters."""
        own: dict[str, Any] = {
            "name": self.name,
            "frame": self.frame,
            "labels": self.labels,
            "split": self.split,
            "features": self.features,
            "ids": self.given_ids,
            "actions": self.declared,
            "most_changes": self.most_changes,
            "beside": self.beside,
            "time": self.time,
            "filled": self.filled,
            "keep_filled": self.keep_filled,
            "raw": self.raw,
            "outcomes": self.outcomes,
            "favourable_values": self.favourable_values,
            "words": self.words,
            "rules": self.rules,
            "causes": self.causes,
            "person_limits": self.person_limits,
        }
        found = Task(**(own | given))
        found.notes = self.notes
        return found

    @cached_property
    def ids(self) -> pd.Series[Any]:
        """What people call the rows, by row id."""
        given = self.frame.index if self.given_ids is None else list(self.given_ids)
        return pd.Series(given, index=self.frame.index, name="id")

    def missing_of(self, rows: Floats) -> Booleans:
        """Return which values [people, features] of standardised rows are missing."""
        result = np.zeros((len(rows), len(self.features)), dtype=np.bool_)
        for place, feature in enumerate(self.features):
            if (column := feature.missing) is not None:
                result[:, place] = rows[:, column] * self.scale[column] + self.mean[column] >= 0.5
        return result

    @property
    def keeps_missing(self) -> bool:
        """Whether missing values are values of their own."""
        return any(feature.missing is not None for feature in self.features)

    def filled_of(self, row_ids: Integers, rows: Floats) -> Booleans:
        """Return which values [people, features] of standardised rows were filled in.

        A value that differs from the one filled in is known: advice named it, for example.
        """
        result = np.zeros((len(rows), len(self.features)), dtype=np.bool_)
        places = self.frame.index.get_indexer(pd.Index(row_ids))
        known = np.flatnonzero(places >= 0)
        if self.filled is None or not len(known):
            return result
        places = places[known]
        same = self.standardise(self._values[places]) == rows[known]
        for place, feature in enumerate(self.features):
            untouched = same[:, list(feature.columns)].all(axis=1)
            result[known, place] = self.filled[places, place] & untouched
        return result

    def kept_of(self, row_ids: Integers, rows: Floats) -> Booleans | None:
        """Return which features [people, features] advice leaves alone; None if any may change."""
        if self.keeps_missing:
            return self.missing_of(rows)
        return self.filled_of(row_ids, rows) if self.keep_filled else None

    @cached_property
    def _values(self) -> Floats:
        return self.frame.to_numpy(dtype=np.float64)

    @cached_property
    def mean(self) -> Floats:
        """Training mean per feature, in original units."""
        return np.asarray(self._values[self.split.train].mean(axis=0))

    @cached_property
    def scale(self) -> Floats:
        """Training standard deviation per feature (1 where a feature is constant)."""
        return _deviation(self._values[self.split.train])

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
            written = self.raw.get(feature.name)
            if written is not None and written.stands_for_numbers:
                values = _as_numbers(feature.name, written, values)
            if feature.missing is not None and written is not None:
                absent = values.isna().to_numpy()
                raw[:, feature.missing] = absent
                values = values.astype(object).where(~absent, written.filler)
            raw[:, list(feature.columns)] = feature.encode(values)
        return self.standardise(raw)

    def decoded(self, rows: Floats) -> pd.DataFrame:
        """Bring standardised rows back to the original features and their values.

        Numbers are in original units and not rounded. Of several categories the largest share
        counts, of two values the nearer one. Rows of NaN stay missing.
        """
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise InputError(f"expected rows of shape (n, {self.n_features}); got {rows.shape}")
        raw = rows * self.scale + self.mean
        frame = pd.DataFrame(
            {feature.name: feature.decode(raw[:, feature.columns]) for feature in self.features}
        )
        return self._as_written(frame, rows)

    def readable(self, rows: Floats) -> pd.DataFrame:
        """Return standardised rows as people read them: the original features, exactly.

        Numbers are the shortest decimals that `encoded` turns into exactly these rows again, whole
        ones as integers. Categories of a feasible row are whole as well, so nothing is lost.
        """
        raw = rows * self.scale + self.mean
        values: dict[str, Any] = {}
        for feature in self.features:
            column = feature.columns[0]
            if feature.categories:
                values[feature.name] = feature.decode(raw[:, feature.columns])
                continue
            exact = unscaled(rows[:, column], self.mean[column], self.scale[column])
            whole = bool(((np.abs(exact) < LARGEST_WHOLE) & (exact == np.rint(exact))).all())
            values[feature.name] = exact.astype(np.int64) if whole else exact
        return self._as_written(pd.DataFrame(values), rows)

    def table_rows(self, rows: Floats) -> pd.DataFrame:
        """Return standardised rows as the table has them, for models that take its columns.

        Values are those that people read, exactly, in the table's own dtypes and spelling.
        """
        frame = self.readable(rows)
        for feature in self.features:
            written = self.raw.get(feature.name)
            if written is not None:
                frame[feature.name] = written.restored(frame[feature.name], feature.categories)
            elif not feature.categories:
                frame[feature.name] = frame[feature.name].astype(np.float64)
        return frame

    def _as_written(self, frame: pd.DataFrame, rows: Floats) -> pd.DataFrame:
        """Put dates and texts in place of the numbers that stand for them; hide what is missing."""
        for name, written in self.raw.items():
            if written.stands_for_numbers:
                frame[name] = written.readable(frame[name].astype(np.float64))
        if self.keeps_missing:
            missing = self.missing_of(rows)
            for place in np.flatnonzero(missing.any(axis=0)).tolist():
                name = self.features[place].name
                frame[name] = frame[name].mask(missing[:, place])
        return frame

    def rows(self, part: Part) -> Floats:
        """Return the standardised rows of one part."""
        return self.standardise(self._values[getattr(self.split, part)])

    def labels_of(self, part: Part) -> npt.NDArray[np.int8]:
        """Return the labels of one part."""
        labels: npt.NDArray[np.int8] = self.labels[getattr(self.split, part)]
        return labels

    def _checked_outcomes(self, outcomes: npt.NDArray[Any] | None) -> npt.NDArray[Any] | None:
        if outcomes is None:
            return None
        rows, what = len(self.frame), f"task {self.name!r}"
        if outcomes.shape != (rows,):
            raise InputError(f"{what}: {rows} rows but outcomes of shape {outcomes.shape}")
        if outcomes.dtype.kind == "f" and not self.favourable_values:
            raise InputError(f"{what}: expected favourable_values, the range of its outcomes")
        return outcomes

    @property
    def favourable_range(self) -> Threshold | None:
        """Which numbers are favourable, where the outcome is a number; None where it is a class."""
        if self.outcomes is None or self.outcomes.dtype.kind != "f":
            return None
        return Threshold.of(self.favourable_values[0])

    @cached_property
    def classes(self) -> Classes | None:
        """The classes of the outcome, where there are more than two."""
        if self.outcomes is None or self.favourable_range is not None:
            return None
        values = self.outcomes.tolist()
        pairs = list(zip(self.labels.tolist(), map(text_of, values), strict=True))
        known = dict(sorted(dict(zip(pairs, values, strict=True)).items()))
        if len(known) <= 2:
            return None
        places = {pair: place for place, pair in enumerate(known)}
        return Classes(
            tuple(known.values()),
            sum(label == 0 for label, _ in known),
            np.array([places[pair] for pair in pairs], dtype=np.int64),
        )

    def outcomes_of(self, part: Part) -> npt.NDArray[Any] | None:
        """Return the outcomes of one part as the table has them, if they are known."""
        return None if self.outcomes is None else self.outcomes[getattr(self.split, part)]

    def usual_outcome(self, label: int) -> Any:
        """Return the outcome that stands for a label: the most frequent of the training rows.

        Of numbers it is the median, or the one below. It is always an outcome of that label.
        """
        if self.outcomes is None:
            raise InputError(f"task {self.name!r} does not know its outcomes")
        train = self.split.train
        found = self.outcomes[train][self.labels[train] == label]
        if found.dtype.kind == "f":
            return np.sort(found)[(len(found) - 1) // 2]
        return Counter(found.tolist()).most_common(1)[0][0]

    def row_ids(self, part: Part) -> Integers:
        """Return the row ids of one part."""
        return np.asarray(self.frame.index.to_numpy()[getattr(self.split, part)], dtype=np.int64)

    @cached_property
    def training_range(self) -> tuple[Floats, Floats]:
        """Smallest and largest standardised training value per feature."""
        train = self.rows("train")
        return train.min(axis=0), train.max(axis=0)

    @cached_property
    def distance_scale(self) -> Floats:
        """What one unit of distance is, per standardised column.

        For numbers, the median absolute deviation of the training rows; where that is zero, their
        standard deviation; where both are, one. Another category is one unit, and so is the other
        value of a number that has only two. A stated cost replaces all of that.
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
        """Return the cost per unit of a number that has just two values, else None."""
        values = self._values[:, column]
        low, high = values.min(), values.max()
        two = low < high and bool(((values == low) | (values == high)).all())
        return float(1.0 / (high - low)) if two else None

    @cached_property
    def _varying(self) -> Booleans | slice:
        """The columns that distances are about: those with more than one value."""
        varying = np.array([(column != column[0]).any() for column in self._values.T])
        for feature in self.features:
            if feature.missing is not None:
                varying[feature.missing] = False
        return slice(None) if varying.all() or not varying.any() else varying

    @cached_property
    def n_counted(self) -> int:
        """How many features distances are the mean over: those with more than one value."""
        columns = set(np.arange(self.n_features)[self._varying].tolist())
        return sum(not columns.isdisjoint(feature.columns) for feature in self.features)

    def distances(self, rows: Floats, others: Floats) -> Floats:
        """Return the mean change per feature, in units of its typical deviation, row by row.

        A feature counts once, however many columns encode it. One that has the same value in
        every row does not count. What follows from other changes costs nothing.
        """
        if self.relations is not None:
            others = self.actions.doing(rows, others)
        return self._mean_changes(rows, others)

    def _mean_changes(self, rows: Floats, others: Floats) -> Floats:
        changes = np.abs(others - rows) / self.distance_scale
        return np.asarray(changes[:, self._varying].sum(axis=1) / self.n_counted)

    @cached_property
    def distance_weights(self) -> Floats:
        """What a unit of change of every column adds to the distance."""
        return self._mean_changes(np.zeros((1, self.n_features)), np.eye(self.n_features))

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the rows, labels, names and split: of all that a task is."""
        digest = hashlib.sha256(repr((self.name, self.feature_names)).encode())
        ids = self.frame.index.to_numpy()
        parts = [getattr(self.split, part) for part in PARTS]
        for array in (self._values, self.labels, ids, *parts):
            digest.update(np.ascontiguousarray(array).tobytes())
        # Whether a column of numbers is called whole changes no result: encodings do.
        if any(feature.categories for feature in self.features):
            digest.update(repr(self.features).encode())
        if self.given_ids is not None:
            digest.update(repr(self.given_ids).encode())
        if self.declared or self.most_changes is not None:
            digest.update(repr((self.declared, self.most_changes)).encode())
        if self.rules or self.causes:
            digest.update(repr((self.rules, self.causes)).encode())
        if self.person_limits is not None:
            for array in self.person_limits:
                digest.update(np.ascontiguousarray(array).tobytes())
        if len(self.beside.columns):
            digest.update(repr((self.time, self.beside.to_dict(orient="list"))).encode())
        if self.filled is not None:
            digest.update(b"filled in" + self.filled.tobytes() + bytes([self.keep_filled]))
        if self.raw:
            missing = [feature.missing for feature in self.features]
            digest.update(repr((sorted(self.raw.items()), missing)).encode())
        if self.outcomes is not None:
            wanted = [text_of(value) for value in self.favourable_values]
            digest.update(repr((wanted, self.outcomes.tolist())).encode())
        return digest.hexdigest()

    def with_features(self, names: Sequence[str]) -> Task:
        """Return the task with only these features, in this order; the others are kept beside it.

        They are what a model takes: advice is not about the others, but groups of people may be.
        """
        known = {feature.name: feature for feature in self.features}
        if unknown_names := [name for name in names if name not in known]:
            raise unknown("feature", unknown_names[0], known)
        if list(names) == list(known):
            return self
        features: list[Feature] = []
        columns: list[int] = []
        for name in names:
            feature, first = known[name], len(columns)
            columns += feature.all_columns
            places = tuple(range(first, len(columns)))
            missing = None if feature.missing is None else places[-1]
            own = places if missing is None else places[:-1]
            features.append(replace(feature, columns=own, missing=missing))
        readable, beside = self.readable(self.standardise(self._values)), self.beside.copy()
        for name in known:
            if name not in names and name not in beside.columns:
                beside[name] = readable[name].to_numpy()
        order = [list(known).index(name) for name in names]
        rules, causes = rules_within(self.relations, self.causes, names)
        limits = self.person_limits
        found = self.replaced(
            frame=self.frame.iloc[:, columns],
            features=features,
            actions={name: action for name, action in self.declared.items() if name in names},
            beside=beside,
            filled=None if self.filled is None else self.filled[:, order],
            raw={name: column for name, column in self.raw.items() if name in names},
            words=self.words.among(names),
            rules=rules,
            causes=causes,
            person_limits=None if limits is None else limits.among(order),
        )
        found.notes += tuple(
            f"rule {text!r} names a feature that the model does not take, and is left out"
            for text in self.rules
            if text not in found.rules
        )
        return found


def _as_numbers(name: str, written: RawColumn, values: pd.Series[Any]) -> pd.Series[Any]:
    numbers = written.numbers(values)
    unknown_values = (numbers.isna() & values.notna()).to_numpy()
    expected = "one of the values of the table" if written.texts else "a date"
    refuse_first(f"feature {name!r}", values, unknown_values, expected)
    return numbers


def _deviation(rows: Floats) -> Floats:
    deviation = rows.std(axis=0)
    return np.where(deviation < SMALLEST_SCALE, 1.0, deviation)
