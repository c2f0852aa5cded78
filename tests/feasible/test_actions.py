"""What people may be told: feasible rows, the nearest one, and rows near one."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from changeproof.datasets.custom import own_task
from changeproof.datasets.kept import task_from_bytes, task_to_bytes
from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.feasible.rules import CATEGORY, DIRECTION, FIXED, MOST, RANGE, STEP
from loans import loans
from mixed_tasks import may_be_told, random_task

SEEDS = st.integers(0, 10**6)


def task_of(actions: dict[str, Any] | None = None, most: int | None = None) -> Task:
    return own_task(
        loans(),
        target="approved",
        favourable="yes",
        id_column="applicant",
        actions=actions,
        most_changes=most,
    )


def wild(task: Task, seed: int, size: float = 1.5) -> tuple[np.ndarray, np.ndarray]:
    """Return people within their ranges, and rows anywhere."""
    people = task.rows("test")
    people = people[[not reason for reason in task.actions.refusals(people)]]
    moves = np.random.default_rng(seed).normal(scale=size, size=people.shape)
    return people, people + np.where(np.abs(moves) < 0.2, 0.0, moves)


@settings(max_examples=150, deadline=None)
@given(SEEDS)
def test_a_projected_row_is_feasible_and_stays_as_it_is(seed: int) -> None:
    task = random_task(seed)
    people, rows = wild(task, seed)
    nearest = task.actions.project(people, rows)
    assert task.actions.feasible(people, nearest).all()
    assert np.array_equal(task.actions.project(people, nearest), nearest)
    low, high = task.actions.bounds(people)
    assert ((nearest >= low - 1e-9) & (nearest <= high + 1e-9)).all()
    before, after = (task.readable(each).to_dict("records") for each in (people, nearest))
    assert all(may_be_told(task, *pair) for pair in zip(before, after, strict=True))


@settings(max_examples=150, deadline=None)
@given(SEEDS)
def test_what_is_told_is_the_row_itself(seed: int) -> None:
    task = random_task(seed)
    people, rows = wild(task, seed)
    for each in (people, task.actions.project(people, rows)):
        assert task.encoded(task.readable(each)).tobytes() == each.tobytes()


@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_breaches_are_what_an_obvious_judge_finds(seed: int) -> None:
    task = random_task(seed)
    people, rows = wild(task, seed)
    nearest = task.actions.project(people, rows)
    generator = np.random.default_rng(seed)
    # Whole rows of which some features come from others: feasible in part.
    mixed = nearest.copy()
    other = task.rows("train")[generator.integers(0, len(task.rows("train")), len(people))]
    for feature in task.features:
        swap = generator.random(len(people)) < 0.3
        mixed[np.ix_(swap, feature.columns)] = other[np.ix_(swap, feature.columns)]
    before, after = (task.readable(each).to_dict("records") for each in (people, mixed))
    expected = [may_be_told(task, *pair) for pair in zip(before, after, strict=True)]
    assert task.actions.feasible(people, mixed).tolist() == expected


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_the_projection_is_the_nearest_feasible_row(seed: int) -> None:
    """Against all rows that can be made of the values that are near, on what has few."""
    task = random_task(seed)
    people, rows = wild(task, seed)
    people, rows = people[:2], rows[:2]
    nearest = task.actions.project(people, rows)
    weights = 1.0 / task.distance_scale
    for person, row, found in zip(people, rows, nearest, strict=True):
        choices = [_near(task, person, row, place) for place in range(len(task.features))]
        if np.prod([float(len(each)) for each in choices]) > 3_000:
            continue
        made = np.array([np.concatenate(each) for each in itertools.product(*choices)])
        columns = np.concatenate([feature.columns for feature in task.features])
        made = made[:, np.argsort(columns)]
        repeated = np.repeat(person[None], len(made), axis=0)
        made = made[task.actions.feasible(repeated, made)]
        best = (np.abs(made - row) * weights).sum(axis=1).min()
        # A number without steps is rounded as it is written, which costs at most half a unit.
        unit = (
            0.5
            * (task.actions.rules.step[task.actions.rules.feature_of] / task.scale * weights).sum()
        )
        assert (np.abs(found - row) * weights).sum() <= best + unit + 1e-9


def _near(task: Task, person: np.ndarray, row: np.ndarray, place: int) -> list[np.ndarray]:
    """Return the values of a feature that could be the nearest: the person's own, and around."""
    feature, rules = task.features[place], task.actions.rules
    columns = list(feature.columns)
    own = person[columns]
    if feature.kind == "categorical":
        blocks = np.eye(len(columns))
    elif feature.kind == "binary":
        blocks = np.array([[0.0], [1.0]])
    else:
        (column,) = columns
        raw = row[column] * task.scale[column] + task.mean[column]
        low, high = rules.low[place], rules.high[place]
        step, base = rules.step[place], rules.base[place]
        raw = min(max(raw, low), high)
        steps = np.floor((raw - base) / step) + np.arange(-1, 3)
        blocks = (base + steps * step)[:, None]
    return [own, *((blocks - task.mean[columns]) / task.scale[columns])]


@pytest.mark.parametrize(
    ("actions", "most", "feature", "value", "way", "words"),
    [
        ({"owner": {"change": "none"}}, None, "owner", None, FIXED, "owner may not change"),
        ({"debts": {"change": "decrease"}}, None, "debts", 9, DIRECTION, "debts may only decrease"),
        ({"income": {"change": "increase"}}, None, "income", 1.0, DIRECTION, "may only increase"),
        ({"debts": {"high": 4}}, None, "debts", 5, RANGE, "debts leaves its range, 0 to 4"),
        (None, None, "income", 1e6, RANGE, "income leaves its range"),
        ({"purpose": {"among": ["car"]}}, None, "purpose", "house", RANGE, "advice may not name"),
        (None, None, "debts", 2.5, STEP, "debts is no whole step of 1"),
        ({"income": {"step": 50}}, None, "income", 3010, STEP, "income is no whole step of 50"),
    ],
)
def test_every_rule_is_told_by_its_words(
    actions: dict[str, Any] | None,
    most: int | None,
    feature: str,
    value: Any,
    way: str,
    words: str,
) -> None:
    task = task_of(actions, most)
    people = task.rows("test")
    people = people[[not reason for reason in task.actions.refusals(people)]][:1]
    told = task.readable(people).astype(object)
    if value is None:
        value = "yes" if told.loc[0, feature] == "no" else "no"
    told.loc[0, feature] = value
    found = task.actions.breaches(people, task.encoded(told))
    assert found.first == [way]
    assert words in found.words[0]


def test_partial_categories_and_too_many_changes_are_breaches() -> None:
    task = task_of(most=1)
    person = task.rows("test")[:1]
    block = next(feature for feature in task.features if feature.name == "purpose").columns
    partly = person.copy()
    partly[:, block] += 0.1
    assert task.actions.breaches(person, partly).first == [CATEGORY]
    told = task.readable(person).assign(
        income=2222.22, debts=(task.readable(person)["debts"] + 1) % 5
    )
    assert task.actions.breaches(person, task.encoded(told)).first == [MOST]


def test_constant_columns_never_change_and_do_not_count_in_the_distance() -> None:
    frame = loans().assign(always=3.0)
    wide = own_task(frame, target="approved", favourable="yes", id_column="applicant")
    task = task_of()
    people = task.rows("test")
    moved = people + 1.0
    plain = np.delete(np.arange(wide.n_features), wide.feature_names.index("always"))
    others = wide.rows("test")
    there = others + 1.0
    assert np.allclose(others[:, plain], people)
    assert np.allclose(wide.distances(others, there), task.distances(people, moved))
    told = wide.readable(wide.actions.project(others, there))
    assert set(told["always"]) == {3}


def test_a_cost_replaces_the_scale_of_the_distance() -> None:
    task = task_of({"income": {"cost": 0.01}, "purpose": {"cost": 5.0}, "owner": {"cost": 2.0}})
    person = task.rows("test")[:1]
    told = task.readable(person)
    for change, expected in (
        ({"income": told["income"] + 100}, 1.0),
        ({"purpose": ["car" if told["purpose"][0] != "car" else "study"]}, 5.0),
        ({"owner": ["yes" if told["owner"][0] == "no" else "no"]}, 2.0),
    ):
        moved = task.encoded(told.assign(**change))
        assert task.distances(person, moved)[0] * len(task.features) == pytest.approx(expected)


def test_people_outside_a_stated_range_get_a_reason() -> None:
    task = task_of({"debts": {"low": 1, "high": 3}})
    people = task.readable(task.rows("test"))
    reasons = task.actions.refusals(task.rows("test"))
    for debts, reason in zip(people["debts"], reasons, strict=True):
        expected = f"debts is {debts}, outside the allowed range 1 to 3"
        assert reason == ("" if 1 <= debts <= 3 else expected)
    assert not any(task_of().actions.refusals(task.rows("test")))


@pytest.mark.parametrize(
    ("actions", "most", "message"),
    [
        ({"age": {}}, None, "unknown feature 'age'; expected one of: income, debts, purpose"),
        ({"income": {"low": 9, "high": 1}}, None, "the range is empty: low 9 is above high 1"),
        ({"income": {"step": 0}}, None, "step: input should be greater than 0; got 0"),
        ({"income": {"cost": -1}}, None, "cost: input should be greater than 0; got -1"),
        ({"income": {"low": float("nan")}}, None, "low: input should be a finite number; got nan"),
        ({"income": {"order": ["a"]}}, None, "holds numbers; an order is for categories"),
        ({"income": {"among": ["a"]}}, None, "holds numbers; among is for categories"),
        ({"purpose": {"among": ["boat"]}}, None, "unknown category of feature 'purpose' 'boat'"),
        ({"income": {"change": "up"}}, None, "feature 'income': change"),
        ({"income": {"chnge": "any"}}, None, "unknown key 'chnge'; expected one of: change, low"),
        ({"income": "none"}, None, "expected what may change"),
        ({"purpose": {"low": 1}}, None, "holds categories; low is for numbers"),
        ({"purpose": {"change": "increase"}}, None, "categories without an order"),
        ({"purpose": {"order": ["car", "house"]}}, None, "expected each of its categories once"),
        ({}, 0, "most_changes is 0; expected a whole number of 1 or more"),
        (
            {key: {"change": "none"} for key in ["income", "debts", "purpose", "owner", "member"]},
            None,
            "no feature may change",
        ),
    ],
)
def test_wrong_constraints_are_refused(
    actions: dict[str, Any], most: int | None, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        task_of(actions, most)
    assert message in str(caught.value)


def test_natural_orders_need_not_be_stated() -> None:
    task = task_of({"member": {"change": "increase"}})
    people = task.rows("test")
    told = task.readable(people)
    flipped = task.encoded(told.assign(member=~told["member"]))
    assert task.actions.feasible(people, flipped).tolist() == (~told["member"]).tolist()
    assert task_of({"debts": {"change": "increase"}}).actions.rules.features[1, 3] == 2


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_a_kept_task_keeps_what_may_change(seed: int) -> None:
    task = random_task(seed)
    back = task_from_bytes(task_to_bytes(task))
    assert back.declared == task.declared
    assert back.most_changes == task.most_changes
    assert back.fingerprint == task.fingerprint
    bare = Task(task.name, task.frame, task.labels, task.split, task.features, task.given_ids)
    said = bool(task.declared) or task.most_changes is not None
    assert (bare.fingerprint != task.fingerprint) == said
