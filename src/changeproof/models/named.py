"""Classifiers by the name of their class: ``ClassName(parameter=value)``, not fitted."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from importlib import import_module
from itertools import chain
from typing import Any

import numpy as np

from changeproof.errors import InputError
from changeproof.models.libraries import library_of, required
from changeproof.models.references import BOOSTER_FILES
from changeproof.models.settings import ROUNDS, cause, ready, settings_of
from changeproof.plugins import parsed

SKLEARN_MODULES = ("linear_model", "tree", "ensemble")
PLAIN = str | bool | int | float
# Settings about columns, which a trial does not have.
OF_COLUMNS = (
    "monotone_constraints",
    "interaction_constraints",
    "feature_weights",
    "feature_contri",
)


def sklearn_named(text: str) -> Any:
    """Return the classifier of scikit-learn that a text means."""
    reference = f"sklearn:{text}"
    name, settings = _parsed(reference, "ClassName or ClassName(parameter=value)")
    try:
        return _sklearn_class(name)(**settings)
    except TypeError as error:
        raise InputError(f"model {reference!r}: {error}") from None


def booster_named(library: str, text: str) -> Any:
    """Return the classifier of XGBoost, LightGBM or CatBoost that a text means."""
    reference = f"{library}:{text}"
    files = " or ".join(f"FILE{ending}" for ending in BOOSTER_FILES[library])
    name, settings = _parsed(reference, f"ClassName(parameter=value), or a model as {files}")
    module = required(library, f"model {reference!r}")
    known = sorted(each for each in dir(module) if _is_classifier(getattr(module, each)))
    if name not in known:
        raise InputError(
            f"{library} has no classifier {name!r}; expected one of: {', '.join(known)}"
        )
    try:
        estimator = getattr(module, name)(**settings)
        _check_settings(estimator, settings)
        return ready(estimator)
    except Exception as error:
        raise InputError(f"model {reference!r}: {cause(error)}") from None


def _parsed(reference: str, expected: str) -> tuple[str, dict[str, Any]]:
    try:
        name, settings = parsed(reference.partition(":")[2])
        if name.isidentifier():
            return name, settings
    except InputError:
        pass
    raise InputError(f"model {reference!r}: expected {expected}")


def _sklearn_class(name: str) -> Any:
    """Return a class of scikit-learn; the usual modules are searched first.

    Asking scikit-learn for all it has takes seconds: it imports everything, PyTorch included.
    """
    for module in SKLEARN_MODULES:
        found = getattr(import_module(f"sklearn.{module}"), name, None)
        if isinstance(found, type) and hasattr(found, "predict_proba"):
            return found
    from sklearn.utils import all_estimators

    known = dict(all_estimators(type_filter="classifier"))
    if name not in known:
        near = [other for other in known if name.lower() in other.lower()] or sorted(known)
        raise InputError(
            f"scikit-learn has no classifier {name!r}; expected one of: {', '.join(near)}"
        )
    return known[name]


def _is_classifier(thing: Any) -> bool:
    here = isinstance(thing, type) and hasattr(thing, "predict_proba") and hasattr(thing, "fit")
    return here and not thing.__name__.startswith("Dask")


def _check_settings(estimator: Any, given: Mapping[str, Any]) -> None:
    """Refuse settings that a library refuses, or would ignore, by a trial on a few rows."""
    library, settings = library_of(estimator), settings_of(ready(estimator))
    # Lists are about columns or classes.
    plain = {
        key: value
        for key, value in settings.items()
        if isinstance(value, PLAIN) and key not in OF_COLUMNS
    } | {ROUNDS[library]: 1}
    if library == "xgboost":
        plain["verbosity"] = 1
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        type(estimator)(**plain).fit(np.arange(32.0).reshape(16, 2), np.arange(16) % 2)
    ignored = ""
    if library == "xgboost":
        found = [re.search(r"Parameters: \{ (.*?) \}", str(each.message)) for each in caught]
        ignored = next((match[1].replace('"', "'") for match in found if match), "")
    elif library == "lightgbm":
        from lightgbm import basic

        listed = basic._ConfigAliases._get_all_param_aliases().values()
        known = {*type(estimator)().get_params(), *chain.from_iterable(listed)}
        ignored = next((repr(key) for key in given if key not in known), "")
    if ignored:
        raise InputError(f"{type(estimator).__name__} has no parameter {ignored}")
