"""Time on the command line: audits and explanations of a table that says when."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from changeproof import own_task
from changeproof.cli import app
from changeproof.commands.auditing import folder_of
from changeproof.runs.manifest import read_plan
from command_line import call
from lasting import CHAIN, LATER, MEANING, applications

TABLE = ["--target", "approved", "--favourable", "yes", "--id-column", "applicant"]
FEW = ["--families", f"{LATER},{CHAIN}", "--jobs", "1"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "applications.csv"
    applications().to_csv(path, index=False)
    path.with_suffix(".toml").write_text(
        'data = "applications.csv"\ntarget = "approved"\nfavourable = "yes"\n'
        'id = "applicant"\ntime = "applied"\n'
    )
    return path


def poorest() -> str:
    return str(applications().sort_values("income")["applicant"].iloc[0])


def test_a_person_is_told_how_long_it_lasted(data: Path, tmp_path: Path) -> None:
    person = poorest()
    words = ["explain", "--data", str(data), *TABLE, "--time", "applied", "--row", person]
    words += ["--method", "kdtree", *FEW, "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    told = CliRunner().invoke(app, [*words, "--json"])
    answer = json.loads(told.stdout)
    assert [each["family"] for each in answer["lasting"]] == [LATER, CHAIN]
    for each, futures, updates in zip(answer["lasting"], (2, 3), (3, 4), strict=True):
        assert (each["futures"], each["updates"]) == (futures, updates)
        assert len(each["held_through"]) == updates
        assert each["held_through"] == sorted(each["held_through"], reverse=True)
        assert f"{each['family']}: {each['sentence']}" in done.stdout
        assert f"{each['held_through'][-1]} of {futures} simulated futures" in each["sentence"]
    assert answer["overall"]["models"] == 18


def test_without_sequences_nothing_is_said_of_it(data: Path, tmp_path: Path) -> None:
    person = poorest()
    words = ["explain", "--data", str(data), *TABLE, "--row", person, "--method", "kdtree"]
    words += ["--drop", "applied", "--families", "bootstrap(replicates=2)", "--jobs", "1"]
    told = CliRunner().invoke(app, [*words, "--json", "--out", str(tmp_path / "out")])
    assert told.exit_code == 0, told.output
    assert "lasting" not in json.loads(told.stdout)


def test_an_audit_of_a_dataset_file_over_time(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "audit"
    words = ["--data", data.with_suffix(".toml"), "--over-time", "--methods", "kdtree", *FEW]
    done = call("audit", *words, "--factuals", "4", "--out", out)
    assert done.returncode == 0, done.stderr
    assert read_plan(out).over_time
    life = pd.read_csv(out / "tables" / "life_summary.csv")
    assert life["family"].tolist() == [LATER, CHAIN]
    assert (out / "report" / "figures" / "life.pdf").exists()
    again = call("show", out)
    assert "How long advice lasts" in again.stdout


def test_times_make_it_another_run() -> None:
    plain = own_task(applications(), name="loans", **MEANING)
    assert folder_of(plain) != folder_of(plain.over_time())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--time", "when", *TABLE], "unknown column 'when'"),
        (["--time", "purpose", *TABLE], "column 'purpose' holds no times"),
        (["--time", "applied", "--split", "owner", *TABLE], "not both; leave out one"),
        (["--over-time", "--drop", "applied", *TABLE], "'applications' has no times; name a col"),
        (["--families", "later-data", "--drop", "applied", *TABLE], "applications has no times"),
    ],
)
def test_mistakes_are_told_in_one_line(
    words: list[str], message: str, data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = call("audit", "--data", data, *words, "--out", out)
    assert done.returncode != 0
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not out.exists()


def test_a_dataset_file_says_itself_when(data: Path, tmp_path: Path) -> None:
    words = ["--data", data.with_suffix(".toml"), "--time", "applied", "--out", tmp_path / "out"]
    done = call("audit", *words)
    assert done.returncode != 0 and "says that itself; leave out --time" in done.stderr
    done = call("run", "--datasets", "diabetes", "--over-time", "--out", tmp_path / "run")
    assert done.returncode != 0 and "task 'diabetes' has no times" in done.stderr
