"""What the page says to repeat a run can be followed from anywhere."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from changeproof import Plan, Results, evaluate
from changeproof.cli import app
from changeproof.report.page.provenance import provenance
from loans import loans


def test_the_plan_of_own_data_runs_in_another_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = evaluate(
        loans(200),
        "sklearn:GaussianNB",
        ["kdtree"],
        ["bootstrap(replicates=2)"],
        factuals=5,
        target="approved",
        favourable="yes",
        id_column="applicant",
        out=tmp_path / "run",
        jobs=1,
        publish=False,
    )
    told = provenance(results)
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "plan.toml").write_text(told["plan"], encoding="utf-8")
    words = told["command"].split()
    assert words[0] == "changeproof"
    monkeypatch.chdir(other)
    # Nobody looks at the figures of its report.
    monkeypatch.setattr("changeproof.report.print.write.print_files", lambda tables: {})
    done = CliRunner().invoke(app, [*words[1:], "--out", "again", "--jobs", "1"])
    assert done.exit_code == 0, done.exception
    again = Results(other / "again").table()
    pd.testing.assert_frame_equal(again, results.table(), check_dtype=False)


def test_built_in_data_are_named_as_they_are(quick_run: Results) -> None:
    found = Plan.checked(tomllib.loads(provenance(quick_run)["plan"]))
    assert found.datasets == quick_run.plan.datasets
