"""What is odd about a table is said before anything is trained."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from changeproof.datasets.columns import is_date, is_marked_number, is_placeholder
from changeproof.datasets.custom import own_task
from changeproof.datasets.oddities import MOST_ALIKE
from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.front_door import evaluate
from changeproof.runs.execute import Observer
from changeproof.runs.store import Inventory
from loans import loans

ROWS = 200
FRAME = loans(ROWS)
NUMBERS = np.random.default_rng(3).normal(40, 10, ROWS).round(1)
WORDS = np.random.default_rng(4).choice(["car", "house"], ROWS)


def task_with(extra: Any, **settings: Any) -> Task:
    given = {"target": "approved", "favourable": "yes", "id_column": "applicant"} | settings
    return own_task(FRAME.assign(extra=extra), **given)


def beginning(values: Any, cells: Any) -> list[Any]:
    """Return a column that begins with some values."""
    return [*values, *cells[len(values) :]]


def test_an_ordinary_table_is_not_odd() -> None:
    assert task_with(NUMBERS).notes == ()


@pytest.mark.parametrize(
    "extra",
    [
        np.exp(np.random.default_rng(5).normal(8, 2, ROWS)),
        -np.exp(np.random.default_rng(5).normal(8, 2, ROWS)),
        np.random.default_rng(5).integers(10_000, 90_000, ROWS),
        np.where(np.arange(ROWS) % 20 == 0, 7000, 0),
        np.arange(ROWS) % 7,
        np.random.default_rng(5).choice(["none", "unknown", "a-b", "10-20"], ROWS),
    ],
    ids=["incomes", "debts", "whole numbers", "mostly none", "few values", "categories"],
)
def test_skewed_columns_and_ordinary_words_are_not_odd(extra: Any) -> None:
    assert task_with(extra).notes == ()


@pytest.mark.parametrize(
    ("extra", "told"),
    [
        ([7] * ROWS, "column 'extra' has one value only, 7; no model can learn from it: drop it"),
        (["a"] * ROWS, "column 'extra' has one value only, 'a'"),
        ([1] + [0] * (ROWS - 1), "column 'extra' has one value, 0, in 199 of 200 rows"),
        (["b"] + ["a"] * (ROWS - 1), "column 'extra' has one value, 'a', in 199 of 200 rows"),
        (
            np.arange(ROWS) + 5000,
            "different whole number in nearly every row, like an id; drop it",
        ),
        (
            1e-10 * NUMBERS,
            "varies by less than 1e-08, which counts as constant; give it in other units",
        ),
        (beginning([1e12], NUMBERS), "holds 1000000000000 (first at row 'A000') and half of its"),
        (beginning([0.1, -1e9], NUMBERS), "holds -1000000000 (first at row 'A001')"),
        (beginning([20.0, -999, -999], NUMBERS), "holds -999 in 2 rows (first at row 'A001'), far"),
        (beginning([99999], NUMBERS), "holds 99999 in 1 row"),
        (beginning(["?", "?"], WORDS), "holds '?' in 2 rows (first at row 'A000'), which is taken"),
        (beginning(["n.a."], WORDS), "holds 'n.a.' in 1 row"),
        (
            np.where(WORDS == "car", "2026-11-17", "2026-12-24"),
            "holds dates as text ('2026-11-17', '2026-12-24'), which are taken as categories; make",
        ),
        (
            np.where(WORDS == "house", "1,200", "900"),
            "numbers as text ('1,200', '900'), which are taken as categories; write plain numbers",
        ),
        (["12,5", "8,25"] * (ROWS // 2), "or list it as categorical: `categorical=['extra']`"),
    ],
)
def test_an_odd_column_is_named_with_what_to_do(extra: Any, told: str) -> None:
    (note,) = task_with(extra).notes
    assert told in note


def test_a_nearly_unique_text_is_named() -> None:
    few = FRAME.iloc[:49].assign(extra=[f"N{number}" for number in range(49)])
    (note,) = own_task(few, target="approved", favourable="yes", drop=["applicant"]).notes
    assert note.startswith("column 'extra' has a different text in nearly every row")
    assert "`id_column='extra'`" in note


@pytest.mark.parametrize(
    ("extra", "told"),
    [
        (beginning([np.inf], NUMBERS), "holds 1 infinite values (first at row 'A000')"),
        (
            beginning([1.0, 1e300], NUMBERS),
            "column 'extra' holds 1e+300 at row 'A001'; expected nu",
        ),
        (beginning([-1e200], NUMBERS), "holds -1e+200 at row 'A000'; expected numbers of at most"),
        (
            [f"{number} %" for number in NUMBERS],
            "column 'extra' holds numbers as text ('11.7 %', '14.4 %', '15.1 %', ...); write plain",
        ),
        ([f"${number:,.2f}" for number in 100 * NUMBERS], "numbers as text ('$1,170.00', '$1,4"),
        (
            pd.date_range("2026-01-01", periods=ROWS).strftime("%d.%m.%Y"),
            "column 'extra' holds dates as text ('01.01.2026', '01.02.2026', '01.03.2026', ...); ",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_with_column_row_and_value(extra: Any, told: str) -> None:
    with pytest.raises(InputError) as raised:
        task_with(extra)
    assert told in str(raised.value)


def test_numbers_with_marks_may_be_categories() -> None:
    bands = task_with(np.where(WORDS == "car", "10 %", "20 %"), categorical=["extra"])
    assert bands.features[-1].categories == ("10 %", "20 %")
    assert bands.notes == ()


def test_several_adverse_outcomes_are_told() -> None:
    frame = FRAME.assign(approved=beginning(["later"] * 3, FRAME["approved"].to_list()))
    (note,) = own_task(frame, target="approved", favourable="yes", drop=["applicant"]).notes
    assert (
        "the target 'approved' has 2 values besides 'yes', and all of them count as adverse" in note
    )
    assert "'later' (3 rows)" in note
    both = own_task(frame, target="approved", favourable=["yes", "later"], drop=["applicant"])
    assert both.notes == ()


def test_many_columns_with_the_same_oddity_share_a_line() -> None:
    frame = FRAME.assign(**{f"c{number}": 1 for number in range(MOST_ALIKE + 20)})
    notes = own_task(frame, target="approved", favourable="yes", id_column="applicant").notes
    assert len(notes) == MOST_ALIKE + 1
    assert notes[-1].startswith("20 more columns have the same problem (constant): 'c5', 'c6'")


def test_notes_stay_with_a_task_over_time() -> None:
    frame = FRAME.assign(extra=1, applied=np.arange(ROWS))
    task = own_task(frame, target="approved", favourable="yes", drop=["applicant"], time="applied")
    assert task.over_time().notes == task.notes != ()


@pytest.mark.parametrize("text", ["12%", "-3.5 %", "€ 1.200,50", "1 200 USD", "-$5", "1'000'000"])
def test_numbers_with_marks(text: str) -> None:
    assert is_marked_number(text)


@pytest.mark.parametrize(
    "text", ["12", "1e5", "A12", "10-20", "<5", "1,2,3", "%", "", "$", "1.2.3"]
)
def test_texts_that_are_no_numbers_with_marks(text: str) -> None:
    assert not is_marked_number(text)


@pytest.mark.parametrize(
    "text", ["2026-11-17", "17/11/26", "2026/1/2 12:30:01", "17 Nov 2026", "November 17, 2026"]
)
def test_dates(text: str) -> None:
    assert is_date(text)


@pytest.mark.parametrize("text", ["2026", "1.2.3", "12:30", "10-20", "Nov", "2026-11-17 late"])
def test_texts_that_are_no_dates(text: str) -> None:
    assert not is_date(text)


def test_placeholders() -> None:
    assert is_placeholder(" ? ")
    assert is_placeholder("N/A")
    assert not is_placeholder("none")


class StoppedError(Exception):
    """Nothing may be trained in this test."""


class Listening(Observer):
    """Remembers what it is told, and stops before any work."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def planned(self, inventory: Inventory) -> None:
        raise StoppedError


def test_oddities_are_told_before_anything_is_trained() -> None:
    task, listening = task_with([7] * ROWS), Listening()
    with pytest.raises(StoppedError):
        evaluate(task, methods=["kdtree"], observer=listening)
    assert listening.notes == [*task.notes]
    assert len(task.notes) == 1
