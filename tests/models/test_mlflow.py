from __future__ import annotations

import os
import pickle
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline

import changeproof as cp
import shipped
from changeproof import InputError, Task, own_task
from changeproof.changes.successors import split_threshold
from changeproof.datasets.threshold import Threshold
from changeproof.models.estimator import ShippedEstimator
from changeproof.models.find import find_shipped, shipped_learner
from changeproof.models.mlflow import PyfuncModel
from changeproof.runs import execute
from command_line import call

os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed (extra: mlflow)")
pytest.importorskip("sqlalchemy", reason="sqlalchemy is not installed (extra: mlflow)")
with warnings.catch_warnings():  # about its own types, and about what it advises when it writes
    warnings.simplefilter("ignore")
    import mlflow.pyfunc
pytestmark = pytest.mark.filterwarnings("ignore")
REQUIREMENTS: dict[str, Any] = {"pip_requirements": ["scikit-learn"]}


@pytest.fixture(scope="module")
def today(frame: pd.DataFrame) -> Pipeline:
    return shipped.current(frame)


@pytest.fixture(params=["file", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Keep runs and registered models in a folder, or in a database."""
    file = request.param == "file"
    address = (tmp_path / "mlruns").as_uri() if file else f"sqlite:///{tmp_path / 'mlflow.db'}"
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(address)
    if not file:
        mlflow.create_experiment("loans", artifact_location=(tmp_path / "kept").as_uri())
    mlflow.set_experiment("Default" if file else "loans")
    yield tmp_path
    mlflow.set_tracking_uri(before)


class Points(mlflow.pyfunc.PythonModel):  # type: ignore[misc, name-defined]
    """A model that only MLflow can ask: points for income, fewer for debts."""

    def predict(self, context: Any, model_input: pd.DataFrame, params: Any = None) -> Any:
        assert model_input["debts"].dtype == np.int64
        return 300 + model_input["income"] / 10 - 20 * model_input["debts"]


class Shares(mlflow.pyfunc.PythonModel):  # type: ignore[misc, name-defined]
    """A model that names the classes that it gives probabilities of."""

    def predict(self, context: Any, model_input: pd.DataFrame, params: Any = None) -> Any:
        yes = 1 / (1 + np.exp((2300 - model_input["income"]) / 100))
        return pd.DataFrame({"yes": yes, "no": 1 - yes})


class Words(mlflow.pyfunc.PythonModel):  # type: ignore[misc, name-defined]
    def predict(self, context: Any, model_input: pd.DataFrame, params: Any = None) -> Any:
        return ["yes"] * len(model_input)


def saved_python(model: Any, folder: Path, people: pd.DataFrame) -> str:
    """Save a model whose class is in no module that others could import."""
    import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    try:
        signature = mlflow.models.infer_signature(people[["income", "debts"]])
        path = folder / type(model).__name__.lower()
        mlflow.pyfunc.save_model(
            path, python_model=model, signature=signature, pip_requirements=["pandas"]
        )
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
    return f"mlflow:{path}"


def test_a_registered_model_is_its_estimator(
    store: Path, task: Task, frame: pd.DataFrame, today: Pipeline
) -> None:
    with mlflow.start_run() as run:
        mlflow.sklearn.log_model(
            today,
            name="model",
            registered_model_name="loans",
            serialization_format="cloudpickle",
            **REQUIREMENTS,
        )
    mlflow.MlflowClient().set_registered_model_alias("loans", "champion", "1")
    rows = task.rows("test")
    expected = today.predict_proba(task.readable(rows)[shipped.FEATURES])[:, 1]
    for where in ("models:/loans/1", "models:/loans@champion", f"runs:/{run.info.run_id}/model"):
        with pytest.raises(InputError, match=r"loading an MLflow model runs whatever code it hold"):
            find_shipped(f"mlflow:{where}")
        model = find_shipped(f"mlflow:{where}", unpickle=True)
        assert isinstance(model, ShippedEstimator)
        assert model.name == ("model" if where.startswith("runs") else "loans")
        np.testing.assert_array_equal(model.model(task, None).probabilities(rows), expected)
        assert not model.refits(task).traits.no_training
    for absent in ("models:/loans/7", "models:/nothing/1", "runs:/0123/model", "models:/"):
        with pytest.raises(InputError, match=f"MLflow model {absent} cannot be loaded: ") as caught:
            find_shipped(f"mlflow:{absent}", unpickle=True)
        assert "\n" not in str(caught.value)


def test_no_store_is_created_by_looking_for_a_model(
    store: Path, today: Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow.sklearn.log_model(
        today,
        name="model",
        registered_model_name="loans",
        serialization_format="cloudpickle",
        **REQUIREMENTS,
    )
    registry, empty = mlflow.get_tracking_uri(), tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    mlflow.set_tracking_uri(None)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    for where in ("models:/loans/1", "runs:/0123/model"):
        with pytest.raises(InputError, match=f"MLflow model {where}: there is no store at ") as no:
            find_shipped(f"mlflow:{where}", unpickle=True)
        assert "\n" not in str(no.value)
    monkeypatch.setenv("MLFLOW_REGISTRY_URI", registry)
    assert isinstance(find_shipped("mlflow:models:/loans/1", unpickle=True), ShippedEstimator)
    assert not list(empty.iterdir()) and "MLFLOW_TRACKING_URI" not in os.environ


def test_folders_that_hold_no_model_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"MLflow model .*nowhere cannot be loaded: "):
        find_shipped(f"mlflow:{tmp_path / 'nowhere'}", unpickle=True)
    with pytest.raises(InputError, match="has no file MLmodel"):
        find_shipped(f"mlflow:{tmp_path}", unpickle=True)
    (tmp_path / "MLmodel").write_text("nothing of the kind")
    with pytest.raises(InputError, match="cannot be loaded"):
        find_shipped(f"mlflow:{tmp_path}", unpickle=True)


def test_what_only_mlflow_can_ask_gives_scores(
    tmp_path: Path, task: Task, frame: pd.DataFrame
) -> None:
    reference = saved_python(Points(), tmp_path, frame)
    model = find_shipped(reference, unpickle=True)
    assert isinstance(model, PyfuncModel)
    assert model.columns == ("income", "debts")
    rows, told = task.rows("test"), task.readable(task.rows("test"))
    expected = 300 + told["income"] / 10 - 20 * told["debts"] >= 560
    for each in (model, pickle.loads(pickle.dumps(model))):
        judged = each.model(task, Threshold(560.0)).favourable(rows)
        np.testing.assert_array_equal(judged, expected)
    assert model.digest == find_shipped(reference, unpickle=True).digest
    learner = shipped_learner(model, task, threshold="560")
    assert "cannot be fitted again" in learner.traits.no_training
    with pytest.raises(InputError, match="takes the columns income, debts; 'data' has no debts"):
        model.fitted(own_task(frame.drop(columns="debts"), **shipped.DATA))


def test_what_only_mlflow_can_ask_is_asked_in_worker_processes(
    tmp_path: Path, frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execute, "worth_workers", lambda pieces: True)
    model = find_shipped(saved_python(Points(), tmp_path, frame), unpickle=True)
    tables = [
        cp.evaluate(
            frame,
            model,
            ["kdtree"],
            ["decision-threshold"],
            factuals=6,
            threshold=560,
            jobs=jobs,
            out=tmp_path / str(jobs),
            **shipped.DATA,
        ).table("people")
        for jobs in (1, 2)
    ]
    pd.testing.assert_frame_equal(*tables)
    told = tables[0][tables[0]["base_valid"]]
    assert (300 + told["told:income"] / 10 - 20 * told["told:debts"] >= 560).all() and len(told)


def test_what_only_mlflow_can_ask_gives_probabilities(
    tmp_path: Path, task: Task, frame: pd.DataFrame
) -> None:
    model = find_shipped(saved_python(Shares(), tmp_path, frame), unpickle=True)
    rows, told = task.rows("test"), task.readable(task.rows("test"))
    judged = model.model(task, None)
    np.testing.assert_array_equal(judged.favourable(rows), told["income"] >= 2300)
    assert not model.fitted(task).gives_scores
    with pytest.raises(InputError, match="gives values such as 'yes'; expected scores"):
        find_shipped(saved_python(Words(), tmp_path, frame), unpickle=True).fitted(task)


def test_a_regression_of_a_library_gives_scores(
    tmp_path: Path, task: Task, frame: pd.DataFrame
) -> None:
    line = LinearRegression().fit(frame[["debts", "income"]], frame["income"] - frame["debts"])
    mlflow.sklearn.save_model(
        line, tmp_path / "line", serialization_format="cloudpickle", **REQUIREMENTS
    )
    model = find_shipped(f"mlflow:{tmp_path / 'line'}", unpickle=True)
    assert model.columns == ("debts", "income") and model.fitted(task).gives_scores


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_boosters_of_mlflow_are_asked_themselves(
    library: str, tmp_path: Path, task: Task, frame: pd.DataFrame
) -> None:
    module = pytest.importorskip(library, reason=f"{library} is not installed (extra: {library})")
    rows, target = frame[["income", "debts"]].astype(float), frame["approved"] == "yes"
    told = task.readable(task.rows("test"))[["income", "debts"]].astype(float)
    if library == "xgboost":
        booster = module.train({"objective": "binary:logistic"}, module.DMatrix(rows, target), 5)
        mlflow.xgboost.save_model(booster, tmp_path / "kept", pip_requirements=["xgboost"])
        expected = booster.predict(module.DMatrix(told))
    else:
        settings = {"objective": "binary", "verbose": -1}
        booster = module.train(settings, module.Dataset(rows, target), 5)
        mlflow.lightgbm.save_model(booster, tmp_path / "kept", pip_requirements=["lightgbm"])
        expected = booster.predict(told)
    model = find_shipped(f"mlflow:{tmp_path / 'kept'}", unpickle=True)
    judged = model.model(task, None).probabilities(task.rows("test"))
    np.testing.assert_array_equal(judged, expected)


def test_a_model_that_needs_a_missing_library_names_it(tmp_path: Path, frame: pd.DataFrame) -> None:
    path = tmp_path / "points"
    saved_python(Points(), tmp_path, frame)
    description = (path / "MLmodel").read_text()
    changed = description.replace("mlflow.pyfunc.model", "no_such_flavour.module")
    assert changed != description
    (path / "MLmodel").write_text(changed)
    with pytest.raises(InputError, match="needs no_such_flavour, which is not installed"):
        find_shipped(f"mlflow:{path}", unpickle=True)


def test_an_alias_is_no_threshold() -> None:
    assert split_threshold("mlflow:models:/loans@champion") == (
        "mlflow:models:/loans@champion",
        None,
    )
    assert split_threshold("mlflow:models:/loans/3@0.6") == ("mlflow:models:/loans/3", "0.6")


def test_the_command_line_asks_before_it_loads_one(
    tmp_path: Path, frame: pd.DataFrame, today: Pipeline
) -> None:
    frame.to_csv(tmp_path / "loans.csv", index=False)
    mlflow.sklearn.save_model(
        today, tmp_path / "kept", serialization_format="cloudpickle", **REQUIREMENTS
    )
    base = ["audit", "--data", str(tmp_path / "loans.csv"), "--target", "approved"]
    base += ["--favourable", "yes", "--id-column", "applicant", "--methods", "kdtree"]
    base += ["--families", "bootstrap(replicates=2)", "--factuals", "10", "--jobs", "1"]
    base += ["--model", f"mlflow:{tmp_path / 'kept'}", "--out", str(tmp_path / "run")]
    done = call(*base)
    assert done.returncode == 2 and "pass --unpickle-and-run-its-code" in done.stderr
    assert not (tmp_path / "run").exists()
    done = call(*base, "--unpickle-and-run-its-code")
    assert done.returncode == 0, done.stderr
    people = cp.Results(tmp_path / "run").table("people")
    told = people[[f"told:{name}" for name in shipped.FEATURES]].set_axis(shipped.FEATURES, axis=1)
    valid = people["base_valid"].to_numpy(bool)
    assert valid.sum() >= 5 and (today.predict(told[valid]) == "yes").all()
    own = frame.set_index("applicant").loc[people["id"], shipped.FEATURES]
    assert (today.predict(own) == "no").all()
