"""A whole run as JSON: strict, complete, and with the numbers of the files."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from advised import applicants
from changeproof import InputError, Results, audit
from changeproof.cli import app
from changeproof.commands.console import quiet_output
from changeproof.report.document import records
from changeproof.report.verdict import verdict
from changeproof.tables.spreadsheets import read_table

# A model that talks while it is trained.
TALKING = """
from sklearn.linear_model import LogisticRegression

def fit(X, y, sample_weight, seed):
    print("training ...")
    model = LogisticRegression().fit(X, y, sample_weight)
    return lambda rows: model.predict_proba(rows)[:, 1]
"""
AUDIT = ["audit", "--data", "loans.csv", "--target", "approved", "--favourable", "yes"]
AUDIT += ["--id-column", "applicant", "--model", "python:talking:fit", "--factuals", "5"]
AUDIT += ["--methods", "kdtree,wachter", "--families", "bootstrap(replicates=2)", "--jobs", "1"]


def strict(text: str) -> dict[str, object]:
    def refused(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    return dict(json.loads(text, parse_constant=refused))


def test_values_are_what_json_can_hold() -> None:
    table = pd.DataFrame(
        {
            "number": [np.nan, np.inf, -1.5],
            "whole": np.array([1, 2, 3], dtype=np.int64),
            "valid": [True, False, True],
            "text": ["=1+1", None, ""],
            "day": pd.to_datetime(["2026-01-02", None, "2026-01-03"]),
        }
    )
    rows = records(table)
    assert strict(json.dumps({"rows": rows}, allow_nan=False))["rows"] == rows
    assert [row["number"] for row in rows] == [None, "inf", -1.5]
    assert [row["whole"] for row in rows] == [1, 2, 3]
    assert [row["valid"] for row in rows] == [True, False, True]
    assert [row["text"] for row in rows] == ["=1+1", None, ""]
    assert [row["day"] for row in rows] == ["2026-01-02 00:00:00", None, "2026-01-03 00:00:00"]
    assert records(table.iloc[:0]) == []


def test_a_run_is_whole(quick_run: Results) -> None:
    told = strict(quick_run.to_json())
    assert told == strict(json.dumps(quick_run.as_dict() | {"run": told["run"]}))
    assert told["complete"] is True and told["missing"] == []
    assert told["plan"]["base_seeds"] == [2026] and told["left_out"] == {}
    lines = verdict(quick_run, quick_run.tables()).lines
    assert told["verdict"]["lines"] == lines and str(quick_run) == "\n".join(lines)
    assert told["verdict"]["findings"][0]["dataset"] == "breast-cancer"
    assert Path(told["files"]["report"]) == quick_run.folder / "report" / "index.html"
    assert told["run"]["fingerprint"] and len(told["run"]["pieces"]) == len(
        quick_run.manifest.pieces
    )
    assert set(told["tables"]) == {path.stem for path in quick_run.folder.glob("tables/*.csv")}
    for name, path in told["files"]["tables"].items():
        assert told["tables"][name] == records(read_table(Path(path).read_bytes()))


def test_report_prints_the_same(quick_run: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Results] = []
    monkeypatch.setattr("changeproof.workflow.write_everything", written.append)
    done = CliRunner().invoke(app, ["report", str(quick_run.folder), "--json"])
    told, expected = strict(done.stdout), quick_run.as_dict()
    assert len(written) == 1
    assert told | {"run": None} == strict(json.dumps(expected | {"run": None}))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where there is a table, and a model that talks; audits draw no figures here."""
    applicants().to_csv(tmp_path / "loans.csv", index=False)
    (tmp_path / "talking.py").write_text(TALKING)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("changeproof.front_door.audit", partial(audit, publish=False))
    return tmp_path


def test_an_audit_prints_its_document_and_nothing_else(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    done = CliRunner().invoke(app, [*AUDIT, "--out", "audit", "--json"])
    assert done.exit_code == 0, done.stderr
    told = strict(done.stdout)
    assert "training ..." in done.stderr
    assert capfd.readouterr().out == ""
    assert told["plan"]["methods"] == ["kdtree"]
    assert told["left_out"]["wachter"].startswith("needs gradients of a model")
    assert [row["method"] for row in told["tables"]["people"]] == ["kdtree"] * 5
    assert all(row["advice"] for row in told["tables"]["people"])
    assert told["files"] == {"directory": "audit", "tables": {}, "report": None}
    assert not list(folder.glob("audit/tables/*"))


def test_other_processes_print_elsewhere_as_well(capfd: pytest.CaptureFixture[str]) -> None:
    with quiet_output(True):
        os.system("echo by another process")
    with quiet_output(False):
        os.system("echo as always")
    assert capfd.readouterr() == ("as always\n", "by another process\n")


@pytest.mark.usefixtures("folder")
def test_an_audit_that_fails_prints_nothing() -> None:
    done = CliRunner().invoke(app, [*AUDIT, "--range", "income=9:1", "--out", "wrong", "--json"])
    assert done.exit_code != 0 and done.stdout == ""
    assert isinstance(done.exception, InputError)
