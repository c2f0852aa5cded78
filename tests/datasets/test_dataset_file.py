from __future__ import annotations

import os
from pathlib import Path

import pytest

from changeproof import InputError, find_task, load_dataset, load_task, own_task
from changeproof.datasets.find import task_name
from loans import loans

GOOD = 'data = "table.csv"\ntarget = "approved"\nfavourable = "yes"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    loans().to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "loans.toml").write_text(GOOD + 'id = "applicant"\n')
    return tmp_path


def test_a_dataset_file_says_what_own_task_is_told(folder: Path) -> None:
    (folder / "all.toml").write_text(
        GOOD
        + 'id = "applicant"\nname = "mine"\ncategorical = ["debts"]\ndrop = ["owner"]\n'
        + 'missing = "impute"\n'
    )
    task = own_task(
        folder / "table.csv",
        target="approved",
        favourable="yes",
        id_column="applicant",
        name="mine",
        categorical=["debts"],
        drop=["owner"],
        missing="impute",
    )
    assert load_dataset(folder / "all.toml").fingerprint == task.fingerprint
    assert load_dataset(str(folder / "loans.toml")).name == "loans"


def test_the_split_column_can_be_named(folder: Path) -> None:
    frame = loans().assign(part=["train", "test", "update", "validation"] * 30)
    frame.to_csv(folder / "table.csv", index=False)
    (folder / "loans.toml").write_text(GOOD + 'id = "applicant"\nsplit = "part"\n')
    assert load_dataset(folder / "loans.toml").row_ids("test").tolist() == list(range(1, 120, 4))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (GOOD + 'traget = "x"\n', "unknown key 'traget'; expected one of: data, target, favour"),
        ('data = "table.csv"\nfavourable = 1\n', "the key 'target' is missing"),
        ("data = \n", "is not valid TOML"),
        (GOOD + 'drop = "owner"\n', "drop: input should be a valid list; got 'owner'"),
        (GOOD + 'missing = "guess"\n', "missing: input should be 'refuse' or 'impute'"),
        (GOOD + 'name = "heloc"\n', "'heloc' is an embedded dataset"),
        (GOOD.replace("table.csv", "other.csv"), "loans.toml: cannot read .*other.csv: there is"),
        (GOOD.replace('"approved"', '"x"'), "loans.toml: unknown column 'x'"),
    ],
)
def test_bad_dataset_files_are_named(folder: Path, content: str, message: str) -> None:
    (folder / "loans.toml").write_text(content)
    with pytest.raises(InputError, match=message):
        load_dataset(folder / "loans.toml")


def test_references_are_names_or_dataset_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_task("diabetes") is load_task("diabetes")
    assert task_name("diabetes") == "diabetes"
    assert find_task(str(folder / "loans.toml")).name == task_name(str(folder / "loans.toml"))
    monkeypatch.chdir(folder)
    assert task_name("loans.toml") == "loans"
    with pytest.raises(InputError, match=r"unknown dataset 'loans'.*heloc, or the path of a data"):
        find_task("loans")
    with pytest.raises(InputError, match=r"cannot read dataset file .*x\.toml: No such file"):
        find_task("x.toml")


def test_a_task_is_made_again_only_when_a_file_has_changed(folder: Path) -> None:
    reference, table = str(folder / "loans.toml"), folder / "table.csv"
    task = find_task(reference)
    assert find_task(reference) is task
    loans(100).to_csv(table, index=False)
    shorter = find_task(reference)
    assert len(shorter.frame) == 100
    same_size = table.read_text().replace("car", "bus")
    before = table.stat()
    table.write_text(same_size)
    os.utime(table, ns=(before.st_atime_ns, before.st_mtime_ns + 1_000_000))
    assert "bus" in find_task(reference).features[2].categories
    (folder / "loans.toml").write_text(GOOD + 'id = "applicant"\ndrop = ["owner"]\n')
    assert "owner" not in find_task(reference).feature_names
    table.unlink()
    with pytest.raises(InputError, match="there is no such file"):
        find_task(reference)
