"""Files in other encodings than UTF-8, and texts that are read as missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from changeproof import audit
from changeproof.datasets.custom import load_dataset, own_task
from changeproof.datasets.table_file import read_table
from changeproof.datasets.task import Task
from changeproof.errors import InputError
from command_line import call
from loans import loans

NAMED = {"target": "approved", "favourable": "yes", "drop": ["applicant"]}


def written(folder: Path, encoding: str, **columns: Any) -> Path:
    path = folder / "loans.csv"
    path.write_bytes(loans().assign(**columns).to_csv(index=False).encode(encoding))
    return path


@pytest.mark.parametrize(
    ("encoding", "advised"),
    [("latin-1", "latin-1"), ("utf-16", "utf-16"), ("utf-16-le", "utf-16-le")],
)
def test_another_encoding_is_named_and_read(tmp_path: Path, encoding: str, advised: str) -> None:
    path = written(tmp_path, encoding, city=["Zürich", "Genève"] * 60)
    with pytest.raises(InputError) as raised:
        own_task(path, **NAMED)
    assert str(raised.value).endswith(f"save it as UTF-8, or ask for `encoding='{advised}'`")
    task = own_task(path, encoding=encoding, **NAMED)
    assert task.features[-1].categories == ("Genève", "Zürich")


def test_where_no_encoding_can_be_given_none_is_advised(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"perhaps in latin-1; save it as UTF-8$"):
        read_table(written(tmp_path, "latin-1", city="Zürich"))


def test_a_wrong_or_unknown_encoding_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "latin-1", city="Zürich")
    with pytest.raises(InputError, match=r"it is not in the encoding 'ascii'$"):
        own_task(path, encoding="ascii", **NAMED)
    with pytest.raises(InputError, match="unknown encoding 'martian'; expected a name such as"):
        own_task(path, encoding="martian", **NAMED)


def test_counterfactuals_are_in_the_encoding_of_the_data(tmp_path: Path) -> None:
    path = written(tmp_path, "latin-1", city=["Zürich", "Genève"] * 60)
    told = loans().assign(city="Genève", id=range(120)).iloc[:4]
    told.drop(columns=["applicant", "approved"]).to_csv(
        tmp_path / "told.csv", index=False, encoding="latin-1"
    )
    asked: dict[str, Any] = {
        "model": "sklearn:GaussianNB", "methods": [], "families": ["bootstrap(replicates=1)"],
        "counterfactuals": tmp_path / "told.csv", "publish": False, "jobs": 1,
    }  # fmt: skip
    results = audit(path, tmp_path / "out", encoding="latin-1", **NAMED, **asked)
    (kept,) = (results.folder / "data").glob("*.counterfactuals.parquet")
    assert len(pd.read_parquet(kept)) == 4
    with pytest.raises(InputError, match=r"told.csv: .* save it as UTF-8, or ask for `encoding="):
        audit(written(tmp_path, "utf-8"), tmp_path / "other", **NAMED, **asked)


def test_dataset_files_and_the_command_line_take_an_encoding(tmp_path: Path) -> None:
    path = written(tmp_path, "latin-1", city=["Zürich", "Genève"] * 60)
    described = tmp_path / "loans.toml"
    lines = 'data = "loans.csv"\ntarget = "approved"\nfavourable = "yes"\ndrop = ["applicant"]\n'
    described.write_text(lines)
    with pytest.raises(InputError, match=r'or ask for encoding = "latin-1"$'):
        load_dataset(described)
    described.write_text(lines + 'encoding = "latin-1"\n')
    assert load_dataset(described).features[-1].categories == ("Genève", "Zürich")
    options = ("--data", path, "--target", "approved", "--favourable", "yes", "--drop", "applicant")
    for command, *more in (("audit", "--out", tmp_path / "out"), ("explain", "--row", "-1")):
        refused = call(command, *options, *more, cwd=tmp_path)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
        assert refused.stderr.endswith("or ask for --encoding latin-1\n")
        other = call(command, *options, *more, "--encoding", "martian", cwd=tmp_path)
        assert "unknown encoding 'martian'" in other.stderr


def with_none(folder: Path, **settings: Any) -> Task:
    housing = ["None", "rent", "own"] * 40
    return own_task(written(folder, "utf-8", housing=housing), **NAMED, **settings)


def test_a_category_called_none_is_read_as_missing_and_said_to_be(tmp_path: Path) -> None:
    with pytest.raises(InputError) as raised:
        with_none(tmp_path)
    said = "read as missing: 'None' in 40 rows; a category needs another name"
    assert f"column 'housing' has 40 of 120 values missing (first at row 0; {said})" in str(
        raised.value
    )
    (note,) = with_none(tmp_path, missing="impute").notes
    assert note == f"column 'housing' is filled in where values are missing ({said})"


def test_an_outcome_called_none_is_said_to_be_missing(tmp_path: Path) -> None:
    path = written(tmp_path, "utf-8", approved=["None", "yes"] * 60)
    with pytest.raises(
        InputError, match=r"60 missing values \(first at row 0; read as missing: 'N"
    ):
        own_task(path, **NAMED)


def test_empty_cells_are_missing_without_further_words(tmp_path: Path) -> None:
    housing = ["", "rent", "own"] * 40
    path = written(tmp_path, "utf-8", housing=housing)
    with pytest.raises(InputError, match=r"40 of 120 values missing \(first at row 0\); fill them"):
        own_task(path, **NAMED)
    assert own_task(path, missing="impute", **NAMED).notes == ()


def test_a_column_may_be_called_na(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, "utf-8", NA=range(120)))
    pd.testing.assert_series_equal(table["NA"], pd.Series(range(120), name="NA"))
