"""Reading a run imports nothing that its plan names; going on with it needs a flag."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from changeproof import InputError, Plan, Results, compare_runs
from changeproof.cli import app
from changeproof.report.page.provenance import sources
from changeproof.runs import plan as plans
from changeproof.runs.manifest import PLAN
from command_line import call
from planned import write_plan

# Says so in a file whenever it is imported.
SLY = """
from pathlib import Path
import changeproof as cp
from sklearn.linear_model import LogisticRegression

with Path("imported").open("a") as file:
    file.write("x")

class Sly(cp.KDTree):
    name = "sly"
    summary = "a method from elsewhere"

    @classmethod
    def tuning_candidates(cls):
        return [cls(), cls()]

class Slow(cp.Bootstrap):
    name = "slow"
    summary = "a change from elsewhere"

def fit(X, y, sample_weight, seed):
    model = LogisticRegression().fit(X, y, sample_weight)
    return lambda rows: model.predict_proba(rows)[:, 1]
"""
PLANNED = """
datasets = ["breast-cancer"]
methods = ["kdtree", "sly:Sly"]
families = ["sly:Slow(replicates=2)"]
base_seeds = [2026]
factuals = 3
model = "python:sly:fit"
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of code that is not installed, made in the folder where the code is."""
    folder = tmp_path_factory.mktemp("sly")
    (folder / "sly.py").write_text(SLY)
    (folder / "plan.toml").write_text(PLANNED)
    ended = call("run", "--plan", "plan.toml", "--jobs", "1", "--out", "run", cwd=folder)
    assert ended.returncode == 0, ended.stderr
    return folder


@pytest.fixture
def untouched(home: Path) -> Path:
    """The same, before anything is imported."""
    (home / "imported").unlink(missing_ok=True)
    return home


@pytest.mark.parametrize("words", ["status", "status --timings", "report", "show"])
def test_reading_imports_nothing_of_the_plan(untouched: Path, words: str) -> None:
    ended = call(*words.split(), "run", cwd=untouched)
    assert ended.returncode == 0, ended.stderr
    assert not (untouched / "imported").exists()


def test_without_the_code_all_is_there(untouched: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(untouched)
    results = Results("run")
    assert results.inventory.complete
    assert results.tunings == [("breast-cancer", "sly:Sly")]
    assert len(results.survival("breast-cancer", 2026, "sly:Sly")) == 3
    assert results.families["sly:Slow(replicates=2)"].summary == "a change from elsewhere"
    said = {summary for _, summary, _ in sources(results)}
    assert {"a method from elsewhere", "a change from elsewhere"} <= said
    assert not (untouched / "imported").exists()


def test_going_on_says_what_it_would_import_and_needs_a_flag(untouched: Path) -> None:
    refused = call("run", "--out", "run", "--methods", "kdtree", cwd=untouched)
    assert refused.returncode == 2
    (line,) = refused.stderr.splitlines()
    assert "would import sly:Slow(replicates=2), python:sly:fit" in line
    assert "--import-its-code" in line
    assert not (untouched / "imported").exists()
    ended = call("run", "--out", "run", "--import-its-code", "--jobs", "1", cwd=untouched)
    assert ended.returncode == 0, ended.stderr
    assert (untouched / "imported").exists()


def test_a_run_that_does_not_say_enough_is_not_read(untouched: Path) -> None:
    (untouched / "bare").mkdir()
    shutil.copy(untouched / "run" / PLAN, untouched / "bare" / PLAN)
    for command in ("status", "report"):
        ended = call(command, "bare", cwd=untouched)
        assert ended.returncode == 2
        assert "bare has no manifest.json" in ended.stderr
        assert "go on with: changeproof run --out bare" in ended.stderr
    assert not (untouched / "imported").exists()


# For every field that can name code, a value that does.
NAMED: dict[str, dict[str, object]] = {
    "methods": {"methods": ["kdtree", "sly:Sly"]},
    "families": {"families": ["sly:Slow"]},
    "model": {"model": "python:sly:fit"},
    "refit": {"refit": "python:sly:fit"},
    "replacements": {"model": "sklearn:LogisticRegression", "replacements": ["python:sly:fit"]},
    "successors": {"successors": {"next": "python:sly:fit"}},
    "renew": {"renew": "sly:Sly", "successors": {"next": "python:sly:fit#0123"}},
}
# The fields that name no code, and no file but those of the run directory.
NO_CODE = {
    "datasets", "base_seeds", "factuals", "rows", "grid", "feasible", "imprecise", "reasons",
    "limit", "alternatives", "over_time", "by", "smallest_group", "counterfactuals", "threshold",
    "left_out",
}  # fmt: skip


def strangers(home: Path, values: dict[str, object]) -> Path:
    """A run directory whose record somebody has edited, beside the code that it names."""
    folder = home / "stranger"
    folder.mkdir(exist_ok=True)
    small = {"datasets": ["breast-cancer"], "methods": ["kdtree"], "families": ["bootstrap"]}
    write_plan(folder, Plan.checked({**small, "base_seeds": [2026], "factuals": 2}))
    content = json.loads((folder / PLAN).read_text())
    content["plan"] |= values
    (folder / PLAN).write_text(json.dumps(content))
    return folder


def test_every_field_of_a_plan_says_what_it_would_import() -> None:
    assert set(plans.FROM_ELSEWHERE) == set(NAMED) == set(Plan.model_fields) - NO_CODE
    found = {
        field: plans.from_elsewhere(Plan.checked(values, record=True))[field]
        for field, values in NAMED.items()
    }
    assert all(found.values()), found


@pytest.mark.parametrize("field", NAMED)
def test_no_field_of_a_strangers_plan_imports_anything(untouched: Path, field: str) -> None:
    strangers(untouched, NAMED[field])
    for command in (["run", "--jobs", "1", "--out"], ["status"], ["report"], ["explain", "--from"]):
        more = ["--row", "0"] if command[0] == "explain" else []
        ended = call(*command, "stranger", *more, cwd=untouched)
        assert "Traceback" not in ended.stderr
        assert not (untouched / "imported").exists(), command
        if command[0] == "run":
            assert ended.returncode == 2 and "--import-its-code" in ended.stderr


@pytest.mark.parametrize("field", NAMED)
def test_a_field_whose_rule_is_forgotten_imports_nothing_either(
    untouched: Path, field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    strangers(untouched, NAMED[field])
    monkeypatch.chdir(untouched)
    rules = dict.fromkeys(plans.FROM_ELSEWHERE, lambda reference: False)
    monkeypatch.setattr(plans, "FROM_ELSEWHERE", rules)
    # A model that is trained here has no refits.
    reason = "is for a fitted model" if field == "refit" else "is not imported: only"
    for command in (["run", "--jobs", "1", "--out", "stranger"], ["status", "stranger"]):
        ended = CliRunner().invoke(app, command)
        assert not (untouched / "imported").exists(), command
        if command[0] == "run":
            assert reason in str(ended.exception)


@pytest.mark.parametrize(
    "values",
    [
        {"datasets": ["mine.toml"]},
        {"datasets": ["/etc/mine.task.parquet"]},
        {"datasets": ["data/../../mine.task.parquet"]},
        {"counterfactuals": {"letters": "mine.csv"}},
        {"counterfactuals": {"letters": "data/../mine.counterfactuals.parquet"}},
    ],
)
def test_a_record_names_no_files_but_its_own(tmp_path: Path, values: dict[str, object]) -> None:
    folder = strangers(tmp_path, values)
    for command in (["run", "--out"], ["status"], ["report"]):
        ended = CliRunner().invoke(app, [*command, str(folder)])
        assert "is not a file of its run directory" in str(ended.exception)
    with pytest.raises(InputError, match="is not a file of its run directory"):
        compare_runs(folder, folder)


@pytest.mark.parametrize(
    "reference",
    [
        "pickle:m.pkl",
        "onnx:m.onnx",
        "scores:s.csv",
        "mlflow:models:/m/1",
        "xgboost:m.json",
        "function:sly:fit",
        "http://127.0.0.1:9/score",
    ],
)
def test_no_file_from_elsewhere_is_opened_as_a_model(untouched: Path, reference: str) -> None:
    for values in ({"model": reference}, {"successors": {"next": reference}}):
        strangers(untouched, values)
        ended = call("run", "--jobs", "1", "--out", "stranger", cwd=untouched)
        assert ended.returncode == 2 and f"would import {reference}" in ended.stderr
