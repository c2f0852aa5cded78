"""Searches among the rows that people may be told, compared with all there are."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from changeproof import Network
from changeproof.datasets.custom import own_task
from changeproof.datasets.task import Task
from changeproof.methods.search.alternatives import back, further
from changeproof.methods.search.descent import lowest
from changeproof.methods.search.realisable_minimal import RealisableSearch
from changeproof.methods.search.repair import Goal, lifted, shortened
from changeproof.methods.search.shortest import mended
from changeproof.model import Floats, Integers

VALUES = {
    "rooms": range(7),
    "credits": range(5),
    "purpose": ("car", "house", "study"),
    "owner": ("no", "yes"),
}


def tiny_task(most_changes: int | None = None) -> Task:
    """Four features; people may have an odd number of rooms, but be told of an even one only."""
    generator = np.random.default_rng(5)
    rows = {name: generator.choice(list(values), 60) for name, values in VALUES.items()}
    outcome = np.where(rows["rooms"].astype(int) > rows["credits"].astype(int), "yes", "no")
    return own_task(
        pd.DataFrame({**rows, "approved": outcome}),
        target="approved",
        favourable="yes",
        name="tiny",
        actions={
            "rooms": {"low": 0.0, "high": 6.0, "step": 2.0},
            "credits": {"change": "decrease"},
            "owner": {"change": "increase", "order": ("no", "yes")},
        },
        most_changes=most_changes,
    )


def all_realisable(task: Task, factual: Floats) -> Floats:
    frame = pd.DataFrame(list(product(*VALUES.values())), columns=list(VALUES))
    rows = task.encoded(frame)
    own = task.decoded(factual[None]).iloc[0]
    for feature in task.features:
        # What stays as it is stays so to the byte.
        same = (frame[feature.name] == own[feature.name]).to_numpy()
        rows[np.ix_(same, feature.columns)] = factual[list(feature.columns)]
    return rows[task.actions.realisable(np.repeat(factual[None], len(rows), axis=0), rows)]


def target_between(logits: Floats, own: float) -> float:
    higher = np.sort(logits[logits > own])
    return float(higher[len(higher) // 2])


@pytest.mark.parametrize("most_changes", [None, 2])
def test_exact_is_what_brute_force_finds_and_fast_is_never_shorter(
    most_changes: int | None,
) -> None:
    task = tiny_task(most_changes)
    longer, odd = [], 0
    for seed in range(12):
        network = Network.initialised(task.n_features, (6, 4), seed)
        factual = task.rows("train")[seed]
        odd += round(task.decoded(factual[None])["rooms"].iloc[0]) % 2
        rows = all_realisable(task, factual)
        logits = network.logits(rows)
        target = target_between(logits, network.logits(factual[None])[0])
        shortest = np.abs(rows[logits >= target] - factual).sum(axis=1).min()
        found = {}
        for engine in ("fast", "exact"):
            search = RealisableSearch(network, task.actions, task.rows("train"), engine=engine)
            answer = search.search(factual[None], target)
            assert network.logits(answer)[0] >= target
            assert task.actions.realisable(factual[None], answer)[0]
            np.testing.assert_array_equal(task.actions.project(factual[None], answer), answer)
            found[engine] = np.abs(answer - factual).sum()
        assert found["exact"] == pytest.approx(shortest, rel=2e-3)
        assert found["fast"] >= shortest - 1e-9
        longer.append(found["fast"] / shortest - 1.0)
    assert odd > 2
    assert np.mean(longer) < 0.05
    assert np.median(longer) < 1e-9


def test_exact_finds_where_fast_does_not_and_nothing_where_there_is_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    task = tiny_task()
    network = Network.initialised(task.n_features, (6, 4), 3)
    factual = task.rows("train")[:1]
    rows = all_realisable(task, factual[0])
    most = network.logits(rows).max()
    for engine in ("fast", "exact"):
        search = RealisableSearch(network, task.actions, task.rows("train"), engine=engine)
        assert np.isnan(search.search(factual, most + 0.01)).all()
    nothing = np.full_like(factual, np.nan)
    module = "changeproof.methods.search.realisable_minimal.shortest"
    monkeypatch.setattr(module, lambda *_: nothing)
    found = search.search(factual, most - 1e-4)
    np.testing.assert_allclose(found[0], rows[network.logits(rows).argmax()], atol=1e-9)


def test_alternatives_are_realisable_and_one_feature_away() -> None:
    task = tiny_task(most_changes=2)
    actions, factuals = task.actions, task.rows("train")
    rows = actions.project(factuals, factuals[::-1])
    fixed = np.zeros((len(rows), 4), np.bool_)
    for tried, possible in (
        further(actions, factuals, rows, fixed),
        back(actions, factuals, rows),
    ):
        assert possible.any()
        people = np.nonzero(possible)[0]
        assert actions.realisable(factuals[people], tried[possible]).all()
        np.testing.assert_array_equal(
            actions.project(factuals[people], tried[possible]), tried[possible]
        )
        assert (actions.changed(rows[people], tried[possible]).sum(axis=1) == 1).all()
    assert not further(actions, factuals, rows, ~fixed)[1].any()


def test_rows_are_lifted_to_the_goal_and_shortened_while_they_keep_it() -> None:
    task = tiny_task(most_changes=2)
    actions, factuals = task.actions, task.rows("train")
    network = Network.initialised(task.n_features, (6,), 1)
    logits = network.logits(factuals)
    goal = Goal(lambda rows, _: network.logits(rows), float(np.median(logits)), np.ones(6))
    found, reached = lifted(actions, factuals, factuals, goal)
    possible = [
        (network.logits(all_realisable(task, factual)) >= goal.enough).any() for factual in factuals
    ]
    assert reached.tolist() == possible
    np.testing.assert_array_equal(reached, network.logits(found) >= goal.enough)
    short = shortened(actions, factuals, found, goal, reached)
    assert (network.logits(short)[reached] >= goal.enough).all()
    assert actions.realisable(factuals, short).all()
    assert (goal.lengths(factuals, short) <= goal.lengths(factuals, found)).all()
    as_they_were = np.asarray(logits >= goal.enough)
    np.testing.assert_array_equal(
        mended(actions, factuals, factuals, goal)[0][as_they_were], factuals[as_they_were]
    )


def test_the_lowest_of_an_objective_per_person() -> None:
    """Everybody wants to be like somebody else, as far as that is allowed."""
    task = tiny_task()
    actions, factuals = task.actions, task.rows("train")
    wanted = factuals[::-1]

    def objective(rows: Floats, people: Integers) -> Floats:
        return (np.abs(rows - wanted[people]) / actions.scales.distance).sum(axis=1)

    found = lowest(actions, factuals, [factuals], objective)
    nearest = actions.project(factuals, wanted)
    people = np.arange(len(factuals))
    np.testing.assert_allclose(objective(found, people), objective(nearest, people), atol=1e-9)
