from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from changeproof.cli import app
from changeproof.paper import diagnosis
from changeproof.paper.diagnosis import diagnose_apds_radius
from command_line import call


def test_a_radius_from_independent_networks_leaves_nothing() -> None:
    """The paper's appendix: radii of 0.621 to 0.706, and no counterfactual."""
    table = diagnose_apds_radius(["breast-cancer"], [2026], factuals=2)
    row = table.iloc[0]
    assert 0.55 < row["independent_radius"] < 0.8
    assert row["calibrated_radius"] < 0.01
    assert (row["requested"], row["found"]) == (2, 0)


def test_the_command_prints_the_table() -> None:
    options = ["diagnose", "apds-radius", "--datasets", "diabetes", "--base-seeds", "2027"]
    done = CliRunner().invoke(app, [*options, "--factuals", "1"])
    assert done.exit_code == 0, done.output
    assert "0.00" in done.stdout
    assert "diabetes" in done.stdout


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("file/x.csv", "cannot write file/x.csv: {}/file is not a directory"),
        ("file/missing/x.csv", "cannot write file/missing/x.csv: {}/file is not a directory"),
        ("folder", "cannot write folder: it is a directory"),
    ],
)
def test_a_table_that_cannot_be_written_is_refused_before_the_work(
    tmp_path: Path, out: str, said: str
) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    done = call("diagnose", "apds-radius", "--out", out, cwd=tmp_path)
    assert done.returncode == 2
    # Nothing has been computed: there is one line, and no sign of progress.
    assert done.stderr.splitlines() == [f"changeproof: {said.format(tmp_path)}"]
    assert done.stdout == "" and (tmp_path / "file").read_text() == "mine"


def test_a_folder_that_is_missing_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def found(*given: Any) -> pd.DataFrame:
        return pd.DataFrame({"dataset": ["diabetes"], "calibrated_radius": [0.5]})

    monkeypatch.setattr(diagnosis, "diagnose_apds_radius", found)
    out = tmp_path / "missing" / "x.csv"
    done = CliRunner().invoke(app, ["diagnose", "apds-radius", "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert out.read_text() == "dataset,calibrated_radius\ndiabetes,0.5\n"
