from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from changeproof import InputError, Split, Task, TrainingData, TrainingRecipe, own_task, train
from loans import loans


def loan_task(frame: pd.DataFrame | str | Path | None = None, **changes: Any) -> Task:
    settings = {"target": "approved", "favourable": "yes", "id_column": "applicant"} | changes
    return own_task(loans() if frame is None else frame, **settings)


def test_kinds_are_inferred() -> None:
    task = loan_task()
    assert [(f.name, f.kind, f.columns, f.categories) for f in task.features] == [
        ("income", "numeric", (0,), ()),
        ("debts", "integer", (1,), ()),
        ("purpose", "categorical", (2, 3, 4), ("car", "house", "study")),
        ("owner", "binary", (5,), ("no", "yes")),
        ("member", "binary", (6,), (False, True)),
    ]
    assert task.feature_names[2:5] == ["purpose=car", "purpose=house", "purpose=study"]
    assert task.labels.tolist() == (loans()["approved"] == "yes").astype(int).tolist()
    assert (task.frame[task.feature_names[2:5]].sum(axis=1) == 1).all()
    assert task.frame["owner"].tolist() == (loans()["owner"] == "yes").astype(int).tolist()


def test_a_base_network_trains_on_it() -> None:
    task = loan_task()
    network = train([TrainingRecipe(initialisation_seed=2026)], TrainingData.of(task)).stack[0]
    found = network.favourable(task.rows("train"))
    assert (found == task.labels_of("train")).mean() > 0.8


def test_text_ids_are_kept_beside_integer_row_ids() -> None:
    task = loan_task()
    assert task.frame.index.tolist() == list(range(120))
    ids = task.row_ids("test")
    assert task.ids.loc[ids].tolist() == [f"A{number:03d}" for number in ids]


def test_integer_ids_are_row_ids() -> None:
    frame = loans().assign(applicant=np.arange(120)[::-1] + 500)
    task = loan_task(frame)
    assert task.frame.index.tolist() == frame["applicant"].tolist() == task.ids.tolist()
    frame["applicant"] -= 600
    task = loan_task(frame)
    assert task.frame.index.tolist() == list(range(120))
    assert task.ids.tolist() == frame["applicant"].tolist()


def test_ids_of_a_file_are_kept_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "loans.csv"
    frame = loans().assign(applicant=[f"{number:05d}" for number in range(900, 1020)])
    frame.to_csv(path, index=False)
    assert loan_task(path).ids.tolist() == frame["applicant"].tolist()
    frame.assign(applicant=np.arange(900, 1020)).to_csv(path, index=False)
    assert loan_task(path).frame.index.tolist() == list(range(900, 1020))


def test_the_index_is_the_id_where_no_column_is() -> None:
    frame = loans().drop(columns="applicant").set_axis(np.arange(120) * 3)
    assert loan_task(frame, id_column=None).ids.tolist() == frame.index.tolist()
    named = loans().set_index("applicant")
    assert loan_task(named).ids.tolist() == named.index.tolist()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_give_the_task_of_the_frame(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"data.{suffix}"
    getattr(loans(), f"to_{suffix}")(path, index=False)
    assert loan_task(path).fingerprint == loan_task().fingerprint
    assert loan_task(str(path)).features == loan_task().features


def test_blanks_around_names_and_values_do_not_count(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    frame = loans().drop(columns="member")
    path.write_text(frame.to_csv(index=False).replace(",", " , "))
    assert loan_task(path).fingerprint == loan_task(frame).fingerprint


@pytest.mark.parametrize(
    ("values", "favourable"),
    [
        (("no", "yes"), "yes"),
        (("no", "yes"), ["yes"]),
        ((0, 1), 1),
        ((0, 1), "1"),
        ((0, 1), True),
        ((0.0, 1.0), "1"),
        (("0", "1"), 1),
        ((False, True), True),
        ((False, True), "true"),
        ((False, True), 1),
    ],
)
def test_favourable_is_compared_as_typed_and_as_text(
    values: tuple[Any, Any], favourable: Any
) -> None:
    good = loans()["approved"] == "yes"
    frame = loans().assign(approved=good.map({False: values[0], True: values[1]}))
    task = loan_task(frame, favourable=favourable)
    assert task.labels.tolist() == good.astype(int).tolist()


def test_several_values_can_be_favourable() -> None:
    grades = np.array(["A", "B", "C"])[np.arange(120) % 3]
    task = loan_task(loans().assign(approved=grades), favourable=("A", "C"))
    assert task.labels.tolist() == (grades != "B").astype(int).tolist()


def test_missing_values_are_imputed_from_the_training_part_when_asked_for() -> None:
    whole = loan_task()
    train_ids, test_ids = whole.row_ids("train"), whole.row_ids("test")
    frame = loans()
    gaps = [*train_ids[:3], *test_ids[:3]]
    frame.loc[gaps, ["income", "purpose"]] = None
    frame["member"] = frame["member"].astype(object)
    frame.loc[gaps, "member"] = None
    frame.loc[test_ids[3:], "income"] = 1e6
    frame.loc[train_ids[3:], "purpose"] = "house"
    frame.loc[train_ids[3:], "member"] = True
    task = loan_task(frame, missing="impute")
    median = frame.loc[train_ids, "income"].median()
    assert task.frame.loc[gaps, "income"].tolist() == [median] * 6
    assert task.frame.loc[gaps, "purpose=house"].tolist() == [1.0] * 6
    assert task.frame.loc[gaps, "member"].tolist() == [1.0] * 6
    others = frame.index.difference(gaps)
    assert task.frame.loc[others, "income"].tolist() == frame.loc[others, "income"].tolist()


def test_columns_can_be_declared_categorical_or_dropped(tmp_path: Path) -> None:
    task = loan_task(categorical=["debts"], drop=["income"])
    assert task.features[0].kind == "categorical"
    assert task.features[0].categories == (0, 1, 2, 3, 4, 5)
    assert "income" not in [feature.name for feature in task.features]
    path = tmp_path / "data.csv"
    loans().assign(debts=lambda frame: frame["debts"].map("{:02d}".format)).to_csv(path)
    path.write_text("row" + path.read_text())
    task = loan_task(path, categorical=["debts"], drop=["row"])
    assert task.features[1].categories == ("00", "01", "02", "03", "04", "05")


@pytest.mark.parametrize(
    ("values", "kind", "categories"),
    [
        ([3] * 120, "integer", ()),
        ([2.5] * 120, "numeric", ()),
        (["same"] * 120, "categorical", ("same",)),
        ([True] * 120, "binary", (False, True)),
        ([str(number) for number in range(120)], "integer", ()),
        (pd.Categorical(["b", "a", "c"] * 40), "categorical", ("a", "b", "c")),
        (pd.array([1, 2] * 60, dtype="Int64"), "integer", ()),
        (pd.array([True, False] * 60, dtype="boolean"), "binary", (False, True)),
        (["1", "x", "y"] * 40, "categorical", ("1", "x", "y")),
    ],
)
def test_unusual_columns(values: Any, kind: str, categories: tuple[Any, ...]) -> None:
    task = loan_task(loans().assign(extra=values))
    feature = task.features[-1]
    assert (feature.name, feature.kind, feature.categories) == ("extra", kind, categories)
    assert np.isfinite(task.rows("train")).all()
    np.testing.assert_allclose(
        task.encoded(loans().assign(extra=values)), task.standardise(task.frame)
    )


def test_the_split_can_be_a_column_or_positions() -> None:
    parts = np.array(["train", "test", "update", "validation", "train"] * 24)
    by_column = loan_task(loans().assign(part=parts), split="part")
    assert by_column.row_ids("update").tolist() == np.flatnonzero(parts == "update").tolist()
    assert "part" not in by_column.feature_names
    positions = {part: np.flatnonzero(parts == part) for part in np.unique(parts)}
    assert loan_task(split=Split(**positions)).fingerprint == by_column.fingerprint
    assert loan_task().fingerprint != by_column.fingerprint


FRAME = loans()
MANY = [f"street {number}" for number in range(120)]
PARTS = ["train", "test", "update", "validation"] * 30
NEARLY = ["12.5"] * 115 + ["n.a.", "1,5", "x", "y", "z"]


@pytest.mark.parametrize(
    ("frame", "changes", "message"),
    [
        (FRAME, {"target": "outcome"}, "unknown column 'outcome'; expected one of: applicant, inc"),
        (FRAME, {"id_column": "id"}, "unknown column 'id'"),
        (FRAME, {"drop": ["x"]}, "unknown column 'x'"),
        (FRAME, {"drop": "owner"}, "drop: expected a list of columns; got the text 'owner'"),
        (FRAME, {"categorical": "owner"}, "categorical: expected a list of columns"),
        (FRAME, {"split": "x"}, "unknown column 'x'"),
        (FRAME, {"missing": "guess"}, "unknown way to treat missing values 'guess'"),
        (FRAME, {"id_column": "approved"}, "'approved' is given two roles"),
        (FRAME, {"drop": ["approved"]}, "'approved' is given two roles"),
        (FRAME, {"drop": ["owner"], "categorical": ["owner"]}, "both categorical and dropped"),
        (FRAME[["applicant", "approved"]], {}, "no column is left as a feature"),
        (
            FRAME,
            {"favourable": "maybe"},
            "'maybe' is not in the target 'approved'; its values are '",
        ),
        (FRAME, {"favourable": ["yes", "ja"]}, "favourable 'ja' is not in"),
        (FRAME, {"favourable": []}, r"favourable \[\] is not in"),
        (FRAME, {"favourable": ["yes", "no"]}, "one class only: every row is favourable"),
        (FRAME.assign(approved="yes"), {}, r"one class only: every row is favourable \('yes'\)"),
        (
            FRAME.assign(approved="no"),
            {},
            "'yes' is not in the target 'approved'; its values are 'no'",
        ),
        (
            FRAME.assign(approved=[None, *["yes", "no"] * 59, "no"]),
            {},
            "has 1 missing values .*'A000'",
        ),
        (FRAME.assign(approved=[["yes"]] * 120), {}, r"holds \['yes'\] at row 'A000'"),
        (FRAME.set_index(["applicant", "debts"]), {"id_column": None}, "index has 2 levels"),
        (FRAME.assign(applicant=["A"] * 120), {}, "holds the id 'A' more than once"),
        (FRAME.assign(applicant=[None, *MANY[1:]]), {}, "'applicant' has a row without an id"),
        (
            FRAME.assign(extra=MANY),
            {},
            "120 categories .*or 50 in so few rows.*ask for `id_column='extra'`",
        ),
        (FRAME.assign(extra=NEARLY), {}, "'extra' holds the text 'n.a.' at row 'A115', but 115 of"),
        (
            FRAME.assign(extra=[None, *[1.0] * 119]),
            {},
            "'extra' has 1 of 120 values missing .*'A000'",
        ),
        (
            FRAME.assign(extra=["a", " ", "b"] * 40),
            {},
            "'extra' has 40 of 120 values missing .*'A001'",
        ),
        (FRAME.assign(extra=[np.inf] * 120), {"missing": "impute"}, "holds 120 infinite values"),
        (FRAME.assign(extra=None), {"missing": "impute"}, "'extra' has no values; drop it"),
        (FRAME.assign(extra=np.nan), {"missing": "impute"}, "no value in the training part"),
        (FRAME.assign(extra=pd.Timestamp("2026-01-01")), {}, "'extra' is of type datetime64"),
        (FRAME.assign(extra=[[1]] * 120), {}, r"holds \[1\] at row 'A000'; expected numbers"),
        (FRAME.assign(**{"purpose=car": 1}), {}, "would be called 'purpose=car'"),
        (FRAME.assign(part=["train", *PARTS[1:-1], "x"]), {"split": "part"}, "'x' at row 'A119'"),
        (
            FRAME.assign(part="train"),
            {"split": "part"},
            "no row in the part 'update'; expected rows in each of .* or train and test only",
        ),
        (FRAME, {"name": "a/b"}, "'a/b' cannot name a dataset"),
        (FRAME, {"name": "heloc"}, "'heloc' is an embedded dataset"),
        (FRAME.iloc[:15], {}, "at least 20 rows and 10 of each label"),
        (FRAME.iloc[:0], {}, "expected rows and columns"),
        (pd.concat([FRAME, FRAME[["owner"]]], axis=1), {}, "'owner' appears more than once"),
        (pd.concat([FRAME, FRAME]), {"id_column": None}, "the index holds the id 0 more than once"),
    ],
)
def test_bad_tables_are_refused_by_name(
    frame: pd.DataFrame, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        loan_task(frame, **changes)


def test_a_split_into_train_and_test_is_enough() -> None:
    """Training rows stay what they are: a fitted model was fitted on them."""
    part = np.where(np.arange(120) % 3 > 0, "train", "test")
    found = loan_task(FRAME.assign(part=part), split="part").split
    assert found.train.tolist() == np.flatnonzero(part == "train").tolist()
    shared = found.update, found.validation, found.test
    assert [len(each) for each in shared] == [8, 8, 24]
    assert sorted(np.concatenate(shared)) == np.flatnonzero(part == "test").tolist()
    again = loan_task(FRAME.assign(part=part), split="part").split
    assert again.update.tolist() == found.update.tolist()
    assert again.validation.tolist() == found.validation.tolist()
    few = np.where(np.arange(120) < 115, "train", "test")
    with pytest.raises(InputError, match="needs 5 of each label there; got "):
        loan_task(FRAME.assign(part=few), split="part")


def test_bad_splits_are_refused() -> None:
    few = np.arange(10)
    with pytest.raises(InputError, match="different numbers from 0 to 119"):
        loan_task(split=Split(few, few, few + 10, few + 20))
    order = np.argsort(FRAME["approved"].to_numpy(), kind="stable")
    one_class = Split(order[:20], order[30:50], order[50:100], order[100:])
    with pytest.raises(InputError, match="'train' has rows of one class only"):
        loan_task(split=one_class)


@pytest.mark.parametrize(
    ("stem", "name"),
    [("loans 2026 (new)", "loans-2026-new"), ("heloc", "own-heloc"), ("---", "data")],
)
def test_tasks_are_called_after_their_file(tmp_path: Path, stem: str, name: str) -> None:
    path = tmp_path / f"{stem}.csv"
    loans().to_csv(path, index=False)
    assert loan_task(path).name == name
    assert loan_task(path, name="mine").name == "mine"


def test_the_fingerprint_knows_categories_and_ids() -> None:
    frame = loans()
    renamed = frame.assign(owner=frame["owner"].map({"no": "nein", "yes": "oui"}))
    other_ids = frame.assign(applicant="x" + frame["applicant"])
    marks = [loan_task(one).fingerprint for one in (frame, renamed, other_ids)]
    assert len(set(marks)) == 3
    assert loan_task(frame.copy()).fingerprint == marks[0]
