"""Settings of estimators: what people vary, what follows a seed, what training here asks for.

XGBoost, LightGBM and CatBoost have settings of many names, and some that depend on each other.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import joblib
import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from changeproof.errors import InputError, one_line, unknown
from changeproof.model import Floats
from changeproof.models.libraries import BOOSTING, library_of

# What libraries refuse in the names of columns.
REFUSED_IN_NAMES = {"xgboost": "[]<", "lightgbm": '[]{}",:'}

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
FOREST: dict[str, list[Any]] = {
    "max_features": ["sqrt", 0.5, 1.0],
    "min_samples_leaf": [1, 2, 5],
    "max_depth": [None, 8, 16],
}
# What people turn first, by kind of model or library; the base setting itself is left out.
GRIDS: dict[str, dict[str, list[Any]]] = {
    "GradientBoostingClassifier": {
        "learning_rate": [0.05, 0.1, 0.2],
        "max_depth": [2, 3, 4],
        "n_estimators": [50, 100, 200],
    },
    "HistGradientBoostingClassifier": {
        "learning_rate": [0.05, 0.1, 0.2],
        "max_leaf_nodes": [15, 31, 63],
        "l2_regularization": [0.0, 0.1, 1.0],
    },
    "LogisticRegression": {"C": [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0]},
    "RandomForestClassifier": FOREST,
    "ExtraTreesClassifier": FOREST,
    "MLPClassifier": {
        "alpha": [1e-5, 1e-4, 1e-3],
        "learning_rate_init": [5e-4, 1e-3, 2e-3],
        "batch_size": [64, "auto", 400],
    },
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
ROUNDS = {"xgboost": "n_estimators", "lightgbm": "n_estimators", "catboost": "iterations"}
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

# Up to this many rows, no estimator of scikit-learn sets rows aside or leaves some out at random;
# and so many are enough for LightGBM to choose thresholds from, unless it says otherwise.
FEW_ROWS, ENOUGH_ROWS = 10_000, 200_000
DETERMINISTIC_SOLVERS = ("lbfgs", "newton-cg", "newton-cholesky")
# Predictions are made on one thread where a library can be told so.
ONE_THREAD = {"lightgbm": {"num_threads": 1}, "catboost": {"thread_count": 1}}


def is_boosted(thing: Any) -> bool:
    """Return whether a thing is an estimator of one of the three libraries, fitted or not."""
    return library_of(thing) in BOOSTING and hasattr(thing, "get_params")


def final_step(estimator: Any) -> tuple[str, Any]:
    """Return the last step of a pipeline, or the estimator, and the prefix of its settings."""
    if not isinstance(estimator, Pipeline):
        return "", estimator
    name, final = estimator.steps[-1]
    return f"{name}__", final


def cause(error: Exception) -> str:
    """Return what a library says is wrong, without the time and the place in its code."""
    return re.sub(
        r"(?:\[[\d:]+\] )?\S+\.(?:cc|cpp|cu|h):\d+: (?:Check failed: .*?: )?", "", one_line(error)
    )


def check_columns(booster: Any, name: str, columns: Sequence[str]) -> None:
    """Refuse columns that a library cannot name, and monotone constraints of other columns."""
    refused = REFUSED_IN_NAMES.get(library_of(booster), "")
    for column in columns:
        if any(mark in column for mark in refused):
            raise InputError(
                f"model {name} takes no column with one of {' '.join(refused)} in its name; got "
                f"{column!r}: rename it"
            )
    constraints = booster.get_params().get("monotone_constraints")
    if isinstance(constraints, Mapping):
        for column in constraints:
            if isinstance(column, str) and column not in columns:
                raise unknown("column of monotone_constraints", column, columns)
    elif isinstance(constraints, list | tuple) and len(constraints) not in (0, len(columns)):
        raise InputError(
            f"model {name} has {len(constraints)} monotone_constraints; expected one for each of "
            f"the {len(columns)} columns: {', '.join(columns)}"
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
    """Return an estimator to train here, on one thread: models are trained side by side.

    Boosters are quiet. Those that stopped early when they were fitted are trained for as many
    rounds as they kept.
    """
    boosters = parts_of(estimator)
    if "" in boosters:
        return _ready(estimator)
    settings = estimator.get_params(deep=True)
    changed: dict[str, Any] = {key: _ready(part) for key, part in boosters.items()}
    for key, value in settings.items():
        owner, _, name = key.rpartition("__")
        if name == "n_jobs" and value not in (None, 1) and owner not in boosters:
            changed[key] = None
    return fresh(estimator).set_params(**changed) if changed else estimator


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
    settings |= QUIET[library] | {THREADS[library]: 1} | (kept or {})
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


def default_grid(estimator: Any) -> dict[str, list[Any]]:
    """Return the settings that people turn first, under their names in a pipeline."""
    prefix, final = final_step(estimator)
    # Regressors have the settings of the classifiers of their kind.
    kind = type(final).__name__.replace("Regressor", "Classifier")
    grid = GRIDS[library_of(final)] if is_boosted(final) else GRIDS.get(kind, {})
    return {f"{prefix}{key}": values for key, values in grid.items()}


def seeded(estimator: Any, seed: int) -> Any:
    return estimator.set_params(**dict.fromkeys(random_states(estimator), seed))


def random_states(estimator: Any) -> list[str]:
    """Return the names of all seeds of an estimator that is ready to train, nested ones too."""
    return [
        key
        for key in estimator.get_params(deep=True)
        if key.endswith("random_state") or key.rpartition("__")[2] == "random_seed"
    ]


def seed_matters(estimator: Any, *, few_rows: bool) -> bool:
    """Return whether another seed may give another model, on few rows or on more.

    Many estimators have a `random_state` that they use with some settings only. What is not known
    here may use it. So do trees, where it breaks ties between features, and all that is made of
    them.
    """
    parts = {"": estimator, **estimator.get_params(deep=True)}
    for key in random_states(estimator):
        owner, _, name = key.rpartition("__")
        part = parts.get(owner)
        library = library_of(part)
        rule = _USES_SEED.get(type(part).__name__ if library == "sklearn" else library)
        if name not in ("random_state", "random_seed") or rule is None or rule(part, few_rows):
            return True
    return False


def few_rows_limit(estimator: Any) -> int:
    """Return up to how many rows an estimator looks at all of them."""
    boosters = parts_of(estimator)
    owners = {key.rpartition("__")[0] for key in random_states(estimator)}
    limits = [
        settings_of(boosters[each]).get("subsample_for_bin", ENOUGH_ROWS)
        if each in boosters
        else FEW_ROWS
        for each in owners
    ]
    return int(min(limits, default=FEW_ROWS))


def _below_one(settings: Mapping[str, Any], *names: str) -> bool:
    return any(settings.get(name) not in (None, 1) for name in names)


def _xgboost_draws(booster: Any, few_rows: bool) -> bool:
    settings = settings_of(booster)
    if settings.get("booster") == "gblinear":
        return settings.get("feature_selector") in ("shuffle", "random")
    if settings.get("booster") == "dart" and (
        settings.get("rate_drop") or settings.get("one_drop")
    ):
        return True
    columns = ("colsample_bytree", "colsample_bylevel", "colsample_bynode")
    return _below_one(settings, "subsample", *columns)


def _lightgbm_draws(booster: Any, few_rows: bool) -> bool:
    settings = settings_of(booster)
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


def _catboost_draws(booster: Any, few_rows: bool) -> bool:
    settings = settings_of(booster)
    settled = settings.get("bootstrap_type") == "No" and settings.get("random_strength") == 0
    # Categories are replaced by outcomes of the rows before, in an order that is drawn.
    return not (settled and settings.get("has_time")) or _below_one(settings, "rsm")


def _boosts_at_random(part: Any, few_rows: bool) -> bool:
    stops_early = not few_rows if part.early_stopping == "auto" else bool(part.early_stopping)
    sets_aside = stops_early and part.validation_fraction is not None
    return sets_aside or part.max_features != 1.0 or not few_rows


def _leaves_rows_out(part: Any, few_rows: bool) -> bool:
    return part.subsample is not None and not (few_rows and part.subsample >= FEW_ROWS)


_USES_SEED: dict[str, Callable[[Any, bool], bool]] = {
    "LogisticRegression": lambda part, _: part.solver not in DETERMINISTIC_SOLVERS,
    "LogisticRegressionCV": lambda part, _: part.solver not in DETERMINISTIC_SOLVERS,
    "HistGradientBoostingClassifier": _boosts_at_random,
    "HistGradientBoostingRegressor": _boosts_at_random,
    "SVC": lambda part, _: part.probability is not False,
    "NuSVC": lambda part, _: part.probability is not False,
    "GaussianProcessClassifier": lambda part, _: bool(part.n_restarts_optimizer),
    "QuantileTransformer": _leaves_rows_out,
    "KBinsDiscretizer": _leaves_rows_out,
    "xgboost": _xgboost_draws,
    "lightgbm": _lightgbm_draws,
    "catboost": _catboost_draws,
}


def probabilities(estimator: Any, rows: Any) -> Any:
    if _is_plain_logistic(estimator, rows):
        return _logistic_probabilities(estimator, rows)
    return estimator.predict_proba(rows, **ONE_THREAD.get(library_of(estimator), {}))


def _is_plain_logistic(estimator: Any, rows: Any) -> bool:
    """Return whether a logistic regression of two classes takes rows that need no checks."""
    return (
        type(estimator).__name__ == "LogisticRegression"
        and library_of(estimator) == "sklearn"
        and type(rows) is np.ndarray
        and rows.dtype == np.float64
        and len(estimator.classes_) == 2
        and rows.ndim == 2
        and rows.shape[1:] == estimator.coef_.shape[1:]
        and not hasattr(estimator, "feature_names_in_")
        and len(rows) > 0
        and bool(np.isfinite(rows).all())
    )


def _logistic_probabilities(estimator: Any, rows: Floats) -> Floats:
    """Do what scikit-learn does, with the same digits; for few rows its checks take longer."""
    scores = (rows @ estimator.coef_.T + estimator.intercept_).reshape(-1)
    second = expit(scores)
    return np.stack([1 - second, second], axis=1)


def predictions(estimator: Any, rows: Any) -> Any:
    return estimator.predict(rows, **ONE_THREAD.get(library_of(estimator), {}))


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
