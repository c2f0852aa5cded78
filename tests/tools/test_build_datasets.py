"""The builder of the embedded datasets, on small packages made here."""

from __future__ import annotations

import io
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return import_module("build_datasets")


def loans(first: int, rows: int) -> pd.DataFrame:
    """Return loans from the last one to the first, one an hour."""
    ids = np.arange(first, first + rows)[::-1]
    times = pd.Timestamp("2018-01-01") + pd.to_timedelta(ids, unit="h")
    return pd.DataFrame(
        {
            "id": ids,
            "car_value": ids + 10_000.0,
            "salary_range": "0 - 20K €",
            "debt_to_income_ratio": 0.5,
            "loan_length": 12.0,
            "repaid_loan_on_prev_car": ids % 3 == 0,
            "size_of_downpayment": "10%",
            "driver_tenure": 1.5,
            "timestamp": times.astype(str),
            "y_pred_proba": 0.5,
            "y_pred": 1,
        }
    )


@pytest.fixture
def packages(tool: Any, tmp_path: Path) -> Path:
    parts = [
        loans(0, 700).assign(repaid=0.0),
        loans(700, 700),
        pd.DataFrame({"id": range(700, 1400), "repaid": 1}),
    ]
    folder = tmp_path / "packages"
    folder.mkdir()
    with zipfile.ZipFile(folder / "nannyml-0.13.1-py3-none-any.whl", "w") as wheel:
        for member, part in zip(tool.CAR_LOANS, parts, strict=True):
            wheel.writestr(member, part.to_csv(index=False))
    return folder


def test_a_dataset_is_sampled_written_and_recorded(
    tool: Any, packages: Path, tmp_path: Path
) -> None:
    source = next(source for source in tool.SOURCES if source.name == "car-loans")
    record = tool.build(source, packages, tmp_path)
    content = (tmp_path / "car-loans.parquet").read_bytes()
    rows = pd.read_parquet(io.BytesIO(content))
    assert (record["rows"], record["original_rows"], record["features"]) == (1000, 1400, 7)
    assert record["dataset_file"] == "car-loans.toml"
    assert rows["timestamp"].is_monotonic_increasing
    assert "y_pred" not in rows
    assert rows.set_index("id")["repaid"].eq(rows["id"].ge(700).to_numpy()).all()
    assert tool.build(source, packages, tmp_path) == record
    assert (tmp_path / "car-loans.parquet").read_bytes() == content


def test_unknown_codes_are_refused(tool: Any) -> None:
    line = "A11 6 A34 A43 1169 A65 A75 4 A93 A101 4 A121 67 A143 A152 2 A173 1 A192 A201 1\n"
    rows, original = tool.german_credit(lambda member: line.encode())
    assert (rows.loc[0, "savings_account_and_bonds"], original) == (
        "unknown or no savings account", 1,
    )  # fmt: skip
    with pytest.raises(KeyError, match="A99"):
        tool.german_credit(lambda member: line.replace("A93", "A99").encode())
