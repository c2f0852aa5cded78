"""The principal reasons for a decision: features without whose change nothing accepted is near."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from advised import ACTIONS, LOGISTIC, applicants
from changeproof import Results, Task, evaluate, explain, own_task
from changeproof.evaluation.reasons import MOST_REASONS, NEAR, Reasons, find_reasons
from changeproof.methods.method import Factuals
from changeproof.model import Booleans, Floats, Model
from changeproof.models.find import find_learner
from changeproof.networks.training import TrainingRecipe


@pytest.fixture(scope="module")
def task() -> Task:
    return own_task(
        applicants(),
        target="approved",
        favourable="yes",
        id_column="applicant",
        actions=ACTIONS,
        words={
            "income": {"label": "monthly income", "reason": {"code": "R1", "low": "Too little"}},
            "debts": {"reason": {"high": "{value} are too many"}},
        },
    )


@pytest.fixture(scope="module")
def model(task: Task) -> Model:
    return find_learner(LOGISTIC).train([TrainingRecipe(initialisation_seed=0)], task)[0]


@pytest.fixture(scope="module")
def people(task: Task) -> Factuals:
    row_ids = task.row_ids("test")[:40]
    return Factuals(row_ids, task.rows("test")[:40])


@pytest.fixture(scope="module")
def found(task: Task, model: Model, people: Factuals) -> Reasons:
    return find_reasons(task, model, people, task.actions)


def test_only_rejected_people_have_reasons_and_all_of_them_few(
    task: Task, model: Model, people: Factuals, found: Reasons
) -> None:
    accepted = model.favourable(people.rows)
    assert 0 < accepted.sum() < len(accepted)
    for person, already in enumerate(accepted.tolist()):
        assert (len(found.of(person)) == 0) == already
        assert len(found.of(person)) <= MOST_REASONS
    there = found.found
    assert model.favourable(found.rows[there]).all()
    assert task.actions.feasible(people.rows[there], found.rows[there]).all()


def test_reasons_are_kept_in_turn_until_nothing_accepted_is_near(
    task: Task, model: Model, people: Factuals, found: Reasons
) -> None:
    for person in np.flatnonzero(found.found).tolist():
        each = found.of(person)
        worth = [reason.worth for reason in each]
        assert worth == sorted(worth)
        assert len({reason.place for reason in each}) == len(each)
        assert worth[-1] >= NEAR - 1e-6 or len(each) == MOST_REASONS
        # What comes first is changed by the nearest row.
        changed = task.actions.changed(people.rows[[person]], found.rows[[person]])[0]
        assert changed[each[0].place]
        # No row that leaves the reasons as they are is accepted near; of many, none is.
        if worth[-1] < NEAR - 1e-6:
            continue
        rows = others(task, people.rows[person], [reason.place for reason in each])
        near = lengths(task, people.rows[person], rows) < (NEAR - 0.05) * found.lengths[person]
        assert not model.favourable(rows[near]).any()


def others(task: Task, person: Floats, kept: list[int]) -> Floats:
    """Return everybody's rows as this person may be told them, with some features kept."""
    rows = task.rows("train").copy()
    for place in kept:
        columns = list(task.features[place].columns)
        rows[:, columns] = person[columns]
    several = task.actions.project(person[None], rows[None])[0]
    same: Booleans = ~task.actions.changed(np.repeat(person[None], len(several), 0), several)
    return several[same[:, kept].all(axis=1)]


def lengths(task: Task, person: Floats, rows: Floats) -> Floats:
    return np.asarray((np.abs(rows - person) / task.distance_scale).sum(axis=1))


def test_reasons_do_not_depend_on_who_is_beside(
    task: Task, model: Model, people: Factuals, found: Reasons
) -> None:
    order = np.array([7, 3, 30])
    few = find_reasons(task, model, people[order], task.actions)
    for name, values in few.to_arrays().items():
        np.testing.assert_array_equal(values, found.to_arrays()[name][order])


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory, task: Task) -> Results:
    out = tmp_path_factory.mktemp("reasons") / "run"
    families = ["bootstrap(replicates=3)"]
    return evaluate(task, LOGISTIC, ["kdtree"], families, out=out, factuals=10, jobs=1)


def test_table_and_explanation_name_the_same_reasons(audited: Results, task: Task) -> None:
    table = audited.table("reasons")
    assert list(table.columns) == [
        "dataset", "base_seed", "id", "rank", "feature", "code", "sentence", "worth",
    ]  # fmt: skip
    ids = audited.table("people")["id"]
    assert set(table["id"]) == set(ids)
    for person in ids:
        mine = table[table["id"] == person]
        told = explain(audited, person, "kdtree").reasons
        assert [each.sentence for each in told] == mine["sentence"].tolist()
        assert [each.rank for each in told] == mine["rank"].tolist()
        assert [each.feature for each in told] == mine["feature"].tolist()
    income = table[table["feature"] == "income"]
    assert set(income["code"]) == {"R1"}
    # More of it is needed, so that there is too little of it.
    assert set(income["sentence"]) == {"Too little"}
    debts = table[table["feature"] == "debts"]
    # Also of reasons that the nearest row does not change, as others come first.
    assert (debts["rank"] > 1).any()
    assert debts["sentence"].str.fullmatch(r"\d are too many").all()
    # Sentences are of one language; in another one, the usual ones are used, and codes stay.
    german = explain(audited, income["id"].iloc[0], "kdtree", language="de").reasons
    assert german[0].code == "R1"
    assert re.fullmatch(r"Monthly income: \d+,\d\d", german[0].sentence)
    assert pd.to_numeric(table["worth"]).ge(1.0).all()


def test_reasons_are_left_out_where_nobody_asks(
    tmp_path_factory: pytest.TempPathFactory, task: Task
) -> None:
    out = tmp_path_factory.mktemp("none") / "run"
    families = ["bootstrap(replicates=3)"]
    results = evaluate(
        task, LOGISTIC, ["kdtree"], families, out=out, factuals=4, jobs=1, reasons=False
    )
    assert "reasons" not in results.tables()
    assert explain(results, results.table("people")["id"][0], "kdtree").reasons == ()
