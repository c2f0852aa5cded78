from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from changeproof import Results, Task, load_task, own_task
from changeproof.datasets.recourse import MOST_CHANGES, Change, Wording, folded
from changeproof.datasets.words import find_catalogue, languages
from changeproof.methods.answers import PLAIN, in_parts, why_not


@pytest.fixture(scope="module")
def applicants() -> Task:
    generator = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "score": generator.integers(300, 850, 60),
            "rate": np.round(generator.uniform(0, 10, 60), 1),
            "noise": generator.normal(0, 1, 60),
            "amount": np.round(generator.uniform(1e5, 9e5, 60), 2),
        }
    )
    return Task("applicants", frame, np.arange(60) % 2)


@pytest.fixture(scope="module")
def mixed() -> Task:
    """All kinds of features; savings have an order, purposes have none."""
    generator = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "debts": generator.integers(0, 6, 80),
            "rate": np.round(generator.uniform(0, 10, 80), 1),
            "savings": generator.choice(["none", "some", "much"], 80),
            "purpose": generator.choice(["car", "house, old", "study"], 80),
            "owner": generator.choice(["no", "yes"], 80),
            "member": generator.random(80) < 0.5,
            "approved": np.arange(80) % 2,
        }
    )
    actions = {"savings": {"order": ["none", "some", "much"]}}
    return own_task(frame, target="approved", favourable=1, actions=actions)


def between(
    task: Task, before: list[float], after: list[float], feasible: bool = False
) -> list[Change]:
    factual, counterfactual = task.standardise([before, after])
    return Wording(task, feasible).changes(factual, counterfactual)


def told(task: Task, before: dict[str, Any], **after: Any) -> dict[str, str]:
    rows = task.encoded(pd.DataFrame([before, before | after]))
    changes = Wording(task, feasible=True).changes(rows[0], rows[1])
    return {change.feature: str(change) for change in changes}


PERSON = {
    "debts": 3,
    "rate": 5.2,
    "savings": "some",
    "purpose": "car",
    "owner": "no",
    "member": True,
}


@pytest.mark.parametrize(
    ("after", "sentence"),
    [
        ({"debts": 2}, "Lower debts from 3 to 2"),
        ({"rate": 6.0}, "Raise rate from 5.2 to 6.0"),
        ({"rate": 5.25}, "Raise rate from 5.20 to 5.25"),
        ({"savings": "much"}, "Change savings from some to much"),
        ({"savings": "none"}, "Change savings from some to none"),
        ({"purpose": "house, old"}, "Change purpose from “car” to “house, old”"),
        ({"owner": "yes"}, "Change owner from no to yes"),
        ({"member": False}, "Change member from True to False"),
    ],
)
def test_sentences_of_every_kind(mixed: Task, after: dict[str, Any], sentence: str) -> None:
    assert list(told(mixed, PERSON, **after).values()) == [sentence]
    assert told(mixed, PERSON) == {}


@given(st.integers(0, 79), st.integers(0, 79))
def test_the_sizes_of_changes_make_up_the_distance(mixed: Task, one: int, other: int) -> None:
    rows = mixed.standardise(mixed.frame.iloc[[one, other]])
    changes = Wording(mixed, feasible=True).changes(rows[0], rows[1])
    total = sum(change.size for change in changes)
    assert total / 6 == pytest.approx(mixed.distances(rows[:1], rows[1:])[0])
    categories = ("savings", "purpose", "owner", "member")
    assert all(c.size == pytest.approx(1) for c in changes if c.feature in categories)


def test_what_is_told_is_exactly_what_was_tested(applicants: Task) -> None:
    person = [655.0, 5.2, 0.4967141530112327, 250000.25]
    said = {c.feature: c for c in between(applicants, person, [671.0, 5.25, 1.5, 3e5], True)}
    assert str(said["score"]) == "Raise score from 655 to 671"
    # Both numbers have the same digits, if that takes few zeros.
    assert str(said["rate"]) == "Raise rate from 5.20 to 5.25"
    assert str(said["amount"]) == "Raise amount from 250000.25 to 300000.00"
    # What the person has is rounded where it is long; what is told never is.
    assert said["noise"].before in ("0.50", "0.497")
    assert said["noise"].after in ("1.50", "1.500")
    (near,) = between(applicants, person, [655.0, 5.2, 0.497, 250000.25], True)
    assert float(near.after) == 0.497
    assert float(near.before) < 0.497


@given(
    st.integers(300, 850),
    st.decimals(0, 10, places=3),
    st.floats(-3, 3),
    st.decimals(100_000, 900_000, places=2),
)
def test_texts_lead_back_to_the_stored_row(
    applicants: Task, score: int, rate: Any, noise: float, amount: Any
) -> None:
    before = applicants.standardise([[655.0, 5.2, 0.25, 250000.0]])[0]
    row = applicants.standardise([[score, float(rate), noise, float(amount)]])[0]
    wording = Wording(applicants, feasible=True)
    values = dict(zip(wording.names, wording.values(before[None])[0], strict=True))
    values |= {change.feature: change.after for change in wording.changes(before, row)}
    read = applicants.standardise([[float(values[name]) for name in wording.names]])[0]
    assert read.tobytes() == (row + 0.0).tobytes()


def test_words_do_not_depend_on_who_is_beside(mixed: Task) -> None:
    rows = mixed.encoded(
        pd.DataFrame([PERSON, PERSON | {"rate": 7.0, "debts": 5}, PERSON | {"rate": 5.123}])
    )
    wording = Wording(mixed, feasible=True)
    together = wording.all_changes(rows[[0, 0, 1]], rows[[1, 2, 2]])
    assert together[0] == wording.changes(rows[0], rows[1])
    assert together[1] == wording.changes(rows[0], rows[2])
    assert wording.values(rows)[1] == wording.values(rows[1:2])[0]


def test_five_changes_are_told_and_the_others_folded() -> None:
    changes = [Change(f"f{n}", "raise", str(n), str(n + 1), 9.0 - n) for n in range(7)]
    assert MOST_CHANGES == 5
    assert folded(changes) == "And 2 smaller changes: f5 from 5 to 6; f6 from 6 to 7."
    assert folded(changes[:6]) == "And 1 smaller change: f5 from 5 to 6."
    assert folded(changes[:5]) == ""


def test_categories_in_part_are_named(mixed: Task) -> None:
    row, other = mixed.encoded(pd.DataFrame([PERSON, PERSON | {"purpose": "study"}]))
    between_both = 0.6 * row + 0.4 * other
    wording = Wording(mixed)
    assert wording.changes(row, between_both) == []
    assert wording.parts(between_both) == ["purpose"]
    assert wording.parts(other) == []
    assert "purpose" in in_parts(["purpose"])


def test_reasons_are_in_plain_words() -> None:
    assert why_not("nothing found") == "the method found nothing"
    assert all(why_not(outcome) == words for outcome, words in PLAIN.items())
    assert why_not("not in the table") == "not in the table"
    assert why_not("age may only increase", "changes in the wrong direction") == (
        "the answer breaks a rule: age may only increase"
    )


def test_whole_numbers_stay_whole_and_fractions_are_shown(applicants: Task) -> None:
    person = [655.0, 5.2, 0.0, 250000.0]
    (change,) = between(applicants, person, [671.0, *person[1:]])
    assert str(change) == "Raise score from 655 to 671"
    (change,) = between(applicants, person, [654.62, *person[1:]])
    assert str(change) == "Lower score from 655 to 654.6"


def test_a_change_is_never_rounded_away(applicants: Task) -> None:
    person = [655.0, 5.2, 0.0, 250000.0]
    (change,) = between(applicants, person, [655.0004, *person[1:]])
    assert str(change) == "Raise score from 655 to 655.0004"
    (change,) = between(applicants, [655.0, 5.2, 0.0, 250000.0], [655.0, 5.1996, 0.0, 250000.0])
    assert str(change) == "Lower rate from 5.2 to 5.1996"


def test_digits_are_those_of_the_feature(applicants: Task) -> None:
    person = [655.0, 5.2, 0.123456, 250000.25]
    changes = between(applicants, person, [655.0, 4.0, 1.5, 300000.0])
    said = {change.feature: str(change) for change in changes}
    assert said["rate"] == "Lower rate from 5.2 to 4.0"
    assert said["noise"] in (
        "Raise noise from 0.12 to 1.50",
        "Raise noise from 0.123 to 1.500",
    )
    # Cents of hundreds of thousands say nothing.
    assert said["amount"] == "Raise amount from 250000.2 to 300000.0"


def test_nothing_that_stays_is_told_and_the_largest_comes_first(applicants: Task) -> None:
    person = [655.0, 5.2, 0.0, 250000.0]
    assert between(applicants, person, person) == []
    changes = between(applicants, person, [650.0, 9.9, 0.0, 250000.0])
    assert [change.feature for change in changes] == ["rate", "score"]
    factual, counterfactual = applicants.standardise([person, [650.0, 9.9, 0.0, 250000.0]])
    whole = applicants.distances(factual[None], counterfactual[None])[0]
    assert sum(change.size for change in changes) / 4 == pytest.approx(whole)


def test_words_of_a_real_run_lead_to_the_counterfactual(quick_run: Results) -> None:
    task = load_task("diabetes")
    wording = Wording(task)
    answers = quick_run.counterfactuals("diabetes", 2026, "wachter")
    original = task.original(answers.rows)
    for i in range(len(answers)):
        for change in wording.changes(answers.factuals[i], answers.rows[i]):
            value = original[change.feature].iloc[i]
            decimals = len(change.after.partition(".")[2])
            assert float(change.after) == pytest.approx(value, abs=0.51 * 10.0**-decimals)
            up = float(change.after) > float(change.before)
            assert change.direction == ("raise" if up else "lower")


def test_values_of_training_rows_come_back_as_they_are_in_the_data(quick_run: Results) -> None:
    task = load_task("diabetes")
    answers = quick_run.counterfactuals("diabetes", 2026, "kdtree")
    train = task.frame.iloc[task.split.train]
    said = {
        (change.feature, change.after)
        for i in range(len(answers))
        for change in Wording(task).changes(answers.factuals[i], answers.rows[i])
    }
    for feature, after in said:
        assert np.isclose(train[feature], float(after), atol=1e-9).any() or feature == (
            "DiabetesPedigreeFunction"
        )


def test_templates_name_all_that_there_is_to_say() -> None:
    for language in languages():
        for name in ("raise", "lower", "change", "short"):
            template = find_catalogue(language).sentences[name].lower()
            for part in ("{feature}", "{before}", "{after}"):
                assert part in template
