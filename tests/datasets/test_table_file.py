from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from changeproof import InputError, own_task
from changeproof.datasets.table_file import read_table
from loans import loans


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("a.csv", None, "a.csv: there is no such file"),
        ("a.xlsx", b"x", "expected a file that ends in .csv or .parquet"),
        ("a.csv", b"", "the file is empty"),
        ("a.csv", b"a,b\n", r"got a table of shape \(0, 2\)"),
        ("a.csv", b"a;b\n1;2\n", "seem to be separated by semicolons; expected commas"),
        ("a.csv", b"a\tb\n1\t2\n", "seem to be separated by tabs"),
        ("a.csv", b"a,b,a\n1,2,3\n", "column 'a' appears more than once"),
        ("a.csv", b",b\n1,2\n", r"column 1 has no name \(was an index"),
        ("a.csv", b"a,b\n1,2,3\n4,5,6\n", "more fields than the header, which has 2"),
        ("a.csv", b"a,b\n1,2\n3,4,5\n", "as csv: .*Expected 2 fields in line 3, saw 3"),
        ("a.csv", b"a,b\n1,\xff\xfe\n", "it is not in UTF-8 but perhaps in latin-1"),
        ("a.parquet", b"a,b\n1,2\n", "cannot read .* as parquet: "),
    ],
)
def test_files_that_cannot_be_read(
    tmp_path: Path, file: str, content: bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / file).write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_table(tmp_path / file)


def test_a_folder_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "a.csv").mkdir()
    with pytest.raises(InputError, match="there is no such file"):
        read_table(tmp_path / "a.csv")
    with pytest.raises(InputError, match="a DataFrame or the path of a file; got 5"):
        read_table(5)


def test_a_mark_at_the_start_and_blanks_are_not_part_of_names(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("\ufeffa , b\n1, x\n007, y\n", encoding="utf-8")
    table = read_table(tmp_path / "a.csv", text_columns=["a"])
    assert table.to_dict("list") == {"a": ["1", "007"], "b": ["x", "y"]}


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["12", "985", "0"], [12, 985, 0]),
        (["00985", "985", "12"], ["00985", "985", "12"]),
        (["12.0", "985.0"], [12, 985]),
        (["A12", "985"], ["A12", "985"]),
        (["98500000000000000000001", "7"], [98500000000000000000001, 7]),
    ],
)
def test_ids_keep_their_leading_zeros(
    tmp_path: Path, texts: list[str], expected: list[object]
) -> None:
    (tmp_path / "a.csv").write_text("a, b\n" + "".join(f" {text} ,1\n" for text in texts))
    found = read_table(tmp_path / "a.csv", id_column="a")["a"].tolist()
    assert [each.strip() if isinstance(each, str) else each for each in found] == expected


def test_a_frame_is_copied() -> None:
    frame = loans()
    table = read_table(frame)
    table["income"] = 0
    assert frame.equals(loans())


def test_columns_that_nobody_needs_are_not_read_from_parquet(tmp_path: Path) -> None:
    frame = loans().assign(remark="long text").set_index("applicant")
    path = tmp_path / "data.parquet"
    frame.to_parquet(path)
    table = read_table(path, unread=["remark", "applicant", "elsewhere"])
    assert table["remark"].isna().all()
    pd.testing.assert_frame_equal(table.drop(columns="remark"), frame.drop(columns="remark"))
    assert table.columns.tolist() == frame.columns.tolist()
    described = {"target": "approved", "favourable": "yes", "id_column": "applicant"}
    read, given = (own_task(what, drop=["remark"], **described) for what in (path, frame))
    assert read.fingerprint == given.fingerprint
    grouped = own_task(path, drop=["remark"], beside=["remark"], **described)
    assert set(grouped.beside["remark"]) == {"long text"}
    with pytest.raises(InputError, match="remarks"):
        own_task(path, drop=["remarks"], **described)


def test_half_precision_is_widened(tmp_path: Path) -> None:
    table = pd.DataFrame({"id": np.arange(3, dtype=np.float16), "a": [0.5, 1.5, 2.5]})
    assert read_table(table).dtypes.tolist() == [np.float64, np.float64]
    table.to_parquet(tmp_path / "half.parquet")
    assert read_table(tmp_path / "half.parquet")["id"].tolist() == [0.0, 1.0, 2.0]
    people = pd.DataFrame({"id": np.arange(200, dtype=np.float16), "a": np.arange(200.0)})
    people["approved"] = np.where(people["a"] % 7 < 3, "yes", "no")
    task = own_task(people, target="approved", favourable="yes", id_column="id")
    assert task.ids.tolist() == list(range(200))
