"""How models take the columns of a table: which ones, in which order, of which types."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd

from changeproof.datasets.columns import as_named, stands_for
from changeproof.datasets.raw import DATES
from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.feasible.feature import Feature, text_of
from changeproof.model import Floats
from changeproof.models.libraries import library_of

# How a column goes in: as the table has it, as a pandas category, or as text.
CATEGORY, TEXT = "category", "text"
# What LightGBM calls the columns of an array.
UNNAMED = re.compile(r"Column_\d+")
MICROSECONDS_PER_DAY = 86_400_000_000


class Inputs(ABC):
    """How a model takes rows, and what training it on them asks for."""

    @abstractmethod
    def taken(self, rows: Floats, task: Task) -> pd.DataFrame | Floats:
        """Return rows as the model takes them."""

    def prepare(self, estimator: Any, task: Task) -> dict[str, Any]:
        """Set what an estimator has to know of the columns; return what `fit` has to."""
        return {}


class ColumnType(NamedTuple):
    """The type that a model asks for of a column; `levels` are the categories that it knows."""

    kind: str
    levels: tuple[Any, ...] = ()
    ordered: bool = False


def columns_of(model: Any) -> tuple[str, ...] | None:
    """Return the names of the columns that a model of any library was fitted on, if it has any."""
    match library_of(model):
        case "xgboost":
            names = booster_of(model).feature_names
        case "lightgbm":
            names = booster_of(model).feature_name()
            names = None if all(UNNAMED.fullmatch(name) for name in names) else names
        case "catboost":
            names = model.feature_names_
            names = None if names == [str(place) for place in range(len(names))] else names
        case _:
            names = getattr(model, "feature_names_in_", None)
    return None if names is None else tuple(map(str, names))


def _n_columns(model: Any) -> int | None:
    match library_of(model):
        case "xgboost":
            return int(booster_of(model).num_features())
        case "lightgbm":
            return int(booster_of(model).num_feature())
        case "catboost":
            return len(model.feature_names_)
    return getattr(model, "n_features_in_", None)


def booster_of(model: Any) -> Any:
    """Return the booster behind an estimator of XGBoost or LightGBM; others are their own."""
    if hasattr(model, "get_booster"):
        return model.get_booster()
    return getattr(model, "booster_", model)


@dataclass(frozen=True)
class EncodedInputs(Inputs):
    """Standardised and one-hot encoded rows, as methods search in them."""

    def taken(self, rows: Floats, task: Task) -> Floats:
        return rows


@dataclass(frozen=True)
class OriginalInputs(Inputs):
    """All columns as the table has them."""

    def taken(self, rows: Floats, task: Task) -> pd.DataFrame:
        return task.table_rows(rows)


@dataclass(frozen=True)
class TableInputs(Inputs):
    """The columns of a table in the order that a fitted model expects.

    `named` says whether they go in as a DataFrame, or as numbers only. `types` are those that the
    model needs, by column, where the table may have others. `settings` and `arguments` of `fit` are
    what a clone would not know of the columns.
    """

    columns: tuple[str, ...]
    named: bool = True
    types: tuple[tuple[str, ColumnType], ...] = ()
    settings: tuple[tuple[str, Any], ...] = ()
    arguments: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, name: str, model: Any, task: Task) -> Self:
        """Return how a fitted estimator or booster takes the features of a task."""
        columns, count = columns_of(model), _n_columns(model)
        inputs = cls.named_by(name, columns, task)
        if columns is not None:
            features = {feature.name: feature for feature in task.features}
            types = _types(name, model, [features[column] for column in inputs.columns], task)
            settings, arguments = _of_columns(model, inputs.columns, types)
            return cls(inputs.columns, True, tuple(types.items()), settings, arguments)
        known = [feature.name for feature in task.features]
        text = any(feature.categories for feature in task.features)
        if count is not None and (count != len(known) or text):
            raise InputError(
                f"model {name} was fitted on {count} columns without names; {task.name!r} has the "
                f"{len(known)} features {', '.join(known)}. Fit it on a DataFrame"
            )
        return replace(inputs, named=count is None)

    @classmethod
    def named_by(cls, name: str, columns: Sequence[str] | None, task: Task) -> Self:
        """Return how a model takes the features that it names, or all of them."""
        known = [feature.name for feature in task.features]
        columns = tuple(known) if columns is None else as_named(columns, known)
        if missing := [column for column in columns if column not in known]:
            raise InputError(
                f"model {name} takes the columns {', '.join(columns)}; {task.name!r} has no "
                f"{', '.join(missing)} among its features: {', '.join(known)}"
            )
        return cls(columns)

    def unseen(self, task: Task) -> dict[str, list[Any]]:
        """Return the categories of the table, by column, that a model has never seen."""
        features = {feature.name: feature for feature in task.features}
        found = {}
        for column, wanted in self.types:
            known = set(map(text_of, wanted.levels))
            others = [each for each in features[column].categories if text_of(each) not in known]
            if known and others:
                found[column] = others
        return found

    def taken(self, rows: Floats, task: Task) -> pd.DataFrame | Floats:
        frame = task.table_rows(rows)[list(self.columns)]
        for column, wanted in self.types:
            frame[column] = _as_type(frame[column], wanted, task)
        return frame if self.named else frame.to_numpy(dtype=np.float64)

    def prepare(self, estimator: Any, task: Task) -> dict[str, Any]:
        estimator.set_params(**dict(self.settings))
        return dict(self.arguments)


@dataclass(frozen=True)
class NativeInputs(Inputs):
    """The columns of any table, for a booster that is trained here.

    Text and other categories are categories of the library's own kind, dates are days, and what is
    missing stays missing. CatBoost may be told of more columns that are categories, by their names
    or their places.
    """

    library: str
    more_categories: tuple[str | int, ...] = ()

    @classmethod
    def of(cls, estimator: Any) -> Self:
        """Return how an estimator of one of the libraries takes columns."""
        library = library_of(estimator)
        listed = estimator.get_params().get("cat_features") if library == "catboost" else None
        return cls(library, tuple(() if listed is None else listed))

    def taken(self, rows: Floats, task: Task) -> pd.DataFrame:
        frame, categories = task.readable(rows), self._categories(task)
        for feature in task.features:
            values = frame[feature.name]
            if feature.name not in categories:
                frame[feature.name] = _numbers(values, feature, task)
            elif self.library == "catboost":
                frame[feature.name] = _texts(values)
            else:
                frame[feature.name] = _as_levels(values, _levels(feature, task) or ())
        return frame

    def _categories(self, task: Task) -> list[str]:
        return [
            feature.name
            for place, feature in enumerate(task.features)
            if _levels(feature, task) is not None or {feature.name, place} & {*self.more_categories}
        ]

    def prepare(self, estimator: Any, task: Task) -> dict[str, Any]:
        names = self._categories(task)
        if names and self.library == "xgboost":
            estimator.set_params(enable_categorical=True)
        elif names and self.library == "catboost":
            estimator.set_params(cat_features=names)
        return {}


def _levels(feature: Feature, task: Task) -> tuple[Any, ...] | None:
    """Return the categories of a feature; None for numbers, dates and booleans."""
    written = task.raw.get(feature.name)
    if written is not None and written.texts:
        return None if _days(written.texts) is not None else written.texts
    return feature.categories if feature.categories not in ((), (False, True)) else None


def _numbers(values: pd.Series[Any], feature: Feature, task: Task) -> pd.Series[Any]:
    written = task.raw.get(feature.name)
    if written is not None and written.texts:
        days = _days(written.texts) or {}
        return values.map(days, na_action="ignore").astype(np.float64)
    if written is not None and written.dtype.startswith(DATES):
        return written.numbers(values) / MICROSECONDS_PER_DAY
    return values.astype(np.float64)


@lru_cache(maxsize=64)
def _days(texts: tuple[Any, ...]) -> dict[Any, float] | None:
    """Return the days that texts stand for; None where not all are dates."""
    if stands_for(texts) != "dates":
        return None
    try:
        times = pd.to_datetime(pd.Series(texts, dtype=object), format="mixed", utc=True)
    except ValueError:
        return None
    numbers = times.dt.tz_localize(None).to_numpy("datetime64[us]").astype(np.int64)
    return dict(zip(texts, (numbers / MICROSECONDS_PER_DAY).tolist(), strict=True))


def _as_type(values: pd.Series[Any], wanted: ColumnType, task: Task) -> pd.Series[Any]:
    if wanted.kind == TEXT:
        return _texts(values)
    if wanted.levels:
        return _as_levels(values, wanted.levels, wanted.ordered)
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values
    feature = next(each for each in task.features if each.name == values.name)
    return values.astype(pd.CategoricalDtype(pd.Index(list(_values(feature, task)))))


def _as_levels(
    values: pd.Series[Any], levels: tuple[Any, ...], ordered: bool = False
) -> pd.Series[Any]:
    """Return values as categories, by what they are or else by their texts."""
    places = {text_of(level): place for place, level in enumerate(levels)}
    places |= {level: place for place, level in enumerate(levels)}
    codes, distinct = pd.factorize(values.astype(object))
    found = [places.get(value, places.get(text_of(value), -1)) for value in distinct]
    dtype = pd.CategoricalDtype(pd.Index(list(levels)), ordered)
    cells = pd.Categorical.from_codes(np.array([*found, -1], dtype=np.int64)[codes], dtype=dtype)
    return pd.Series(cells, index=values.index, name=values.name)


def _texts(values: pd.Series[Any]) -> pd.Series[Any]:
    """Return values as CatBoost takes categories: text, also for what is missing."""

    def text(value: Any) -> str:
        whole = isinstance(value, float) and value.is_integer()
        return str(int(value)) if whole else str(value)

    return values.astype(object).map(text).astype(object)


def _values(feature: Feature, task: Task) -> tuple[Any, ...]:
    """Return the different values of a feature in the table, as the table spells them."""
    written = task.raw.get(feature.name)
    spelled = () if written is None else written.texts or written.spelled
    numbers = task.frame.iloc[:, feature.columns[0]]
    return spelled or feature.categories or tuple(np.sort(numbers.unique()).tolist())


def _types(name: str, model: Any, features: Sequence[Feature], task: Task) -> dict[str, ColumnType]:
    """Return the types that a fitted model asks for, by column; `features` are in its order."""
    match library_of(model):
        case "xgboost":
            return _xgboost_types(name, booster_of(model), features, task)
        case "lightgbm":
            return _lightgbm_types(name, booster_of(model), features, task)
        case "catboost":
            texts = [*model.get_cat_feature_indices(), *model.get_text_feature_indices()]
            return {features[place].name: ColumnType(TEXT) for place in texts}
        case "sklearn":
            chosen = getattr(model, "is_categorical_", None)
            if chosen is not None and model.categorical_features == "from_dtype":
                marked = [
                    each.name for each, is_one in zip(features, chosen, strict=True) if is_one
                ]
                return dict.fromkeys(marked, ColumnType(CATEGORY))
    return {}


def _xgboost_types(
    name: str, booster: Any, features: Sequence[Feature], task: Task
) -> dict[str, ColumnType]:
    kinds = zip(features, booster.feature_types or (), strict=False)
    marked = [feature for feature, kind in kinds if kind == "c"]
    if not marked:
        return {}
    # Since version 3.1 a booster knows the categories, and refuses others.
    known = dict(booster.get_categories(export_to_arrow=True).to_arrow() or ())
    found = {}
    for feature in marked:
        levels = known.get(feature.name)
        found[feature.name] = ColumnType(CATEGORY, () if levels is None else tuple(levels.tolist()))
        texts = set(map(text_of, found[feature.name].levels))
        other = [each for each in _values(feature, task) if text_of(each) not in texts]
        if texts and other:
            raise InputError(
                f"model {name} was fitted without {feature.name} = {text_of(other[0])} and refuses "
                "it; leave out such rows"
            )
    return found


def _lightgbm_types(
    name: str, booster: Any, features: Sequence[Feature], task: Task
) -> dict[str, ColumnType]:
    known = booster.pandas_categorical or []
    marked = _lightgbm_marked(booster)
    places = _lightgbm_places(known, features, marked, task)
    if places is None:
        texts = [feature.name for feature in features if _holds_text(feature, task)]
        raise InputError(
            f"model {name} was fitted on {len(known)} columns of categories; of its columns, those "
            f"with text are {', '.join(texts) or 'none'}"
        )
    return {
        features[place].name: ColumnType(CATEGORY, tuple(levels), ordered=place not in marked)
        for place, levels in zip(places, known, strict=True)
    }


def _lightgbm_marked(booster: Any) -> set[int]:
    """Return the places of the columns that LightGBM treats as categories."""
    text = booster.model_to_string(num_iteration=1)
    found = re.search(r"^\[categorical_feature: ([\d,]+)\]$", text, re.MULTILINE)
    return set() if found is None else set(map(int, found[1].split(",")))


def _lightgbm_places(
    known: Sequence[Sequence[Any]], features: Sequence[Feature], marked: set[int], task: Task
) -> list[int] | None:
    """Return which columns were pandas categories, in order; None if that cannot be.

    LightGBM knows the categories of each, but not the columns. Text can be nothing else, other
    columns have to hold the categories. Ordered ones are not marked, numbers may be.
    """
    values = [set(map(text_of, _values(feature, task))) for feature in features]
    texts = [_holds_text(feature, task) for feature in features]
    levels = [set(map(text_of, each)) for each in known]

    @cache
    def best(column: int, entry: int) -> tuple[float, tuple[int, ...]]:
        if column == len(features):
            return (0.0, ()) if entry == len(levels) else (np.inf, ())
        without = (np.inf, ()) if texts[column] else best(column + 1, entry)
        if entry == len(levels) or not values[column] & levels[entry]:
            return without
        cost, places = best(column + 1, entry + 1)
        cost += (column not in marked) + 2 * len(values[column] - levels[entry])
        return min(without, (cost, (column, *places)))

    cost, places = best(0, 0)
    return list(places) if np.isfinite(cost) else None


def _of_columns(
    model: Any, columns: Sequence[str], types: Mapping[str, ColumnType]
) -> tuple[tuple[tuple[str, Any], ...], tuple[tuple[str, Any], ...]]:
    """Return settings, and arguments of `fit`, that say which columns are categories."""
    match library_of(model):
        case "catboost":
            places = {
                "cat_features": model.get_cat_feature_indices(),
                "text_features": model.get_text_feature_indices(),
            }
            named = {
                key: [columns[place] for place in some] for key, some in places.items() if some
            }
            return tuple(named.items()), ()
        case "lightgbm":
            marked = [columns[place] for place in sorted(_lightgbm_marked(booster_of(model)))]
            if any(column not in types for column in marked):
                return (), (("categorical_feature", marked),)
    return (), ()


def _holds_text(feature: Feature, task: Task) -> bool:
    return any(isinstance(value, str) for value in _values(feature, task))
