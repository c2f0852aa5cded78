"""An audit in MLflow, in a folder and in a database; no server."""

from __future__ import annotations

import math
import os
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import changeproof as cp
import shipped
from changeproof import InputError, Results
from changeproof.models.find import find_shipped
from changeproof.tracking import audit_metrics, safe_names

os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed (extra: mlflow)")
pytest.importorskip("sqlalchemy", reason="sqlalchemy is not installed (extra: mlflow)")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import mlflow.sklearn
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def audited(advised_run: Results, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """A run of one's own: logging writes its page and its tables."""
    folder = tmp_path_factory.mktemp("tracking") / "audit"
    shutil.copytree(advised_run.folder, folder)
    return Results(folder)


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Keep runs and registered models in a database or, where a test asks for it, in a folder."""
    file = getattr(request, "param", "sqlite") == "file"
    address = (tmp_path / "mlruns").as_uri() if file else f"sqlite:///{tmp_path / 'mlflow.db'}"
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(address)
    if not file:
        mlflow.create_experiment("loans", artifact_location=(tmp_path / "kept").as_uri())
    mlflow.set_experiment("Default" if file else "loans")
    yield tmp_path
    mlflow.set_tracking_uri(before)


def logged(run_id: str) -> tuple[dict[str, float], dict[str, str], Path]:
    """Return metrics, tags and artifacts of a run, as somebody else would read them."""
    data = mlflow.MlflowClient().get_run(run_id).data
    folder = mlflow.artifacts.download_artifacts(run_id=run_id, artifact_path="changeproof")
    return data.metrics, data.tags, Path(folder)


@pytest.mark.parametrize("store", ["file", "sqlite"], indirect=True)
def test_an_audit_is_logged_to_the_active_run(store: Path, audited: Results) -> None:
    rules = [{"metric": "coverage", "method": "kdtree", "at_least": 50, "decided_by": "value"}]
    with mlflow.start_run() as run:
        mlflow.log_param("mine", 1)
        assert cp.log_audit(audited, rules=rules) == run.info.run_id
        assert mlflow.active_run() is not None
    metrics, tags, folder = logged(run.info.run_id)
    tables, found = audited.tables(), audited.verdict().found
    for row in tables["full_results"].to_dict("records"):
        for name in ("coverage", "end_to_end_robustness", "distance"):
            assert metrics[f"{row['method']}/{name}"] == row[f"{name}_mean"]
    finding = found.findings[0]
    assert metrics["people_asked"] == finding.asked == 12
    assert metrics["people_with_lasting_advice"] == finding.above
    assert metrics["balanced_accuracy"] == tables["dataset_summary"]["balanced_accuracy_mean"][0]
    assert tags["changeproof.verdict"] == finding.headline
    assert tags["changeproof.model"] == "sklearn:LogisticRegression"
    assert tags["changeproof.gate"] == "open" and "changeproof.model_uri" not in tags
    page = (folder / "report" / "index.html").read_bytes()
    assert page == (audited.folder / "report" / "index.html").read_bytes()
    assert (folder / "verdict.txt").read_text(encoding="utf-8") == f"{audited}\n"
    assert '"passed": true' in (folder / "gate.json").read_text(encoding="utf-8")
    read = pd.read_csv(folder / "tables" / "full_results.csv")
    pd.testing.assert_frame_equal(read, pd.read_csv(audited.folder / "tables/full_results.csv"))
    assert (folder / "plan.json").is_file()


def test_without_an_active_run_there_is_a_new_one(store: Path, audited: Results) -> None:
    run_id = cp.log_audit(audited.folder)
    assert mlflow.active_run() is None
    info = mlflow.MlflowClient().get_run(run_id).info
    assert info.status == "FINISHED" and info.run_name == "changeproof data"


def test_the_model_that_was_judged_is_linked(
    store: Path, frame: pd.DataFrame, tmp_path: Path
) -> None:
    with mlflow.start_run() as trained:
        kept = mlflow.sklearn.log_model(
            shipped.current(frame),
            name="model",
            registered_model_name="loans",
            serialization_format="cloudpickle",
            pip_requirements=["scikit-learn"],
        )
    few: dict[str, Any] = {"factuals": 4, "jobs": 1, **shipped.DATA}
    results = cp.audit(
        frame,
        tmp_path / "audit",
        model=find_shipped("mlflow:models:/loans/1", unpickle=True),
        methods=["kdtree"],
        families=["bootstrap(replicates=2)"],
        **few,
    )
    run_id = cp.log_audit(results)
    metrics, tags, _ = logged(run_id)
    assert tags["changeproof.model_uri"] == "models:/loans/1"
    assert tags["changeproof.model_run_id"] == trained.info.run_id
    on_model = {each.key: each.value for each in mlflow.get_logged_model(kept.model_id).metrics}
    assert on_model["kdtree/distance"] == metrics["kdtree/distance"]
    # From another store, where nobody knows the model, its address is all there is.
    with mlflow.start_run() as run:
        cp.log_audit(results, model="models:/nothing/7")
    tags = logged(run.info.run_id)[1]
    assert tags["changeproof.model_uri"] == "models:/nothing/7"
    assert "changeproof.model_run_id" not in tags


def test_names_are_ones_that_mlflow_takes(store: Path, audited: Results) -> None:
    tables = {name: table.copy() for name, table in audited.tables().items()}
    evil = ["../x", "..", "<b>(a=1, b='ü')</b>", "a/b", "a(b", "x" * 300]
    frame = tables["full_results"].head(6).assign(method=evil)
    frame.loc[0, "distance_mean"] = math.nan
    metrics = audit_metrics(audited.verdict().found, tables | {"full_results": frame})
    assert len([name for name in metrics if name.endswith("/coverage")]) == 6
    assert len([name for name in metrics if name.endswith("/distance")]) == 5
    with mlflow.start_run() as run:
        mlflow.log_metrics(metrics)
    assert mlflow.MlflowClient().get_run(run.info.run_id).data.metrics == metrics
    assert safe_names(["a/b", "a(b", "a_b"]) == {"a/b": "a_b", "a(b": "a_b 2", "a_b": "a_b 3"}


def test_unfinished_runs_are_refused(audited: Results, tmp_path: Path) -> None:
    shutil.copytree(audited.folder, tmp_path / "audit")
    next((tmp_path / "audit" / "pieces").rglob("survival-*")).unlink()
    with pytest.raises(InputError, match="is not finished; only whole runs are logged"):
        cp.log_audit(tmp_path / "audit")
