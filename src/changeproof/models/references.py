"""How references to models are written, KIND:REST; nothing is read or imported here."""

from __future__ import annotations

from pathlib import Path

# Kinds whose rest is a file, whatever its name; a table of scores takes the place of a model.
PICKLES = ("pickle", "joblib")
FILES = ("onnx", *PICKLES, "scores")
# The libraries' own formats, by their endings. Anything else behind the colon is no file.
BOOSTER_FILES = {"xgboost": (".json", ".ubj"), "lightgbm": (".txt",), "catboost": (".cbm",)}
IMPORTED, SERVED, MLFLOW = ("python", "function"), ("http", "https"), "mlflow"
# What MLflow looks up in its stores; anything else behind mlflow: is a folder.
STORED = ("models:", "runs:", "mlflow-artifacts:")
# Loading one of these runs whatever code it holds.
RUN_CODE = (*PICKLES, MLFLOW)


def is_booster_file(reference: str) -> bool:
    """Return whether a reference names a model in a booster's own format.

    >>> is_booster_file("xgboost:today.json"), is_booster_file("xgboost:XGBClassifier")
    (True, False)
    """
    kind, _, rest = reference.partition(":")
    return rest.lower().endswith(BOOSTER_FILES.get(kind, ()))


def names_file(reference: str) -> bool:
    """Return whether a reference names a file or a folder."""
    kind, _, rest = reference.partition(":")
    folder = kind == MLFLOW and not rest.startswith(STORED)
    return kind in FILES or folder or is_booster_file(reference)


def is_elsewhere(reference: str) -> bool:
    """Return whether using a reference would import code, open a file or ask an address."""
    kind = reference.partition(":")[0]
    return kind in (*IMPORTED, *SERVED, MLFLOW) or names_file(reference)


def runs_code(reference: str) -> bool:
    """Return whether loading what a reference names runs whatever code it holds."""
    return reference.partition(":")[0] in RUN_CODE


def name_of(reference: str) -> str:
    """Return the name of a model that a reference leads to.

    >>> name_of("python:lending.models:scorer"), name_of("http://127.0.0.1:8000/v2/score")
    ('scorer', 'score')
    >>> name_of("mlflow:models:/loans/3"), name_of("pickle:models/today.pkl")
    ('loans', 'today')
    >>> name_of("pickle:loans/model.pkl")  # "25 changed models of model" says nothing
    'model.pkl'
    """
    kind, _, rest = reference.partition(":")
    if kind in IMPORTED:
        return rest.rpartition(":")[2]
    if kind in SERVED:
        return rest.partition("?")[0].strip("/").rpartition("/")[2]
    if kind == MLFLOW and rest.startswith("models:"):
        return rest.removeprefix("models:").strip("/").split("/")[0].partition("@")[0]
    path = Path(rest)
    return path.name if path.stem == "model" else path.stem
