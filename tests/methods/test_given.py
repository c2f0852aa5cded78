"""Counterfactuals from elsewhere: read, refused with a reason, or answered from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import changeproof as cp
from changeproof import Context, Factuals, InputError, Task, get_method, own_task
from changeproof.adapters.tables import EMPTY_IN_TABLE, people_in, read_counterfactuals
from changeproof.methods.answers import ALREADY_FAVOURABLE, FOUND, UNCHANGED
from changeproof.methods.given import NOT_IN_TABLE, GivenCounterfactuals
from loans import loans


@pytest.fixture
def frame(small_context: Context, small_factuals: Factuals) -> pd.DataFrame:
    """Return what another tool might write: kdtree's answers for 40 people, in original units."""
    answers = get_method("kdtree")().fit(small_context).generate(small_factuals)
    original = small_context.task.original(answers.rows)
    return original.assign(id=small_factuals.row_ids)


def save(frame: pd.DataFrame, folder: Path, ending: str) -> Path:
    path = folder / f"cfes{ending}"
    if ending == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("ending", [".csv", ".parquet", "frame"])
def test_what_another_tool_wrote_is_answered_and_measured_like_a_method(
    ending: str,
    frame: pd.DataFrame,
    small_context: Context,
    small_factuals: Factuals,
    tmp_path: Path,
) -> None:
    shuffled = frame.sample(frac=1, random_state=1)[["e", "id", "a", "d", "c", "b"]]
    source = shuffled if ending == "frame" else save(shuffled, tmp_path, ending)
    table = read_counterfactuals(source, small_context.task)
    assert table.attrs["notes"] == []
    answers = GivenCounterfactuals(table=table).fit(small_context).generate(small_factuals)
    expected = get_method("kdtree")().fit(small_context).generate(small_factuals)
    np.testing.assert_allclose(answers.rows, expected.rows, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(answers.base_valid, expected.base_valid)
    assert answers.base_valid.any()


def test_a_file_is_read_as_exactly_as_a_frame(
    frame: pd.DataFrame, small_task: Task, tmp_path: Path
) -> None:
    pd.testing.assert_frame_equal(
        read_counterfactuals(save(frame, tmp_path, ".csv"), small_task),
        read_counterfactuals(frame, small_task),
        check_exact=True,
    )


def test_people_without_a_counterfactual_get_the_reason(
    frame: pd.DataFrame, small_context: Context, small_factuals: Factuals
) -> None:
    frame = frame.drop(index=3)
    frame.loc[0, ["a", "b", "c", "d", "e"]] = np.nan
    frame.loc[1, ["b", "d"]] = np.nan
    same = small_context.task.frame.loc[small_factuals.row_ids[2]]
    frame.loc[2, ["a", "b", "c", "d", "e"]] = same
    frame["approved"] = "yes"
    table = read_counterfactuals(frame, small_context.task)
    assert table.attrs["notes"] == [
        "columns that are not features were ignored: approved",
        "2 of 39 rows have no counterfactual",
    ]
    answers = GivenCounterfactuals(table=table).fit(small_context).generate(small_factuals)
    reasons = [EMPTY_IN_TABLE, "missing in the table: b, d", UNCHANGED, NOT_IN_TABLE, FOUND]
    assert answers.outcomes[:5].tolist() == reasons
    assert np.isnan(answers.rows[:4]).all()
    assert answers.found.sum() == 36


def test_the_people_of_a_table_can_be_asked_for(
    frame: pd.DataFrame, small_context: Context
) -> None:
    task = small_context.task
    train = task.rows("train")
    lucky = task.row_ids("train")[small_context.model.favourable(train)][0]
    frame = frame.iloc[:3].assign(id=[frame["id"][1], lucky, frame["id"][0]])
    table = read_counterfactuals(frame, task)
    people = people_in(table, task)
    assert people.row_ids.tolist() == frame["id"].tolist()
    np.testing.assert_array_equal(people.rows, task.standardise(task.frame.loc[frame["id"]]))
    answers = GivenCounterfactuals(table=table).fit(small_context).generate(people)
    assert answers.outcomes.tolist() == [FOUND, ALREADY_FAVOURABLE, FOUND]


@pytest.mark.parametrize("column", ["factual_id", "row_id", "applicant"])
def test_the_id_column_is_found_or_named(
    column: str, frame: pd.DataFrame, small_task: Task
) -> None:
    renamed = frame.rename(columns={"id": column})
    asked = column if column == "applicant" else None
    table = read_counterfactuals(renamed, small_task, id_column=asked)
    assert table["row_id"].tolist() == frame["id"].tolist()
    indexed = read_counterfactuals(renamed.set_index(column), small_task, id_column=asked)
    pd.testing.assert_frame_equal(indexed, table)


def test_a_feature_called_id_is_not_taken_for_the_ids(frame: pd.DataFrame) -> None:
    rows = np.random.default_rng(0).normal(size=(60, 2))
    task = Task("odd", pd.DataFrame(rows, columns=["id", "reason"]), np.arange(60) % 2)
    given_rows = pd.DataFrame({"id": [0.5, 1.5], "reason": [1.0, 2.0], "row_id": [7, 8]})
    table = read_counterfactuals(given_rows, task)
    assert table["row_id"].tolist() == [7, 8]
    np.testing.assert_allclose(
        table[["counterfactual:id", "counterfactual:reason"]],
        task.standardise(given_rows[["id", "reason"]]),
    )


@settings(max_examples=40, deadline=None)
@given(
    ids=st.lists(st.integers(1000, 1399), min_size=1, max_size=8, unique=True),
    written=st.sampled_from([str, float, np.int32, "{}.0".format, "0{}".format, " {} ".format]),
)
def test_ids_are_the_same_as_numbers_and_as_text(
    ids: list[int], written: Callable[[int], object], small_task: Task
) -> None:
    values = dict.fromkeys("abcde", 1.0)
    frame = pd.DataFrame([{"id": written(number), **values} for number in ids])
    assert read_counterfactuals(frame, small_task)["row_id"].tolist() == ids


Broken = Callable[[pd.DataFrame], pd.DataFrame]


def with_value(column: str, value: object) -> Broken:
    def broken(frame: pd.DataFrame) -> pd.DataFrame:
        frame = frame.astype({column: object})
        frame.loc[frame.index[4], column] = value
        return frame

    return broken


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (lambda f: f.drop(columns=["b", "e"]), r"the features \['b', 'e'\] of task 'small'"),
        (lambda f: f.rename(columns={"b": "B"}), r"'b'\] of task 'small' are missing; its columns"),
        (
            lambda f: f.drop(columns="id"),
            "no column has the ids of people; expected id or factual_id or row_id",
        ),
        (lambda f: pd.concat([f, f.iloc[[5]]]), r"appears twice, in rows 6 and 41; expected one"),
        (with_value("id", 99), r"id 99 \(row 5\) is not in task 'small'; its ids are 1000, 1001"),
        (with_value("id", "who"), r"id who \(row 5\) is not in task 'small'"),
        (with_value("id", np.nan), "row 5 has no id in column 'id'"),
        (with_value("c", "a lot"), r"feature 'c' holds 'a lot' at row '?\d+'?; expected a number"),
        (with_value("c", np.inf), r"feature 'c' holds 1 missing or infinite values \(first at"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("as_file", [True, False])
def test_what_does_not_fit_is_refused_and_named(
    broken: Broken,
    message: str,
    as_file: bool,
    frame: pd.DataFrame,
    small_task: Task,
    tmp_path: Path,
) -> None:
    wrong = broken(frame)
    source = save(wrong, tmp_path, ".csv") if as_file else wrong
    with pytest.raises(InputError, match=message) as caught:
        read_counterfactuals(source, small_task)
    where = f"{source}: " if as_file else "the counterfactuals: "
    assert str(caught.value).startswith(where)


def test_an_id_column_that_is_not_there_is_refused(frame: pd.DataFrame, small_task: Task) -> None:
    with pytest.raises(InputError, match="expected who; its columns are"):
        read_counterfactuals(frame, small_task, id_column="who")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("absent.csv", None, "there is no such file"),
        ("empty.csv", b"", "the file is empty"),
        ("no-rows.csv", b"id,a,b,c,d,e\n", "expected rows and columns"),
        ("semicolons.csv", b"id;a;b\n1;2;3\n", "separated by semicolons"),
        ("text.parquet", b"id,a\n", "cannot read .*text.parquet as parquet"),
    ],
)
def test_files_that_cannot_be_read_are_named(
    name: str, content: bytes | None, message: str, small_task: Task, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_counterfactuals(tmp_path / name, small_task)


def test_categories_and_ids_of_own_data(tmp_path: Path) -> None:
    task = own_task(loans(), target="approved", favourable="yes", id_column="applicant")
    path = tmp_path / "cfes.csv"
    path.write_text(
        "applicant,purpose,income,owner,member,debts\n"
        "A003,house,4000.5,yes,True,1\nA001,,,,,\nA007,car,3000,no,False,0\n"
    )
    table = read_counterfactuals(path, task, id_column="applicant")
    assert table["row_id"].tolist() == [3, 1, 7]
    assert table["reason"].tolist() == ["", EMPTY_IN_TABLE, ""]
    back = task.decoded(table.filter(like="counterfactual:").to_numpy()[[0, 2]])
    assert back["purpose"].tolist() == ["house", "car"]
    assert back["owner"].tolist() == ["yes", "no"]
    assert back["member"].tolist() == [True, False]
    np.testing.assert_allclose(back[["income", "debts"]], [[4000.5, 1], [3000, 0]])
    path.write_text(path.read_text().replace("house", "boat"))
    with pytest.raises(InputError, match=r"'purpose' holds 'boat' at row 'A003'; expected one of"):
        read_counterfactuals(path, task, id_column="applicant")


def test_ids_that_lost_their_zeros_are_found_if_that_is_no_other_person() -> None:
    frame = loans()
    frame["applicant"] = [*(f"{number:04d}" for number in range(119)), "7"]
    task = own_task(frame, target="approved", favourable="yes", id_column="applicant")
    given = loans().drop(columns="approved").head(3).assign(applicant=[12, "0007", 7])
    table = read_counterfactuals(given, task, id_column="applicant")
    assert table["row_id"].tolist() == [12, 7, 119]
    with pytest.raises(InputError, match=r"id 07 \(row 1\) is not in task"):
        read_counterfactuals(given.assign(applicant=["07", "1", "2"]), task, id_column="applicant")


def test_a_table_that_was_not_read_for_the_task_is_refused(
    frame: pd.DataFrame, small_task: Task, small_context: Context
) -> None:
    with pytest.raises(InputError, match=r"lacks the columns \['row_id', 'reason'\]"):
        GivenCounterfactuals(table=frame)
    table = read_counterfactuals(frame, small_task).drop(columns="counterfactual:c")
    with pytest.raises(InputError, match="other features than 'small'"):
        GivenCounterfactuals(table=table).fit(small_context)


def test_the_fingerprint_follows_what_is_said_and_not_the_order(
    frame: pd.DataFrame, small_task: Task
) -> None:
    def fingerprint(source: pd.DataFrame) -> str:
        return GivenCounterfactuals(table=read_counterfactuals(source, small_task)).fingerprint

    usual = fingerprint(frame)
    assert fingerprint(frame.iloc[::-1]) == usual
    assert fingerprint(frame.assign(note="x")) == usual
    changed = [frame.assign(a=frame["a"] + 1e-9), frame.iloc[1:], with_value("b", None)(frame)]
    assert len({usual, *map(fingerprint, changed)}) == 4


def test_settings_rebuild_it(frame: pd.DataFrame, small_task: Task) -> None:
    method = GivenCounterfactuals(table=read_counterfactuals(frame, small_task))
    again = GivenCounterfactuals(**method.settings())
    assert again.fingerprint == method.fingerprint
    assert repr(method) == "GivenCounterfactuals(table=<40 people>)"


SEVERAL: dict[str, Any] = {"families": ["bootstrap(replicates=2)"], "methods": ["kdtree"]}


def test_several_rows_per_person_are_all_tested(tmp_path: Path) -> None:
    """Everybody's first row under the name, the second under another: in Python and in a file."""
    task = cp.find_task("diabetes")
    first = cp.evaluate("diabetes", factuals=4, publish=False, **SEVERAL)
    people = first.counterfactuals("diabetes", 2026, "kdtree").row_ids
    frame = task.readable(task.standardise(task.frame.loc[people])).assign(id=people)
    twice = pd.concat([frame, frame.iloc[[1, 2]].assign(glucose=90)])
    more = SEVERAL
    results = cp.evaluate("diabetes", counterfactuals={"tool": twice}, out=tmp_path / "a", **more)
    assert list(results.methods) == ["kdtree", "tool", "tool-2"]
    second = results.counterfactuals("diabetes", 2026, "tool-2")
    assert second.outcomes[[0, 3]].tolist() == ["not in the table"] * 2
    twice.to_csv(tmp_path / "twice.csv", index=False)
    again = cp.evaluate(
        "diabetes", counterfactuals={"tool": tmp_path / "twice.csv"}, out=tmp_path / "b", **more
    )
    np.testing.assert_array_equal(
        again.counterfactuals("diabetes", 2026, "tool-2").rows, second.rows
    )
    with pytest.raises(InputError, match="two tables are called 'tool-2'"):
        cp.evaluate("diabetes", counterfactuals={"tool": twice, "tool-2": frame}, **more)
