from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from changeproof import Feature, InputError, Task, load_task, own_task
from changeproof.feasible.feature import text_of
from loans import loans

TASK = own_task(loans(), target="approved", favourable="yes", id_column="applicant")
ROWS = st.integers(1, 5).flatmap(
    lambda n: arrays(np.float64, (n, TASK.n_features), elements=st.floats(-5, 5))
)
PEOPLE = st.lists(
    st.fixed_dictionaries(
        {
            "income": st.floats(-1e5, 1e5),
            "debts": st.integers(-100, 100),
            "purpose": st.sampled_from(["car", "house", "study"]),
            "owner": st.sampled_from(["no", "yes"]),
            "member": st.booleans(),
        }
    ),
    min_size=1,
    max_size=5,
)


@settings(deadline=None)
@given(PEOPLE)
def test_people_come_back_as_they_were(people: list[dict[str, Any]]) -> None:
    frame = pd.DataFrame(people)
    rows = TASK.encoded(frame)
    back = TASK.decoded(rows)
    assert back.columns.tolist() == [feature.name for feature in TASK.features]
    for column in ("purpose", "owner", "member"):
        assert back[column].tolist() == frame[column].tolist()
    np.testing.assert_allclose(back[["income", "debts"]], frame[["income", "debts"]], atol=1e-7)
    np.testing.assert_allclose(TASK.encoded(back), rows, atol=1e-9)


@settings(deadline=None)
@given(ROWS)
def test_any_row_means_the_same_once_it_is_encoded(rows: np.ndarray) -> None:
    meaning = TASK.decoded(rows)
    encoded = TASK.encoded(meaning)
    pd.testing.assert_frame_equal(TASK.decoded(encoded), meaning, rtol=0, atol=1e-6)
    numbers = [j for f in TASK.features if not f.categories for j in f.columns]
    np.testing.assert_allclose(encoded[:, numbers], rows[:, numbers], atol=1e-9)


def test_the_largest_share_wins_in_original_units_not_in_standardised_ones() -> None:
    purpose = np.array(["common"] * 38 + ["rare", "rare"])
    frame = pd.DataFrame({"purpose": purpose, "other": ["a", "b", "c", "d"] * 10, "x": range(40)})
    frame["y"] = np.arange(40) % 2
    frame.loc[:, "purpose"] = frame["purpose"].where(frame.index != 0, "single")
    task = own_task(frame, target="y", favourable=1)
    feature = task.features[0]
    raw = np.zeros((1, task.n_features))
    raw[0, [feature.columns[feature.categories.index(c)] for c in ("common", "rare")]] = 0.6, 0.4
    row = (raw - task.mean) / task.scale
    assert row[0, list(feature.columns)].argmax() != feature.categories.index("common")
    assert task.decoded(row)["purpose"].tolist() == ["common"]


def test_a_row_without_an_answer_stays_missing() -> None:
    rows = np.vstack([TASK.rows("test")[:1], np.full((1, TASK.n_features), np.nan)])
    decoded = TASK.decoded(rows)
    assert decoded.iloc[0].notna().all()
    assert decoded.iloc[1].isna().all()


def test_numeric_tasks_decode_to_their_original_units() -> None:
    task = load_task("diabetes")
    rows = task.rows("test")[:4]
    pd.testing.assert_frame_equal(task.decoded(rows), task.original(rows))
    np.testing.assert_allclose(task.encoded(task.original(rows)), rows, atol=1e-12)
    kinds = {feature.name: feature.kind for feature in task.features}
    assert set(kinds.values()) == {"integer", "numeric"}
    fractions = [name for name, kind in kinds.items() if kind == "numeric"]
    assert fractions == [c for c in task.frame if (task.frame[c] % 1 != 0).any()]


GOOD = loans().drop(columns=["applicant", "approved"]).iloc[:3]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (GOOD.drop(columns=["debts", "owner"]), r"have no columns \['debts', 'owner'\]"),
        (GOOD.assign(purpose=["car", "boat", "car"]), "'purpose' holds 'boat' at row 1; expected"),
        (GOOD.assign(income=["1", "2", "2k"]), "'income' holds '2k' at row 2; expected a number"),
        (GOOD.assign(income=[1.0, None, 2.0]), "'income' holds 1 missing or inf.*at row 1"),
        (GOOD.assign(income=["1", " ", "2"]), "'income' holds 1 missing or inf.*at row 1"),
        (GOOD.assign(debts=[1.0, 2.0, np.inf]), "'debts' holds 1 missing or inf.*at row 2"),
        (GOOD.assign(owner=["no", "yes", None]), "'owner' holds 1 missing.*row 2.*no, yes"),
        (GOOD.assign(member=["True", "maybe", "0"]), "'member' holds 'maybe' at row 1"),
        (pd.concat([GOOD, GOOD[["debts"]]], axis=1), "'debts' appears more than once"),
    ],
)
def test_rows_that_do_not_fit_are_named(frame: pd.DataFrame, message: str) -> None:
    with pytest.raises(InputError, match=message):
        TASK.encoded(frame)


def test_bad_rows_are_named_by_their_id() -> None:
    named = GOOD.set_axis(["Ann", "Bob", "Cem"]).assign(purpose=["car", "boat", "car"])
    with pytest.raises(InputError, match="'boat' at row 'Bob'"):
        TASK.encoded(named)


def test_values_are_read_by_their_text_and_other_columns_ignored() -> None:
    written = GOOD.assign(
        income=GOOD["income"].astype(str),
        debts=GOOD["debts"].map(lambda value: f" {value}.0 "),
        purpose=GOOD["purpose"] + " ",
        member=GOOD["member"].map({True: "true", False: "FALSE"}),
        remark="nothing",
    )[["remark", "owner", "member", "purpose", "debts", "income"]]
    np.testing.assert_allclose(TASK.encoded(written), TASK.encoded(GOOD), atol=1e-12)
    as_numbers = GOOD.assign(member=GOOD["member"].astype(int))
    np.testing.assert_array_equal(TASK.encoded(as_numbers), TASK.encoded(GOOD))


@pytest.mark.parametrize(
    ("value", "text"),
    [(1, "1"), (1.0, "1"), ("1", "1"), (np.int64(1), "1"), (True, "True"), (" a ", "a")],
)
def test_text_of_values(value: object, text: str) -> None:
    assert text_of(value) == text


def test_true_is_also_one_and_lower_case() -> None:
    assert Feature("f", "binary", (0,), (0, 1)).code_of(True) == 1
    assert Feature("f", "binary", (0,), ("false", "true")).code_of(np.True_) == 1
    assert Feature("f", "binary", (0,), (False, True)).code_of("1") == 1
    assert Feature("f", "binary", (0,), ("no", "yes")).code_of(True) == -1


@pytest.mark.parametrize(
    ("kind", "columns", "categories"),
    [
        ("numeric", (0, 1), ()),
        ("integer", (0,), (1, 2)),
        ("binary", (0,), ("a",)),
        ("binary", (0, 1), ("a", "b")),
        ("categorical", (0, 1), ("a", "b", "c")),
        ("categorical", (), ()),
    ],
)
def test_features_that_make_no_sense_are_refused(
    kind: Any, columns: tuple[int, ...], categories: tuple[str, ...]
) -> None:
    with pytest.raises(InputError, match=f"do not make a feature of kind '{kind}'"):
        Feature("f", kind, columns, categories)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([Feature("a", "numeric", (0,))], r"hold the columns \[0\]; expected each of 0 to 1"),
        ([Feature("a", "numeric", (0,)), Feature("b", "numeric", (0,))], r"columns \[0, 0\]"),
        ([Feature("a", "numeric", (0,)), Feature("a", "numeric", (1,))], "'a' appears more than"),
    ],
)
def test_features_hold_every_column_once(features: list[Feature], message: str) -> None:
    frame = pd.DataFrame({"a": np.arange(40.0), "b": np.ones(40)})
    with pytest.raises(InputError, match=message):
        Task("t", frame, np.arange(40) % 2, features=features)
