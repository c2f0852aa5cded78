"""Loans with categories and gaps, and the classifiers of three libraries as people fit them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from models_people_have import table

LIBRARIES = ("xgboost", "lightgbm", "catboost")
CLASSES = {
    "xgboost": "XGBClassifier",
    "lightgbm": "LGBMClassifier",
    "catboost": "CatBoostClassifier",
}
COLUMNS = ["income", "debt", "age", "home", "state", "employed", "grade"]
CATEGORIES = ["home", "state", "grade"]
ROUNDS = 25


def lent(rows: int = 900) -> pd.DataFrame:
    """Return loans with gaps, 51 states, and a grade that is a number and a category."""
    frame = table(rows).drop(columns=["applied", "zip"])
    frame["grade"] = np.random.default_rng(3).integers(1, 5, rows)
    return frame


def classifier(library: str, **settings: Any) -> Any:
    """Return a classifier with few rounds, quiet, and on one thread."""
    module = pytest.importorskip(library, reason=f"{library} is not installed (extra: {library})")
    usual: dict[str, Any] = {
        "xgboost": {"n_estimators": ROUNDS, "enable_categorical": True},
        "lightgbm": {"n_estimators": ROUNDS, "verbose": -1, "n_jobs": 1},
        "catboost": {
            "iterations": ROUNDS,
            "logging_level": "Silent",
            "allow_writing_files": False,
            "thread_count": 1,
        },
    }[library]
    return getattr(module, CLASSES[library])(**(usual | settings))


def reference(library: str, **settings: Any) -> str:
    """Return a classifier with few rounds by name."""
    import_or_skip(library)
    rounds = {"iterations" if library == "catboost" else "n_estimators": ROUNDS}
    written = ", ".join(f"{key}={value!r}" for key, value in (rounds | settings).items())
    return f"{library}:{CLASSES[library]}({written})"


def import_or_skip(library: str) -> Any:
    reason = f"{library} is not installed (extra: {library})"
    return pytest.importorskip(library, reason=reason)


def typed(library: str, frame: pd.DataFrame, like: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return the columns of a table as people type them for a library.

    Categories are those of the table that it is to be `like`.
    """
    found = frame[COLUMNS].copy()
    for name in CATEGORIES:
        values = found[name].astype(object)
        if library == "catboost":
            found[name] = values.map(lambda value: "nan" if pd.isna(value) else str(value))
        else:
            known = (frame if like is None else like)[name]
            levels = known.astype("category").cat.categories
            found[name] = values.astype(pd.CategoricalDtype(levels))
    return found


def fitted(library: str, frame: pd.DataFrame, y: Any = None, **settings: Any) -> Any:
    """Return a classifier that somebody has fitted on a typed table."""
    if library == "catboost":
        settings = {"cat_features": CATEGORIES, **settings}
    labels = (frame["outcome"] == "paid").astype(int) if y is None else y
    return classifier(library, **settings).fit(typed(library, frame), labels)
