from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import tomli_w

from changeproof import InputError, find_task, load_dataset, load_task, own_task
from changeproof.datasets.kept import task_to_bytes
from changeproof.errors import as_keys, setting
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
        (GOOD + 'missing = "guess"\n', "missing: input should be 'refuse', 'impute', "),
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
    monkeypatch.chdir(folder)
    task = find_task("loans.toml")
    assert task.name == "loans"
    (folder / "kept.task.parquet").write_bytes(task_to_bytes(task))
    assert find_task("kept.task.parquet").fingerprint == task.fingerprint
    with pytest.raises(InputError, match=r"cannot read task file x\.task\.parquet: No such file"):
        find_task("x.task.parquet")
    with pytest.raises(InputError, match=r"unknown dataset 'loans'.*employment, or the path of"):
        find_task("loans")
    with pytest.raises(InputError, match=r"cannot read dataset file .*x\.toml: No such file"):
        find_task("x.toml")


@pytest.mark.parametrize("value", ["🙂", 'yes \\ "no"'])
def test_favourable_values_may_be_any_text(tmp_path: Path, value: str) -> None:
    frame = loans()
    frame["approved"] = frame["approved"].replace("yes", value)
    frame.to_csv(tmp_path / "loans.csv", index=False)
    described = {"data": "loans.csv", "target": "approved", "favourable": value}
    (tmp_path / "loans.toml").write_bytes(tomli_w.dumps(described | {"id": "applicant"}).encode())
    task = load_dataset(tmp_path / "loans.toml")
    assert task.favourable_values == (value,)
    assert task.labels.tolist() == (loans()["approved"] == "yes").astype(int).tolist()
    assert tomllib.loads(as_keys(setting(favourable=value))) == {"favourable": value}
