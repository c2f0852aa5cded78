"""The libraries that models are from."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from changeproof.errors import InputError

BOOSTING = ("xgboost", "lightgbm", "catboost")
# The classes of fitted boosters that are no estimators.
BOOSTERS = {("xgboost", "Booster"), ("lightgbm", "Booster"), ("catboost", "CatBoost")}


def library_of(thing: Any) -> str:
    """Return the top-level package that the class of a thing is from."""
    return type(thing).__module__.partition(".")[0]


def is_booster(thing: Any) -> bool:
    """Return whether an object is a booster that is no estimator."""
    return (library_of(thing), type(thing).__name__) in BOOSTERS


def required(library: str, what: str, extra: str | None = None) -> ModuleType:
    """Import a library, or say what needs it and which extra installs it."""
    try:
        return import_module(library)
    except ImportError as error:
        lacking = f"is not installed (extra: {extra or library})"
        why = lacking if error.name == library else f"cannot be imported: {error}"
        raise InputError(f"{what} needs {library}, which {why}") from None
