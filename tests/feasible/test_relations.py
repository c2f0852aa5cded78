"""Rules between features: what follows, what is broken, and what every method tells people."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import changeproof as cp
from benchmarks.related_tables import LEVELS, contradictions, random_table
from changeproof import InputError, Task, own_task
from changeproof.datasets.kept import task_from_bytes, task_to_bytes
from changeproof.feasible.stated import least_squares

ROWS = 80


def table(**columns: Any) -> pd.DataFrame:
    draw = np.random.default_rng(7)
    minutes, noise = draw.integers(0, 300, ROWS), draw.normal(0, 80, ROWS)
    frame = pd.DataFrame(
        {
            "minutes": minutes,
            "charge": (0.17 * minutes).round(2),
            "age": draw.integers(30, 70, ROWS),
            "seniority": draw.integers(0, 14, ROWS),
            "income": draw.integers(10, 40, ROWS) * 100,
            "level": draw.choice(LEVELS, ROWS),
            "owner": draw.choice(["no", "yes"], ROWS),
            **columns,
        }
    )
    return frame.assign(good=np.where(minutes + noise > 150, "yes", "no"))


def made(*rules: str, frame: pd.DataFrame | None = None, **more: Any) -> Task:
    actions = {"level": {"order": LEVELS}} | more.pop("actions", {})
    data = table() if frame is None else frame
    return own_task(data, target="good", favourable="yes", rules=rules, actions=actions, **more)


def told(task: Task, person: int, **changes: Any) -> tuple[Any, Any]:
    """Return a person's row and one with other values, both as the task encodes them."""
    own = task.readable(task.standardise(task.frame.iloc[[person]])).astype(object)
    other = own.copy()
    for name, value in changes.items():
        other[name] = [value]
    return task.encoded(own), task.encoded(other)


def breach(task: Task, person: int, **changes: Any) -> str:
    return task.actions.breaches(*told(task, person, **changes)).words[0]


def test_what_is_derived_follows_and_is_not_done() -> None:
    task = made("charge = 0.17 * minutes")
    own, row = told(task, 3, minutes=100)
    followed = task.actions.follow(own, row)
    assert task.readable(followed)["charge"].tolist() == [17.0]
    assert (task.actions.doing(own, followed) == row).all()
    assert task.actions.feasible(own, followed).all()
    names = [feature.name for feature in task.features]
    assert task.actions.changed(own, followed)[0].tolist() == [name == "minutes" for name in names]
    assert task.distances(own, followed) == task.distances(own, row)
    assert not task.actions.changeable[names.index("charge")]


def test_what_does_not_follow_is_a_breach() -> None:
    task = made("charge = 0.17 * minutes")
    words = "charge does not follow from minutes: charge = 0.17 * minutes"
    assert breach(task, 3, minutes=100) == words
    assert breach(task, 3, charge=1.0) == words
    assert breach(task, 3, minutes=100, charge=17.0) == ""
    assert breach(task, 3, minutes=101, charge=17.17) == ""
    first = task.actions.breaches(*told(task, 3, charge=1.0)).first
    assert first == ["breaks a rule between features"]


def test_derived_features_may_follow_from_derived_ones() -> None:
    frame = table()
    frame = frame.assign(tax=(0.2 * frame["charge"]).round(3))
    task = made("tax = 0.2 * charge", "charge = 0.17 * minutes", frame=frame)
    own, row = told(task, 3, minutes=100)
    values = task.readable(task.actions.follow(own, row))
    assert (values["charge"].item(), values["tax"].item()) == (17.0, 3.4)


def test_causes_keep_what_is_the_persons_own() -> None:
    task = made(causes={"income": "50 * seniority"}, actions={"income": {"step": 50.0}})
    income, seniority = (task.frame.iloc[3][name] for name in ("income", "seniority"))
    own, row = told(task, 3, seniority=int(seniority) + 4)
    followed = task.actions.follow(own, row)
    assert task.readable(followed)["income"].item() == income + 200
    assert (task.actions.doing(own, followed) == row).all()
    both = told(task, 3, seniority=int(seniority) + 4, income=income + 300)[1]
    done = task.readable(task.actions.doing(own, both))
    assert done["income"].item() == income + 100
    assert (task.actions.follow(own, task.actions.doing(own, both)) == both).all()


def test_causes_can_be_fitted() -> None:
    frame = table()
    bonus = 500 * (frame["owner"] == "yes")
    frame["income"] = 1000 + 30 * frame["seniority"] + bonus
    task = made(frame=frame, causes={"income": "fitted(seniority, owner)"})
    assert task.relations is not None
    (follower,) = task.relations.followers
    assert follower.text == "30.0 * `seniority` + 500.0 * (if `owner` == 'yes' then 1 else 0)"
    assert any("income follows its causes: 30.0" in note for note in task.notes)


def test_least_squares_agrees_with_numpy() -> None:
    draw = np.random.default_rng(3)
    columns, goal = draw.normal(size=(4, 50)), draw.normal(size=50)
    design = np.column_stack([columns.T, np.ones(50)])
    expected = np.linalg.lstsq(design, goal, rcond=None)[0][:4]
    assert least_squares(columns.tolist(), goal.tolist()) == pytest.approx(expected, rel=1e-5)
    twice = [columns[0].tolist(), columns[0].tolist()]
    assert least_squares(twice, columns[0].tolist()) == [1.0, 0.0]


def test_conditions_count_only_where_something_changes() -> None:
    frame = table(seniority=np.full(ROWS, 60))
    task = made("seniority <= age - 16", frame=frame)
    assert any("80 of 80 rows break the rule" in note for note in task.notes)
    assert breach(task, 3, income=2000) == ""
    assert breach(task, 3, age=69) == "it breaks the rule seniority <= age - 16"


def test_what_is_joined_by_and_counts_for_itself() -> None:
    frame = table(seniority=np.full(ROWS, 60))
    task = made("seniority <= age - 16 and income >= 1000", frame=frame)
    assert breach(task, 3, income=1500) == ""


def test_transitions_consequences_and_what_changes_together() -> None:
    frame = table(level=["school"] * 40 + ["college", "bachelor", "master", "school"] * 10)
    task = made(
        "level: school -> college, college -> bachelor",
        "level up => age at least + 2",
        "owner, income change together",
        frame=frame,
    )
    age, income = int(task.frame.iloc[3]["age"]), int(task.frame.iloc[3]["income"])
    assert "may not change in this way" in breach(task, 3, level="master", age=age + 2)
    assert "level up => age" in breach(task, 3, level="college", age=age + 1)
    assert breach(task, 3, level="college", age=age + 2) == ""
    other = "yes" if task.readable(told(task, 3)[0])["owner"].item() == "no" else "no"
    assert "change together" in breach(task, 3, owner=other)
    assert "change together" in breach(task, 3, income=income + 100)
    assert breach(task, 3, owner=other, income=income + 100) == ""


def test_projected_rows_keep_all_rules() -> None:
    for seed in range(12):
        found = random_table(seed)
        task = found.task
        people = task.rows("test")
        actions = task.actions_for(task.row_ids("test"))
        rows = np.repeat(task.rows("train")[None, :9], len(people), axis=0)
        projected = actions.project(people, rows)
        for k in range(rows.shape[1]):
            assert actions.feasible(people, projected[:, k]).all(), seed
            assert (actions.project(people, projected[:, k]) == projected[:, k]).all(), seed


def test_following_and_doing_undo_each_other() -> None:
    for seed in range(12):
        task = random_table(seed).task
        people, others = task.rows("test"), task.rows("train")[: len(task.rows("test"))]
        actions = task.actions_for(task.row_ids("test"))
        rows = actions.project(people, others)
        assert (actions.follow(people, actions.doing(people, rows)) == rows).all(), seed


METHODS = [cp.KDTree, cp.Wachter, cp.RobXBalanced, cp.RNCE]


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 10**6), st.sampled_from(METHODS))
def test_no_answer_breaks_a_rule(seed: int, method: type[cp.Method]) -> None:
    _, _, broken = contradictions(random_table(seed), method, seed)
    assert not broken, broken[:3]


def test_most_people_get_an_answer_with_rules_of_all_kinds() -> None:
    counts = np.array(
        [contradictions(random_table(seed), cp.KDTree, seed)[:2] for seed in range(4)]
    )
    assert counts[:, 1].sum() >= 0.9 * counts[:, 0].sum()


@pytest.mark.parametrize(
    ("rules", "more", "message"),
    [
        (["charge = 0.17 * minuts"], {}, "unknown name 'minuts' at character 17; did you mean"),
        (
            ["charge = 0.2 * minutes"],
            {},
            r"does not fit \d+ of 80 rows: in the first, row 0, charge",
        ),
        (["charge = charge + 1"], {}, "'charge' follow from each other in a circle"),
        (["charge = minutes", "minutes = charge"], {}, "follow from each other in a circle"),
        (["charge = 0.17 * minutes"] * 2, {}, "'charge' is said to follow twice"),
        (["charge = 3"], {}, "'charge' would follow from nothing"),
        (["level = 3 * age"], {}, "'level' holds categories at character 1; only numbers"),
        (
            ["charge = 0.17 * minutes"],
            {"actions": {"charge": {"change": "increase"}}},
            "follows from others .* so nobody changes it; leave out change = 'increase'",
        ),
        (["age: a -> b"], {}, "'age' holds numbers at character 1; -> is for categories"),
        (["level: school -> shool"], {}, "'level' has no category 'shool'"),
        (["age, zzz change together"], {}, "unknown name 'zzz'"),
        (["age change together"], {}, "expected two features or more, each once"),
        (["age"], {}, "expected a comparison"),
        (["was(age) > 3"], {}, "names no feature that may change"),
        ("age > 3", {}, "rules: expected a list of texts"),
        ([], {"causes": {"zzz": "age"}}, "unknown name 'zzz'"),
        ([], {"causes": {"income": "fitted(zzz)"}}, "unknown feature 'zzz'"),
        ([], {"causes": {"income": "income * 2"}}, "in a circle"),
    ],
)
def test_rules_that_make_no_sense_are_refused(
    rules: Any, more: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        own_task(table(), target="good", favourable="yes", rules=rules, **more)


def test_rules_and_limits_are_kept_and_make_another_task() -> None:
    frame = table()
    limits = pd.DataFrame({"id": [3, 5], "high:income": [4500, None], "fixed:level": [None, "yes"]})
    plain, related = made(frame=frame), made("seniority <= age - 16", frame=frame)
    limited = made(frame=frame, person_limits=limits)
    caused = made(frame=frame, causes={"income": "50 * seniority"})
    assert len({each.fingerprint for each in (plain, related, limited, caused)}) == 4
    for task in (related, limited, caused):
        again = task_from_bytes(task_to_bytes(task))
        assert again.fingerprint == task.fingerprint
        assert (again.rules, again.causes) == (task.rules, task.causes)


def test_people_have_limits_of_their_own() -> None:
    frame = table()
    income = frame["income"]
    limits = pd.DataFrame(
        {"id": [3, 5], "high:income": [income[3] + 100, None], "fixed:level": [None, "yes"]}
    )
    task = made(frame=frame, person_limits=limits)
    own, row = told(task, 3, income=int(income[3]) + 200)
    mine, others = (task.actions_for(np.array([person])) for person in (3, 4))
    assert mine.breaches(own, row).words == ["income leaves this person's own limits"]
    assert others.feasible(own, row).all()
    assert task.readable(mine.project(own, row))["income"].item() == income[3] + 100
    other = "school" if frame["level"][5] != "school" else "master"
    own, row = told(task, 5, level=other)
    fixed = task.actions_for(np.array([5])).breaches(own, row)
    assert fixed.words == ["level may not change for this person"]
    assert (task.actions_for(np.array([5])).project(own, row) == own).all()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"id": [3, 3], "low:income": [1, 2]}, "has person '3' more than once"),
        ({"id": [9999], "low:income": [1]}, "has person '9999', who is not in the data"),
        ({"id": [3], "low:incom": [1]}, "unknown feature 'incom'"),
        ({"id": [3], "least:income": [1]}, "has a column 'least:income'; expected the id"),
        ({"id": [3], "low:level": [1]}, "'level' holds categories; low is for numbers"),
        ({"id": [3], "low:income": ["x"]}, "column 'low:income' holds 'x'"),
        ({"id": [3], "fixed:income": ["perhaps"]}, "holds 'perhaps' at row 0; expected yes, no"),
        ({"id": [3], "low:income": [9], "high:income": [8]}, "low:income is above high:income"),
    ],
)
def test_odd_limits_are_refused(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        made(person_limits=pd.DataFrame(columns))


def test_the_judge_of_this_test_notices_what_is_broken() -> None:
    found = random_table(3)
    free = replace(found, rules=[], causes={}, limits=None)
    task = free.task
    noticed = 0
    for seed in (3, 4):
        assert contradictions(found, cp.KDTree, seed)[2] == []
        noticed += len(contradictions(free, cp.KDTree, seed)[2])
    assert task.relations is None
    assert noticed > 10
