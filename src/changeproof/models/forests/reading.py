"""Read a fitted model of any library as a forest."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

from changeproof.models.forests.building import OpaqueError
from changeproof.models.forests.forest import Forest

PACKAGE = "changeproof.models.forests"
# Which module reads which kind of model, by the library and name of its class.
READERS = {
    "sklearn.DecisionTreeClassifier": "from_sklearn",
    "sklearn.DecisionTreeRegressor": "from_sklearn",
    "sklearn.ExtraTreeClassifier": "from_sklearn",
    "sklearn.ExtraTreeRegressor": "from_sklearn",
    "sklearn.RandomForestClassifier": "from_sklearn",
    "sklearn.RandomForestRegressor": "from_sklearn",
    "sklearn.ExtraTreesClassifier": "from_sklearn",
    "sklearn.ExtraTreesRegressor": "from_sklearn",
    "sklearn.GradientBoostingClassifier": "from_sklearn",
    "sklearn.GradientBoostingRegressor": "from_sklearn",
    "sklearn.HistGradientBoostingClassifier": "from_sklearn",
    "sklearn.HistGradientBoostingRegressor": "from_sklearn",
    "xgboost.XGBClassifier": "from_xgboost",
    "xgboost.XGBRegressor": "from_xgboost",
    "xgboost.XGBRFClassifier": "from_xgboost",
    "xgboost.XGBRFRegressor": "from_xgboost",
    "xgboost.Booster": "from_xgboost",
    "lightgbm.LGBMClassifier": "from_lightgbm",
    "lightgbm.LGBMRegressor": "from_lightgbm",
    "lightgbm.Booster": "from_lightgbm",
    "catboost.CatBoostClassifier": "from_catboost",
    "catboost.CatBoostRegressor": "from_catboost",
    "catboost.CatBoost": "from_catboost",
}


class Reading(NamedTuple):
    """A forest, or why a model cannot be read as one."""

    forest: Forest | None
    reason: str = ""


def read_forest(model: Any) -> Reading:
    """Read a fitted model of scikit-learn, XGBoost, LightGBM or CatBoost.

    A subclass of such a model may predict otherwise, and is not read. What keeps a model of a
    library has it as `library_model`.
    """
    model = getattr(model, "library_model", model)
    kind = type(model)
    if not is_read(model):
        return Reading(None, f"{kind.__name__} is not a forest that can be read")
    reader = import_module(f"{PACKAGE}.{READERS[_name(kind)]}")
    try:
        return Reading(reader.read(model))
    except OpaqueError as error:
        return Reading(None, f"{kind.__name__} cannot be read: {error}")


def is_read(model: Any) -> bool:
    """Return whether models of this kind, fitted or not, can be read as a rule."""
    return _name(type(model)) in READERS


def _name(kind: type) -> str:
    return f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
