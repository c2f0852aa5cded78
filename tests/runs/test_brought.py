"""Reading a run imports nothing that its plan names; going on with it needs a flag."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from changeproof import InputError, Results
from changeproof.report.page.provenance import sources
from changeproof.runs.directory import PLAN
from command_line import call

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
    assert results.run.families["sly:Slow(replicates=2)"].summary == "a change from elsewhere"
    said = {summary for _, summary, _ in sources(results)}
    assert {"a method from elsewhere", "a change from elsewhere"} <= said
    with pytest.raises(InputError, match="'sly:Sly' was not imported"):
        results.run.methods["sly:Sly"]._search(None)  # type: ignore[arg-type]
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
    content = json.loads((untouched / "run" / PLAN).read_text())
    del content["brought"]
    (untouched / "bare").mkdir()
    (untouched / "bare" / PLAN).write_text(json.dumps(content))
    for command in ("status", "report"):
        ended = call(command, "bare", cwd=untouched)
        assert ended.returncode == 2
        assert "would import sly:Sly, sly:Slow(replicates=2), python:sly:fit" in ended.stderr
    assert not (untouched / "imported").exists()
    trusted = call("status", "bare", "--import-its-code", cwd=untouched)
    assert trusted.returncode == 0 and (untouched / "imported").exists()
