"""Rules between features at the front doors: command line, dataset files, tables of other tools."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import changeproof as cp
from benchmarks.related_tables import random_network
from changeproof import Context, Factuals, Task
from changeproof.adapters.tables import read_counterfactuals
from changeproof.commands.options import data_of
from changeproof.datasets.recourse import FOLLOW, Wording
from changeproof.datasets.words import find_catalogue
from changeproof.evaluation.limit import find_limit
from changeproof.feasible.wide_tables import WIDE
from changeproof.methods.given import GivenCounterfactuals
from changeproof.networks.stack import NetworkStack
from command_line import call

RULES = ["charge = 0.17 * minutes", "seniority <= age - 16"]


def calls(rows: int = 120) -> pd.DataFrame:
    draw = np.random.default_rng(11)
    minutes, age = draw.integers(0, 300, rows), draw.integers(20, 70, rows)
    table = pd.DataFrame(
        {
            "person": [f"P{number:03d}" for number in range(rows)],
            "minutes": minutes,
            "charge": (0.17 * minutes).round(2),
            "age": age,
            "seniority": np.minimum(draw.integers(0, 30, rows), age - 16),
        }
    )
    return table.assign(good=np.where(minutes + draw.normal(0, 60, rows) < 150, "yes", "no"))


def made(rules: list[str], **more: object) -> Task:
    known = {"target": "good", "favourable": "yes", "id_column": "person", "name": "calls"}
    return cp.own_task(calls(), rules=rules, **known, **more)


def test_the_command_line_and_dataset_files_say_the_same(tmp_path: Path) -> None:
    table, limits = tmp_path / "calls.csv", tmp_path / "limits.csv"
    calls().to_csv(table, index=False)
    pd.DataFrame({"person": ["P003"], "high:age": [70]}).to_csv(limits, index=False)
    given = {"target": "good", "favourable": "yes", "id_column": "person", "rule": RULES}
    data, described = data_of(table, {**given, "person_limits": limits})
    (tmp_path / "calls.toml").write_text(
        'data = "calls.csv"\ntarget = "good"\nfavourable = "yes"\nid = "person"\n'
        f'person_limits = "limits.csv"\nrules = {RULES!r}\n'
    )
    told = cp.own_task(data, **described)
    assert told.fingerprint == cp.load_dataset(tmp_path / "calls.toml").fingerprint
    assert told.rules == tuple(RULES)
    assert told.person_limits is not None


def test_causes_stand_in_a_table_of_dataset_files(tmp_path: Path) -> None:
    calls().to_csv(tmp_path / "calls.csv", index=False)
    (tmp_path / "calls.toml").write_text(
        'data = "calls.csv"\ntarget = "good"\nfavourable = "yes"\nid = "person"\n'
        '[causes]\nminutes = "fitted(seniority, age)"\n'
    )
    task = cp.load_dataset(tmp_path / "calls.toml")
    assert any(note.startswith("minutes follows its causes: ") for note in task.notes)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (
            "charge = 0.17 * minuts",
            "unknown name 'minuts' at character 17; did you mean 'minutes'?",
        ),
        ("charge = minutes ** 2", "unexpected '**' at character 18; there are no powers"),
        ("open('x') == 1", "there is no function 'open' at character 1"),
        ("charge = minutes", "does not fit 12"),
    ],
)
def test_a_wrong_rule_is_one_line_on_the_command_line(
    tmp_path: Path, rule: str, message: str
) -> None:
    calls().to_csv(tmp_path / "calls.csv", index=False)
    words = ["audit", "--data", str(tmp_path / "calls.csv"), "--target", "good"]
    words += ["--favourable", "yes", "--id-column", "person", "--rule", rule]
    result = call(*words, "--out", str(tmp_path / "out"))
    assert result.returncode == 2
    assert message in " ".join(result.stderr.split())


def test_notes_propose_a_rule_and_are_quiet_once_it_is_stated() -> None:
    def noted(rules: list[str]) -> list[str]:
        return [note for note in made(rules).notes if "'charge'" in note]

    (note,) = noted([])
    assert "state the rule (`rules=['charge = 0.17 * minutes']`)" in note
    assert noted(RULES) == []


def test_tables_of_other_tools_are_held_to_the_same_rules() -> None:
    task = made(RULES)
    network = random_network(task, 4)
    rows, ids = task.rows("test"), task.row_ids("test")
    rejected = np.flatnonzero(~network.favourable(rows))[:6]
    people = Factuals(ids[rejected], rows[rejected])
    context = Context(task, network, 4, actions=task.actions)
    told = task.readable(cp.KDTree().fit(context).generate(people).rows)
    told["id"] = task.ids.loc[people.row_ids.tolist()].to_numpy()
    told.loc[0, "charge"] = told.loc[0, "charge"] + 1.0
    told.loc[1, ["seniority", "age"]] = [19, 20]
    method = GivenCounterfactuals(table=read_counterfactuals(told, task))
    outcomes = method.fit(context).generate(people).outcomes.tolist()
    assert outcomes[0] == "charge does not follow from minutes: charge = 0.17 * minutes"
    assert outcomes[1] == "it breaks the rule seniority <= age - 16"
    assert set(outcomes[2:]) == {"found"}


def test_what_follows_is_told_as_such_in_two_languages() -> None:
    task = made(RULES)
    own = task.rows("test")[:1]
    row = task.actions.project(own, task.encoded(task.readable(own).assign(minutes=100)))
    wording = Wording(task, feasible=True)
    done, follows = wording.changes(own[0], row[0])
    assert str(done).endswith("to 100")
    assert (follows.direction, follows.size) == (FOLLOW, 0.0)
    assert str(follows) == "charge then becomes 17.00"
    german = Wording(task, feasible=True, language=find_catalogue("de"))
    assert str(german.changes(own[0], row[0])[1]) == "Daraus folgt: charge 17,00"
    assert done.size == pytest.approx(task.distances(own, row)[0] * task.n_counted)


def test_the_limit_keeps_rules_and_peoples_own_limits() -> None:
    limits = calls()[["person"]].assign(**{"fixed:age": "yes"})
    task = made(RULES, person_limits=limits)
    networks = [random_network(task, seed) for seed in (4, 5)]
    rows, ids = task.rows("test"), task.row_ids("test")
    rejected = np.flatnonzero(~networks[0].favourable(rows))[:5]
    actions = task.actions_for(ids[rejected])
    bank = NetworkStack.of(networks)
    found = find_limit(task, networks[0], bank, [2], rows[rejected], actions)
    for row in found.reshape(-1, len(rejected), rows.shape[1]):
        there = np.isfinite(row).all(axis=1)
        own = actions.some_people(np.flatnonzero(there))
        assert own.feasible(rows[rejected][there], row[there]).all()
    assert np.isfinite(found).any()


def test_wide_tables_keep_rules() -> None:
    draw = np.random.default_rng(3)
    names = [f"x{number}" for number in range(WIDE + 5)]
    table = pd.DataFrame(draw.normal(size=(80, len(names))).round(2), columns=names)
    table["sum"] = (table["x0"] + table["x1"]).round(2)
    table["good"] = np.where(draw.random(80) < 0.5, "yes", "no")
    task = cp.own_task(table, target="good", favourable="yes", rules=["sum = x0 + x1", "x2 <= x3"])
    network = random_network(task, 1)
    rows, ids = task.rows("test"), task.row_ids("test")
    rejected = np.flatnonzero(~network.favourable(rows))[:5]
    context = Context(task, network, 1, actions=task.actions)
    answers = cp.KDTree().fit(context).generate(Factuals(ids[rejected], rows[rejected]))
    assert answers.found.any()
    told = task.readable(answers.rows[answers.found])
    was = task.readable(answers.factuals[answers.found])
    moved = (told[["x0", "x1"]] != was[["x0", "x1"]]).any(axis=1)
    assert ((told["sum"] - told["x0"] - told["x1"])[moved].abs() < 0.0051).all()
    moved = (told[["x2", "x3"]] != was[["x2", "x3"]]).any(axis=1)
    assert (told["x2"] <= told["x3"])[moved].all()
