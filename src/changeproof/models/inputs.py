"""How fitted models take the columns of a table: which ones, in which order, of which types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.feasible.feature import Feature
from changeproof.model import Floats
from changeproof.models.shipped import original_frame

# How a column goes in: as the table has it, as a pandas category, or as text.
CATEGORY, TEXT = "category", "text"


def columns_of(estimator: Any) -> tuple[str, ...] | None:
    """Return the names of the columns that an estimator was fitted on; None if it has none."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None and _library(estimator) == "catboost":
        names = estimator.feature_names_
        if list(names) == [str(place) for place in range(len(names))]:
            names = None  # it was fitted on an array
    return None if names is None else tuple(map(str, names))


@dataclass(frozen=True)
class TableInputs:
    """The columns of a table in the order that a fitted model expects.

    `named` says whether they go in as a DataFrame, or as numbers only. `types` are those that the
    model needs, by column, where the table may have others.
    """

    columns: tuple[str, ...]
    named: bool = True
    types: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, name: str, estimator: Any, task: Task) -> Self:
        """Return how a fitted estimator takes the features of a task."""
        known = [feature.name for feature in task.features]
        columns = columns_of(estimator)
        if columns is not None:
            if missing := [column for column in columns if column not in known]:
                raise InputError(
                    f"model {name} takes the columns {', '.join(columns)}; {task.name!r} has no "
                    f"{', '.join(missing)} among its features: {', '.join(known)}"
                )
            features = {feature.name: feature for feature in task.features}
            taken = [features[column] for column in columns]
            return cls(columns, types=tuple(_types(estimator, taken).items()))
        count = getattr(estimator, "n_features_in_", None)
        text = any(feature.categories for feature in task.features)
        if count is not None and (count != len(known) or text):
            raise InputError(
                f"model {name} was fitted on {count} columns without names; {task.name!r} has the "
                f"{len(known)} features {', '.join(known)}. Fit it on a DataFrame"
            )
        return cls(tuple(known), named=count is None)

    def taken(self, rows: Floats, task: Task) -> pd.DataFrame | Floats:
        frame = original_frame(task, rows)[list(self.columns)]
        for column, kind in self.types:
            frame[column] = _as_type(frame[column], kind, task)
        return frame if self.named else frame.to_numpy(dtype=np.float64)


def _as_type(values: pd.Series[Any], kind: str, task: Task) -> pd.Series[Any]:
    if kind == TEXT:
        return values.astype(str)
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values
    feature = next(each for each in task.features if each.name == values.name)
    spelled = task.raw[feature.name].spelled if feature.name in task.raw else ()
    numbers = task.frame.iloc[:, feature.columns[0]]
    levels = spelled or feature.categories or np.sort(numbers.unique()).tolist()
    return values.astype(pd.CategoricalDtype(pd.Index(list(levels))))


def _types(estimator: Any, features: Sequence[Feature]) -> dict[str, str]:
    """Return the types that a fitted model asks for, by column."""
    names = [feature.name for feature in features]
    match _library(estimator):
        case "xgboost":
            kinds = estimator.get_booster().feature_types or []
            return {n: CATEGORY for n, kind in zip(names, kinds, strict=False) if kind == "c"}
        case "lightgbm":
            # It counts the columns that are categories, and takes no text.
            return {feature.name: CATEGORY for feature in features if _holds_text(feature)}
        case "catboost":
            return {names[place]: TEXT for place in estimator.get_cat_feature_indices()}
        case "sklearn":
            chosen = getattr(estimator, "is_categorical_", None)
            if chosen is not None and estimator.categorical_features == "from_dtype":
                return {n: CATEGORY for n, is_one in zip(names, chosen, strict=True) if is_one}
    return {}


def _holds_text(feature: Feature) -> bool:
    return any(isinstance(category, str) for category in feature.categories)


def _library(estimator: Any) -> str:
    return type(estimator).__module__.partition(".")[0]
