"""What is odd between columns is told before anything is trained, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from changeproof.datasets.custom import own_task
from changeproof.datasets.find import load_task
from changeproof.datasets.task import Task
from changeproof.errors import InputError, as_keys, as_options
from loans import loans

ROWS = 300
FRAME = loans(ROWS)
YES = (FRAME["approved"] == "yes").to_numpy()
GENERATOR = np.random.default_rng(5)
RATE = GENERATOR.uniform(1, 9, ROWS).round(2)
MINUTES = GENERATOR.integers(1, 90, ROWS)
LOANS = {"target": "approved", "favourable": "yes", "id_column": "applicant"}


def task_with(columns: dict[str, Any], **settings: Any) -> Task:
    return own_task(FRAME.assign(**columns), **(LOANS | settings))


@pytest.mark.parametrize(
    "copy",
    [
        YES.astype(int),
        np.where(YES, "granted", "no"),
        np.where(YES, 700, 20) + GENERATOR.normal(0, 5, ROWS),
        np.where(YES, GENERATOR.choice([1, 3], ROWS), GENERATOR.choice([2, 4], ROWS)),
    ],
    ids=["copy", "other words", "a threshold", "codes"],
)
def test_a_column_that_tells_the_target_is_refused_unless_asked_for(copy: Any) -> None:
    with pytest.raises(InputError, match="column 'copy' predicts the target 'approved' without a"):
        task_with({"copy": copy})
    try:
        task_with({"copy": copy})
    except InputError as error:
        assert as_options(str(error)).endswith("(--drop copy), or keep it by --allow-leak copy")
    (note,) = task_with({"copy": copy}, allow_leak=["copy"]).notes
    assert "column 'copy' predicts the target 'approved' by itself in all 300 rows" in note
    assert task_with({"copy": copy}, drop=["copy"]).notes == ()


def test_a_near_copy_is_told_and_a_good_predictor_is_not() -> None:
    near = YES.copy()
    near[[3, 70]] = ~near[[3, 70]]
    (note,) = task_with({"near": near.astype(int)}).notes
    assert "column 'near' predicts the target 'approved' by itself in 298 of 300 rows" in note
    good = np.where(GENERATOR.random(ROWS) < 0.05, ~YES, YES).astype(int)
    assert task_with({"good": good}).notes == ()
    # Nearly everybody has the same outcome: to say so is no prediction.
    rare = FRAME.assign(approved=np.where(np.arange(ROWS) % 25 == 0, "no", "yes"))
    assert not any("predicts the target" in note for note in own_task(rare, **LOANS).notes)


def test_few_rows_may_be_told_apart_by_chance() -> None:
    few = FRAME.head(40).assign(copy=YES[:40].astype(int))
    assert own_task(few, **LOANS).notes == ()


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"rate": RATE, "minutes": MINUTES, "charge": (RATE * MINUTES).round(2)},
         "column 'charge' is 'rate' times 'minutes' in all 300 rows"),
        ({"a": RATE, "b": MINUTES, "total": RATE + MINUTES}, "column 'total' is 'a' plus 'b'"),
        ({"euro": RATE, "cents": 100 * RATE}, "column 'cents' is a linear function of 'euro'"),
        ({"euro": RATE, "again": RATE}, "column 'again' is the same as 'euro'"),
        ({"town": np.array(["Bonn", "Köln", "Paris", "Lyon"])[MINUTES % 4],
          "land": np.array(["de", "de", "fr", "fr"])[MINUTES % 4]},
         "column 'land' is determined by 'town'"),
        ({"minutes": MINUTES, "long": np.where(MINUTES > 40, "yes", "no")},
         "column 'long' is determined by thresholds on 'minutes'"),
    ],
)  # fmt: skip
def test_a_column_that_follows_from_others_is_told(columns: dict[str, Any], told: str) -> None:
    notes = task_with(columns).notes
    assert [note for note in notes if told in note], notes
    assert len(notes) == 1
    # Where it may not change, advice cannot tear it from the others.
    name = told.split("'")[1]
    assert task_with(columns, actions={name: {"change": "none"}}).notes == ()


def test_noise_and_dummies_follow_from_nothing() -> None:
    flags = {f"flag{n}": GENERATOR.integers(0, 2, ROWS) for n in range(6)}
    sums = {"both": flags["flag0"] + flags["flag1"], "noisy": RATE + GENERATOR.normal(0, 1, ROWS)}
    assert task_with({"rate": RATE, **flags, **sums}).notes == ()


def test_categories_that_differ_in_case_or_blanks_are_told() -> None:
    homes = np.array(["rent", "Rent", "own  house", "own house", "RENT "])[MINUTES % 5]
    (note,) = task_with({"home": homes}).notes
    assert "differ in case or blanks only ('RENT', 'Rent', 'rent'; 'own  house', 'own" in note


@pytest.mark.parametrize("name", ["age", "Age", "applicantAge", "age_years"])
def test_what_nobody_can_change_is_named_with_the_option_that_helps(name: str) -> None:
    sex = np.where(MINUTES % 2, "f", "m")
    (note,) = task_with({name: MINUTES + 18, "sex": sex}).notes
    assert note.startswith(
        f"nothing says what may change, so advice may ask people to change '{name}'"
    )
    assert as_options(note).endswith(f"say so: --only-increase {name} --immutable sex")
    assert '[features."sex"] change = "none"' in as_keys(note)
    rules = {name: {"change": "increase"}, "sex": {"change": "none"}}
    assert task_with({name: MINUTES + 18, "sex": sex}, actions=rules).notes == ()


@pytest.mark.parametrize("name", ["usage", "average", "mileage", "essex", "trace", "package"])
def test_names_that_only_sound_like_it_are_not(name: str) -> None:
    assert task_with({name: MINUTES + 18}).notes == ()


@pytest.mark.parametrize(
    "name", ["breast-cancer", "wine-quality", "heloc", "german-credit", "employment"]
)
def test_embedded_datasets_raise_no_false_alarm(name: str) -> None:
    task = load_task(name)
    table = task.readable(task.standardise(task.frame)).assign(outcome=task.labels)
    settings: dict[str, Any] = {"target": "outcome", "favourable": 1, "name": "again"}
    assert own_task(table, actions=task.declared, **settings).notes == ()


def test_long_tables_are_looked_at_in_part_and_refused_on_all_rows() -> None:
    rows = 120_000
    frame = pd.DataFrame(np.random.default_rng(1).normal(size=(rows, 3)), columns=list("abc"))
    frame["copy"] = frame["y"] = (frame["a"] > 0).astype(int)
    with pytest.raises(InputError, match="without a mistake in all 120000 rows"):
        own_task(frame.drop(columns="a"), target="y", favourable=1)
    frame.loc[7, "copy"] = 1 - frame.loc[7, "copy"]
    (note,) = own_task(frame.drop(columns="a"), target="y", favourable=1).notes
    assert "119999 of 120000 rows" in note
