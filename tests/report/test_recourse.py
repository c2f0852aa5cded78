from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from changeproof import Results, Task, load_task
from changeproof.report.recourse import TEMPLATES, Change, Wording


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


def between(task: Task, before: list[float], after: list[float]) -> list[Change]:
    factual, counterfactual = task.standardise([before, after])
    return Wording(task).changes(factual, counterfactual)


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
    for template in TEMPLATES.values():
        for part in ("{feature}", "{before}", "{after}"):
            assert part in template
