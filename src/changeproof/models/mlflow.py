"""Models that MLflow keeps: of a registry, of a run, or in a folder."""

from __future__ import annotations

import atexit
import hashlib
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
import pandas as pd

from changeproof.datasets.task import Task
from changeproof.errors import InputError, one_line
from changeproof.feasible.feature import text_of
from changeproof.model import Floats
from changeproof.models.asked import Answers, asked_model
from changeproof.models.inputs import TableInputs
from changeproof.models.learner import FittedModel
from changeproof.models.libraries import is_booster, required
from changeproof.models.shipped import ShippedModel

MLMODEL, TRACKING = "MLmodel", "MLFLOW_TRACKING_URI"
# MLflow reports its use to its makers, and draws bars, unless somebody says otherwise.
QUIET = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false"}
# The numbers that a signature may ask for; whole ones only where all values are whole.
NUMBERS = {"integer": np.int32, "long": np.int64, "float": np.float32, "double": np.float64}
Files = tuple[tuple[str, bytes], ...]


class Loaded(NamedTuple):
    """A model, and the folder that it was loaded from, which lasts as long as the model."""

    model: Any
    folder: TemporaryDirectory[str]


class PyfuncModel(ShippedModel):
    """A model that only MLflow's `predict` can ask: the files of its folder."""

    kind = "MLflow model"

    def __init__(self, files: Files, name: str, reference: str) -> None:
        self.files, self.name, self.reference = files, name, reference
        self.digest = _digest(files)
        self.columns = _columns(loaded(files).model)

    def _fitted(self, task: Task) -> FittedModel:
        ask = partial(self._ask, task, TableInputs.named_by(self.name, self.columns, task))
        return asked_model(self.name, ask, ask(task.rows("train")).classes, task)

    def _ask(self, task: Task, inputs: TableInputs, rows: Floats) -> Answers:
        model = loaded(self.files).model
        frame = pd.DataFrame(inputs.taken(rows, task))
        try:
            given = model.predict(_typed(frame, model.metadata.get_input_schema()))
        except Exception as error:
            raise InputError(
                f"model {self.name} could not judge {len(rows)} rows: {one_line(error)}"
            ) from error
        table = pd.DataFrame(given)
        if not all(pd.api.types.is_numeric_dtype(kind) for kind in table.dtypes):
            raise InputError(
                f"model {self.name} gives values such as {table.iloc[0, 0]!r}; expected scores or "
                "probabilities of classes"
            )
        numbers = table.to_numpy(np.float64)
        if numbers.shape[1] == 1:
            return Answers(numbers[:, 0])
        return Answers(numbers, tuple(table.columns))


def read_mlflow(where: str, name: str, reference: str) -> Any:
    """Return what MLflow has somewhere: a fitted estimator or booster, or a fitted model.

    `where` is models:/NAME/VERSION, runs:/RUN/NAME or a folder.
    """
    for key, value in QUIET.items():
        os.environ.setdefault(key, value)
    required("mlflow", "an mlflow: model")
    try:
        files = _files(where)
        model = loaded(files).model
    except ModuleNotFoundError as error:
        raise InputError(
            f"MLflow model {where} needs {error.name}, which is not installed"
        ) from error
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"MLflow model {where} cannot be loaded: {one_line(error)}") from error
    raw = _raw_model(model)
    return raw if _judges_by_itself(raw) else PyfuncModel(files, name, reference)


@lru_cache(maxsize=4)
def loaded(files: Files) -> Loaded:
    """Load a model from its files. This runs whatever code they hold."""
    with warnings.catch_warnings():  # of MLflow's about types of its own
        warnings.simplefilter("ignore")
        import mlflow.pyfunc
    folder = TemporaryDirectory(prefix="changeproof-mlflow-")
    for name, content in files:
        path = Path(folder.name) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return Loaded(mlflow.pyfunc.load_model(folder.name, suppress_warnings=True), folder)


atexit.register(loaded.cache_clear)  # before the libraries of the models are gone


def _files(where: str) -> Files:
    """Return the files of a model's folder by their names, also from a registry or a run."""
    from mlflow.artifacts import download_artifacts

    with TemporaryDirectory(prefix="changeproof-mlflow-") as copies, _existing_store(where):
        local = Path(where)
        folder = local if local.is_dir() else Path(download_artifacts(where, dst_path=copies))
        if not (folder / MLMODEL).is_file():
            raise InputError(f"MLflow model {where} has no file {MLMODEL}")
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        return tuple((path.relative_to(folder).as_posix(), path.read_bytes()) for path in paths)


@contextmanager
def _existing_store(where: str) -> Iterator[None]:
    """Refuse to look in a local store that does not exist: MLflow would create it."""
    if not where.startswith(("models:", "runs:")):
        yield
        return
    import mlflow

    tracking = mlflow.get_tracking_uri()
    asked = mlflow.get_registry_uri() if where.startswith("models:") else tracking
    if _is_absent(asked):
        raise InputError(
            f"MLflow model {where}: there is no store at {asked}; say where it is by "
            "MLFLOW_TRACKING_URI, or MLFLOW_REGISTRY_URI for a registry of its own"
        )
    before = os.environ.get(TRACKING)
    if _is_absent(tracking):  # a registry needs none, but MLflow would create one
        os.environ[TRACKING] = asked
    try:
        yield
    finally:
        os.environ.pop(TRACKING, None)
        if before is not None:
            os.environ[TRACKING] = before


def _is_absent(store: str) -> bool:
    """Return whether a store is a local database or folder that does not exist."""
    scheme, mark, rest = store.partition("://")
    if mark and scheme not in ("sqlite", "file"):
        return False
    path = unquote(rest.removeprefix("/") if scheme == "sqlite" else rest) if mark else store
    return not Path(path).exists()


def _digest(files: Files) -> str:
    names = [(name, hashlib.sha256(content).hexdigest()) for name, content in files]
    return hashlib.sha256(repr(names).encode()).hexdigest()


def _raw_model(model: Any) -> Any:
    """Return the model of a library behind MLflow's; None where there is none."""
    try:
        return model.get_raw_model()
    except NotImplementedError:
        return None


def _columns(model: Any) -> tuple[str, ...] | None:
    schema = model.metadata.get_input_schema()
    if schema is not None and schema.has_input_names():
        return tuple(schema.input_names())
    names = getattr(_raw_model(model), "feature_names_in_", None)
    return None if names is None else tuple(map(str, names))


def _judges_by_itself(raw: Any) -> bool:
    gives = hasattr(raw, "predict_proba") or hasattr(raw, "decision_function")
    return is_booster(raw) or (gives and hasattr(raw, "classes_"))


def _typed(frame: pd.DataFrame, schema: Any) -> pd.DataFrame:
    """Return a table with the types of a signature, as far as its values have them."""
    if schema is None or not schema.has_input_names():
        return frame
    types: dict[str, Any] = dict(zip(schema.input_names(), schema.input_types(), strict=True))
    return frame.assign(**{name: _as_type(frame[name], types[name]) for name in types})


def _as_type(values: pd.Series[Any], wanted: Any) -> pd.Series[Any]:
    kind = getattr(wanted, "name", "")
    if kind in NUMBERS and pd.api.types.is_numeric_dtype(values.dtype):
        cast = values.astype(NUMBERS[kind]) if values.notna().all() else values
        return cast if kind in ("float", "double") or (cast == values).all() else values
    if kind == "boolean" and values.notna().all():
        return values.map(text_of).isin(["True", "1"])
    return values
