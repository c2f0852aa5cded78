"""XGBoost, LightGBM and CatBoost: classifiers by name, and what training them again asks for."""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from importlib import import_module
from inspect import signature
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from changeproof.errors import InputError, one_line
from changeproof.models.references import BOOSTER_FILES
from changeproof.plugins import parsed

LIBRARIES = ("xgboost", "lightgbm", "catboost")

# Settings go by one name each; these are their other names, as far as something depends on them.
ALIASES: dict[str, dict[str, str]] = {
    "xgboost": {
        "eta": "learning_rate",
        "seed": "random_state",
        "nthread": "n_jobs",
    },
    "lightgbm": {
        "eta": "learning_rate",
        "shrinkage_rate": "learning_rate",
        "max_leaves": "num_leaves",
        "max_leaf_nodes": "num_leaves",
        "min_data_in_leaf": "min_child_samples",
        "min_samples_leaf": "min_child_samples",
        "num_iterations": "n_estimators",
        "num_boost_round": "n_estimators",
        "num_trees": "n_estimators",
        "boosting": "boosting_type",
        "bagging_fraction": "subsample",
        "bagging_freq": "subsample_freq",
        "feature_fraction": "colsample_bytree",
        "colsample_bynode": "feature_fraction_bynode",
        "extra_tree": "extra_trees",
        "rate_drop": "drop_rate",
        "bin_construct_sample_cnt": "subsample_for_bin",
        "seed": "random_state",
        "random_seed": "random_state",
        "num_threads": "n_jobs",
        "num_thread": "n_jobs",
        "nthread": "n_jobs",
        "nthreads": "n_jobs",
        "verbosity": "verbose",
        "early_stopping": "early_stopping_round",
        "early_stopping_rounds": "early_stopping_round",
        "n_iter_no_change": "early_stopping_round",
    },
    "catboost": {
        "eta": "learning_rate",
        "max_depth": "depth",
        "reg_lambda": "l2_leaf_reg",
        "n_estimators": "iterations",
        "num_boost_round": "iterations",
        "num_trees": "iterations",
        "colsample_bylevel": "rsm",
        "random_state": "random_seed",
    },
}
# What people turn first; the base setting itself is left out.
GRIDS: dict[str, dict[str, list[Any]]] = {
    "xgboost": {
        "learning_rate": [0.1, 0.2, 0.3],
        "max_depth": [4, 6, 8],
        "min_child_weight": [1, 3, 10],
    },
    "lightgbm": {
        "learning_rate": [0.05, 0.1, 0.2],
        "num_leaves": [15, 31, 63],
        "min_child_samples": [10, 20, 40],
    },
    "catboost": {
        "depth": [4, 6, 8],
        "l2_leaf_reg": [1.0, 3.0, 10.0],
        "random_strength": [0.5, 1.0, 2.0],
    },
}
# What the libraries do about settings that are left open.
DEFAULTS: dict[str, dict[str, Any]] = {
    "xgboost": {"learning_rate": 0.3, "max_depth": 6, "min_child_weight": 1},
    "catboost": {"depth": 6, "l2_leaf_reg": 3.0, "random_strength": 1.0, "iterations": 1000},
}
SEED = {"xgboost": "random_state", "lightgbm": "random_state", "catboost": "random_seed"}
THREADS = {"xgboost": "n_jobs", "lightgbm": "n_jobs", "catboost": "thread_count"}
# Nothing is printed, no folder is written, and LightGBM does not choose by the clock how it counts.
QUIET: dict[str, dict[str, Any]] = {
    "xgboost": {"verbosity": 0},
    "lightgbm": {"verbose": -1, "deterministic": True},
    "catboost": {"logging_level": "Silent", "allow_writing_files": False},
}
# Seeds of single parts would not follow the seed of the whole.
LEFT_OUT: dict[str, tuple[str, ...]] = {
    "xgboost": (),
    "lightgbm": (
        *("bagging_seed", "data_random_seed", "drop_seed", "extra_seed", "feature_fraction_seed"),
        "objective_seed",
    ),
    "catboost": ("verbose", "silent", "verbose_eval", "metric_period", "train_dir"),
}
STOPPING: dict[str, tuple[str, ...]] = {
    "xgboost": ("early_stopping_rounds",),
    "lightgbm": ("early_stopping_round",),
    "catboost": ("early_stopping_rounds", "od_type", "od_wait", "od_pval", "use_best_model"),
}

# So many rows are enough for LightGBM to choose thresholds from, unless it says otherwise.
ENOUGH_ROWS = 200_000
PLAIN = str | bool | int | float
# Settings about columns, which a trial does not have.
OF_COLUMNS = (
    "monotone_constraints",
    "interaction_constraints",
    "feature_weights",
    "feature_contri",
)


def library_of(thing: Any) -> str:
    """Return the top-level package that the class of a thing is from."""
    return type(thing).__module__.partition(".")[0]


def is_boosted(thing: Any) -> bool:
    """Return whether a thing is an estimator of one of the three libraries, fitted or not."""
    return library_of(thing) in LIBRARIES and hasattr(thing, "get_params")


def booster_named(library: str, text: str) -> Any:
    """Return the classifier that ``ClassName(parameter=value)`` means, not fitted."""
    reference = f"{library}:{text}"
    try:
        name, settings = parsed(text)
        if not name.isidentifier():
            raise InputError(text)
    except InputError:
        files = " or ".join(f"FILE{ending}" for ending in BOOSTER_FILES[library])
        raise InputError(
            f"model {reference!r}: expected ClassName(parameter=value), or a model as {files}"
        ) from None
    try:
        module = import_module(library)
    except ImportError as error:
        lacking = f"is not installed (extra: {library})"
        why = lacking if error.name == library else f"cannot be imported: {error}"
        raise InputError(f"model {reference!r} needs {library}, which {why}") from None
    known = sorted(each for each in dir(module) if _is_classifier(getattr(module, each)))
    if name not in known:
        raise InputError(
            f"{library} has no classifier {name!r}; expected one of: {', '.join(known)}"
        )
    try:
        estimator = getattr(module, name)(**settings)
        _check_settings(estimator, settings)
        return ready(estimator)
    except InputError as error:
        raise InputError(f"model {reference!r}: {error}") from None
    except Exception as error:
        raise InputError(f"model {reference!r}: {cause(error)}") from None


def _is_classifier(thing: Any) -> bool:
    here = isinstance(thing, type) and hasattr(thing, "predict_proba") and hasattr(thing, "fit")
    return here and not thing.__name__.startswith("Dask")


def _check_settings(estimator: Any, given: Mapping[str, Any]) -> None:
    """Refuse settings that a library refuses, or would ignore, by a trial on a few rows."""
    library, settings = library_of(estimator), settings_of(ready(estimator))
    rounds = "iterations" if library == "catboost" else "n_estimators"
    # Lists are about columns or classes.
    plain = {key: value for key, value in settings.items() if isinstance(value, PLAIN)}
    plain = {key: value for key, value in plain.items() if key not in OF_COLUMNS} | {rounds: 1}
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


def cause(error: Exception) -> str:
    """Return what a library says is wrong, without the time and the place in its code."""
    return re.sub(
        r"(?:\[[\d:]+\] )?\S+\.(?:cc|cpp|cu|h):\d+: (?:Check failed: .*?: )?", "", one_line(error)
    )


def parts_of(estimator: Any) -> dict[str, Any]:
    """Return the boosters among the parts of an estimator, by the names of their settings."""
    parts = {"": estimator, **estimator.get_params(deep=True)}
    return {key: part for key, part in parts.items() if is_boosted(part)}


def fresh(estimator: Any) -> Any:
    """Return an estimator with the same settings that is not fitted.

    scikit-learn cannot clone a CatBoost model with lists among its settings.
    """
    if library_of(estimator) == "catboost":
        return type(estimator)(**deepcopy(estimator.get_params()))
    if isinstance(estimator, Pipeline) and any(
        library_of(part) == "catboost" for part in parts_of(estimator).values()
    ):
        steps = [
            (name, fresh(step) if hasattr(step, "get_params") else step)
            for name, step in estimator.steps
        ]
        return Pipeline(steps, memory=estimator.memory, verbose=estimator.verbose)
    return clone(estimator)


def ready(estimator: Any) -> Any:
    """Return an estimator to train here: boosters are quiet, and use one thread.

    Those that stopped early when they were fitted are trained for as many rounds as they kept.
    """
    boosters = parts_of(estimator)
    if not boosters:
        return estimator
    if "" in boosters:
        return _ready(estimator)
    found = fresh(estimator)
    return found.set_params(**{key: _ready(part) for key, part in boosters.items()})


def _ready(booster: Any) -> Any:
    library = library_of(booster)
    settings = settings_of(booster)
    kept = _rounds_kept(booster, settings)
    stopping = [key for key in STOPPING[library] if settings.get(key) not in (None, False)]
    watching = [each for each in settings.get("callbacks") or () if _stops(each)]
    if (stopping or watching) and kept is None:
        raise InputError(
            f"{type(booster).__name__} is to stop early ({(*stopping, 'callbacks')[0]}), which "
            "needs rows that are set aside; leave that out and say how many rounds to train"
        )
    for key in (*LEFT_OUT[library], *STOPPING[library]):
        settings.pop(key, None)
    if watching:
        settings["callbacks"] = [e for e in settings["callbacks"] if e not in watching] or None
    threads = THREADS[library]
    if settings.get(threads) is None or settings[threads] < 1:
        settings[threads] = 1
    settings |= QUIET[library] | (kept or {})
    if library == "lightgbm" and not settings.get("force_row_wise"):
        settings["force_col_wise"] = True
    settings.setdefault(SEED[library], 0)
    return type(booster)(**deepcopy(settings))


def settings_of(booster: Any) -> dict[str, Any]:
    """Return the settings of a booster, each under the one name that is used here."""
    aliases = ALIASES[library_of(booster)]
    given = booster.get_params()
    settings = {key: value for key, value in given.items() if key not in aliases}
    return settings | {aliases[key]: value for key, value in given.items() if key in aliases}


def _stops(callback: Any) -> bool:
    return "early" in type(callback).__name__.lower()


def _rounds_kept(booster: Any, settings: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return how many rounds a booster kept that stopped early; None if it did not."""
    match library_of(booster):
        case "xgboost":
            best = getattr(booster, "best_iteration", None)
            return None if best is None else {"n_estimators": best + 1}
        case "lightgbm":
            best = getattr(booster, "best_iteration_", None)
            return {"n_estimators": best} if best else None
        case _:
            most = settings.get("iterations") or DEFAULTS["catboost"]["iterations"]
            if not booster.is_fitted():
                return None
            if booster.tree_count_ == most:
                return {}
            # By default, the learning rate depends on the number of rounds.
            return {"iterations": booster.tree_count_, "learning_rate": booster.learning_rate_}


def seeds_of(estimator: Any) -> list[str]:
    """Return the names of the seeds of CatBoost models, which no random state stands for."""
    return [
        f"{key}__random_seed" if key else "random_seed"
        for key, part in parts_of(estimator).items()
        if library_of(part) == "catboost"
    ]


def known_settings(estimator: Any) -> dict[str, Any]:
    """Return all settings of an estimator, nested ones too, with what is left open filled in."""
    known = dict(estimator.get_params(deep=True))
    for key, part in parts_of(estimator).items():
        library, prefix = library_of(part), f"{key}__" if key else ""
        if library == "catboost":
            known = {f"{prefix}{name}": None for name in signature(type(part)).parameters} | known
        for name, value in DEFAULTS.get(library, {}).items():
            if known.get(f"{prefix}{name}") is None:
                known[f"{prefix}{name}"] = value
    return known


def uses_seed(booster: Any, few_rows: bool) -> bool:
    """Return whether another seed may give another model."""
    return _USES_SEED[library_of(booster)](settings_of(booster), few_rows)


def few_rows(booster: Any) -> int:
    """Return up to how many rows a booster looks at all of them to choose its thresholds."""
    return int(settings_of(booster).get("subsample_for_bin", ENOUGH_ROWS))


def _below_one(settings: Mapping[str, Any], *names: str) -> bool:
    return any(settings.get(name) not in (None, 1) for name in names)


def _xgboost_draws(settings: Mapping[str, Any], few_rows: bool) -> bool:
    if settings.get("booster") == "gblinear":
        return settings.get("feature_selector") in ("shuffle", "random")
    if settings.get("booster") == "dart" and (
        settings.get("rate_drop") or settings.get("one_drop")
    ):
        return True
    columns = ("colsample_bytree", "colsample_bylevel", "colsample_bynode")
    return _below_one(settings, "subsample", *columns)


def _lightgbm_draws(settings: Mapping[str, Any], few_rows: bool) -> bool:
    boosting, rate = settings["boosting_type"], settings["learning_rate"]
    shares = ("subsample", "pos_bagging_fraction", "neg_bagging_fraction")
    if settings.get("subsample_freq") and _below_one(settings, *shares):
        return True
    if _below_one(settings, "colsample_bytree", "feature_fraction_bynode"):
        return True
    drops = settings.get("drop_rate") != 0 and settings.get("skip_drop", 0.5) < 1
    if boosting == "dart" and drops:
        return True
    # Rows are left out after the first rounds only.
    left_out = "goss" in (boosting, settings.get("data_sample_strategy"))
    if left_out and settings["n_estimators"] * rate > 1:
        return True
    rounded = settings.get("use_quantized_grad") and settings.get("stochastic_rounding", True)
    return bool(settings.get("extra_trees") or rounded or not few_rows)


def _catboost_draws(settings: Mapping[str, Any], few_rows: bool) -> bool:
    settled = settings.get("bootstrap_type") == "No" and settings.get("random_strength") == 0
    # Categories are replaced by outcomes of the rows before, in an order that is drawn.
    return not (settled and settings.get("has_time")) or _below_one(settings, "rsm")


_USES_SEED: dict[str, Callable[[Mapping[str, Any], bool], bool]] = {
    "xgboost": _xgboost_draws,
    "lightgbm": _lightgbm_draws,
    "catboost": _catboost_draws,
}


def probabilities(estimator: Any, rows: Any) -> Any:
    """Return what an estimator gives for rows, on one thread where it can be told so."""
    match library_of(estimator):
        case "lightgbm":
            return estimator.predict_proba(rows, num_threads=1)
        case "catboost":
            return estimator.predict_proba(rows, thread_count=1)
    return estimator.predict_proba(rows)


def predictions(estimator: Any, rows: Any) -> Any:
    """Return what an estimator predicts for rows, on one thread where it can be told so."""
    match library_of(estimator):
        case "lightgbm":
            return estimator.predict(rows, num_threads=1)
        case "catboost":
            return estimator.predict(rows, thread_count=1)
    return estimator.predict(rows)


def model_digest(estimator: Any) -> str:
    """Return the hash of a fitted estimator.

    A CatBoost model says when it was trained and has a random name; neither counts.
    """
    if not any(library_of(part) == "catboost" for part in parts_of(estimator).values()):
        return str(joblib.hash(estimator))
    digest = hashlib.sha256()
    for each in _steps(estimator):
        if library_of(each) == "catboost":
            digest.update(repr(sorted(each.get_params().items())).encode())
            digest.update(json.dumps(_structure(each), sort_keys=True).encode())
        else:
            digest.update(str(joblib.hash(each)).encode())
    return digest.hexdigest()


def _steps(estimator: Any) -> Iterator[Any]:
    if isinstance(estimator, Pipeline):
        for _, step in estimator.steps:
            yield from _steps(step)
    else:
        yield estimator


def _structure(booster: Any) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        booster.save_model(str(path), format="json")
        found: dict[str, Any] = json.loads(path.read_text())
    about = found.pop("model_info")
    return {**found, "class_params": about.get("class_params")}
