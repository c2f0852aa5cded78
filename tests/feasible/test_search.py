"""The one search among feasible rows, beside brute force."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pandas as pd
import pytest

from changeproof import Network, Task, own_task
from changeproof.feasible import search
from changeproof.feasible.search import THOROUGH, USUAL, FeasibleSearch, NearestRows, SearchEffort
from changeproof.model import Booleans, Floats, Integers
from constrained import loans_task

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


def all_feasible(task: Task, factual: Floats) -> Floats:
    frame = pd.DataFrame(list(product(*VALUES.values())), columns=list(VALUES))
    rows = task.encoded(frame)
    own = task.decoded(factual[None]).iloc[0]
    for feature in task.features:
        # What stays as it is stays so to the byte.
        same = (frame[feature.name] == own[feature.name]).to_numpy()
        rows[np.ix_(same, feature.columns)] = factual[list(feature.columns)]
    return rows[task.actions.feasible(np.repeat(factual[None], len(rows), axis=0), rows)]


def reaching(
    task: Task, people: Floats, score: Callable[[Floats], Floats], target: float
) -> FeasibleSearch:
    return FeasibleSearch(
        task.actions,
        people,
        lambda rows, _: score(rows) >= target,
        lambda rows, _: score(rows),
        1.0 / task.actions.scales.distance,
    )


@pytest.mark.parametrize("most_changes", [None, 2])
def test_what_is_found_is_feasible_and_passes_and_mostly_nothing_is_nearer(
    most_changes: int | None,
) -> None:
    task = tiny_task(most_changes)
    longer, odd = [], 0
    for seed in range(40):
        network = Network.initialised(task.n_features, (6, 4), seed)
        factual = task.rows("train")[[seed % 30]]
        odd += round(task.decoded(factual)["rooms"].iloc[0]) % 2
        rows = all_feasible(task, factual[0])
        logits = network.logits(rows)
        higher = np.sort(logits[logits > network.logits(factual)[0]])
        search = reaching(task, factual, network.logits, float(higher[len(higher) // 2]))
        starts = np.concatenate([search.nearest_of(task.rows("train")), factual[:, None]], axis=1)
        found = search.nearest(starts)
        assert search.passes(found, np.zeros(1, np.int64))[0]
        assert task.actions.feasible(factual, found)[0]
        np.testing.assert_array_equal(task.actions.project(factual, found), found)
        passing = rows[search.passes(rows, np.zeros(len(rows), np.int64))]
        shortest = search.lengths(passing[None]).min()
        length = search.lengths(found)[0]
        assert length >= shortest - 1e-9
        longer.append(length / shortest - 1.0)
    assert odd > 5
    assert np.median(longer) < 1e-9
    assert np.mean(longer) < 0.05


def test_more_effort_is_never_farther_and_does_not_depend_on_the_batch() -> None:
    task = tiny_task()
    people, farther = task.rows("train"), {}
    for effort in (SearchEffort(exchanges=0), USUAL, THOROUGH):
        lengths = []
        for seed in range(20):
            network = Network.initialised(task.n_features, (6, 4), seed)
            target = float(np.quantile(network.logits(people), 0.9))
            search = reaching(task, people, network.logits, target)
            found = search.nearest(people[:, None], effort)
            alone = reaching(task, people[[3]], network.logits, target)
            np.testing.assert_array_equal(alone.nearest(people[[3]][:, None], effort)[0], found[3])
            there = np.isfinite(found).all(axis=1)
            assert search.passes(found[there], np.flatnonzero(there)).all()
            lengths.append(np.where(there, search.lengths(np.where(there[:, None], found, 0)), 0))
        farther[effort] = np.array(lengths)
    plain, usual, most = farther.values()
    assert (usual <= plain + 1e-9).all()
    assert (most <= usual + 1e-9).mean() > 0.999
    assert (usual < plain - 1e-9).any()


def test_the_nearest_rows_are_kept_in_order_and_each_once() -> None:
    found = NearestRows.none(2, 2, 1)
    for number in (5.0, 3.0, 3.0, 4.0, 6.0):
        found.keep(1, np.array([number]), number)
    assert found.rows[1, :, 0].tolist() == found.lengths[1].tolist() == [3.0, 4.0]
    assert found.fresh.tolist() == [[False, False], [True, True]]
    found.fresh[:] = False
    found.keep(1, np.array([3.5]), 3.5)
    assert found.lengths[1].tolist() == [3.0, 3.5]
    assert found.fresh[1].tolist() == [False, True]


def test_a_climb_ends_with_the_shortest_change_that_passes() -> None:
    task = loans_task()
    people = task.rows("test")[:20]
    column = task.features[[f.name for f in task.features].index("income")].columns[0]
    # The longest jump gains most for its length, but far less is enough.
    search = FeasibleSearch(
        task.actions,
        people,
        lambda rows, who: rows[:, column] > people[who, column] + 0.01,
        lambda rows, who: np.maximum(rows[:, column] - people[who, column], 0.0) ** 2,
        1.0 / task.actions.scales.distance,
    )
    rows, passed = search.climb(people)
    tried, possible = search.neighbours(people, np.zeros((20, len(task.features)), np.bool_))
    enough = possible & (tried[..., column] > people[:, None, column] + 0.01)
    assert passed.sum() > 15 and (enough.sum(axis=1)[passed] > 1).all()
    shortest = np.where(enough, search.lengths(tried), np.inf).min(axis=1)
    np.testing.assert_array_equal(search.lengths(rows)[passed], shortest[passed])


def test_nothing_is_found_where_nothing_passes() -> None:
    task = tiny_task()
    network = Network.initialised(task.n_features, (6, 4), 3)
    factuals = task.rows("train")[:5]
    highest = max(network.logits(all_feasible(task, factual)).max() for factual in factuals)
    impossible = reaching(task, factuals, network.logits, float(highest) + 0.01)
    assert np.isnan(impossible.nearest(factuals[:, None])).all()


def test_neighbours_are_feasible_and_one_feature_away() -> None:
    task = tiny_task(most_changes=2)
    actions, factuals = task.actions, task.rows("train")
    rows = actions.project(factuals, factuals[::-1])
    fixed = np.zeros((len(rows), 4), np.bool_)
    search = reaching(task, factuals, lambda rows: rows[:, 0], 0.0)
    tried, possible = search.neighbours(rows, fixed)
    assert possible.any()
    people = np.nonzero(possible)[0]
    assert actions.feasible(factuals[people], tried[possible]).all()
    np.testing.assert_array_equal(
        actions.project(factuals[people], tried[possible]), tried[possible]
    )
    assert (actions.changed(rows[people], tried[possible]).sum(axis=1) == 1).all()
    assert not search.neighbours(rows, ~fixed)[1].any()


def test_a_climb_arrives_wherever_it_can_and_shortening_keeps_the_goal() -> None:
    task = tiny_task(most_changes=2)
    actions, factuals = task.actions, task.rows("train")
    network = Network.initialised(task.n_features, (6,), 1)
    target = float(np.median(network.logits(factuals)))
    search = reaching(task, factuals, network.logits, target)
    found, passed = search.climb(factuals)
    possible = [
        (network.logits(all_feasible(task, factual)) >= target).any() for factual in factuals
    ]
    assert passed.tolist() == possible
    np.testing.assert_array_equal(passed, network.logits(found) >= target)
    there = np.flatnonzero(passed & (found != factuals).any(axis=1))
    some = search.of(there)
    short = some.shorten(found[there])
    assert (network.logits(short) >= target).all()
    assert actions.feasible(factuals[there], short).all()
    before, after = (some.lengths(rows) for rows in (found[there], short))
    assert (after <= before + 1e-12).all()
    assert (after < before - 1e-9).any()


def test_a_climb_goes_no_farther_than_it_may_and_leaves_fixed_features_alone() -> None:
    task = loans_task()
    actions, factuals = task.actions, task.rows("test")[:20]
    income = [feature.name for feature in task.features].index("income")
    column = task.features[income].columns[0]
    never = FeasibleSearch(
        actions,
        factuals,
        lambda rows, _: np.zeros(len(rows), np.bool_),
        lambda rows, _: rows[:, column],
        1.0 / actions.scales.distance,
    )
    longest = np.linspace(0.1, 2.0, len(factuals))
    rows, passed = never.climb(factuals, longest=longest)
    assert not passed.any()
    assert (never.lengths(rows) <= longest + 1e-8).all()
    assert (rows[:, column] > factuals[:, column]).any()
    fixed = np.zeros((len(factuals), len(actions.features)), np.bool_)
    fixed[:, income] = True
    rows, _ = never.climb(factuals, fixed=fixed)
    np.testing.assert_array_equal(rows, factuals)


TASK = loans_task()
PEOPLE = TASK.rows("test")[:30]
DEBTS = TASK.features[[f.name for f in TASK.features].index("debts")].columns[0]


def few_debts(rows: Floats) -> Booleans:
    return np.asarray(rows[:, DEBTS] * TASK.scale[DEBTS] + TASK.mean[DEBTS] <= 1.5)


def with_few_debts(
    people: Floats, passes: Callable[[Floats, Integers], Booleans]
) -> FeasibleSearch:
    weights = 1.0 / TASK.actions.scales.distance
    return FeasibleSearch(TASK.actions, people, passes, lambda rows, _: -rows[:, DEBTS], weights)


def test_answers_do_not_depend_on_the_batch() -> None:
    def found(people: Floats) -> Floats:
        search = with_few_debts(people, lambda rows, _: few_debts(rows))
        return search.nearest(people[:, None])

    together = found(PEOPLE)
    backwards = found(PEOPLE[::-1])[::-1]
    np.testing.assert_array_equal(together, backwards)
    for place in (0, 7, 29):
        np.testing.assert_array_equal(found(PEOPLE[[place]])[0], together[place])


def test_the_nearest_rows_come_in_the_order_of_their_distance_and_each_once() -> None:
    rows = TASK.rows("train")
    asked_about: list[Floats] = []

    def passes(tried: Floats, who: Integers) -> Booleans:
        assert (who == 0).all()
        asked_about.append(tried)
        return few_debts(tried)

    person = PEOPLE[~few_debts(PEOPLE)][:1]
    twice = np.concatenate([rows, rows])
    found = with_few_debts(person, passes).nearest_of(twice, wanted=5)[0]
    told = TASK.actions.project(person, twice[None])[0]
    told = np.unique(told[few_debts(told)], axis=0)
    distances = np.sort(TASK.distances(np.repeat(person, len(told), axis=0), told))
    assert len(np.unique(found, axis=0)) == 5
    got = TASK.distances(np.repeat(person, 5, axis=0), found)
    np.testing.assert_allclose(got, distances[:5])
    asked_about.clear()

    def never(tried: Floats, who: Integers) -> Booleans:
        passes(tried, who)
        return np.zeros(len(tried), np.bool_)

    few = with_few_debts(person, never).nearest_of(rows, most_tested=20)
    assert sum(map(len, asked_about)) == 20
    assert np.isnan(few).all()


def test_with_many_rows_fewer_people_are_looked_at_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = TASK.rows("train")
    looking = with_few_debts(PEOPLE, lambda tried, _: few_debts(tried))
    together = looking.nearest_of(rows, wanted=3)
    sizes = []
    fill = search.fill_distances

    def counted(lengths: Floats, *more: Floats) -> None:
        sizes.append(lengths.size)
        fill(lengths, *more)

    monkeypatch.setattr(search, "fill_distances", counted)
    monkeypatch.setattr(search, "DISTANCES_AT_ONCE", 5 * len(rows))
    again = looking.nearest_of(rows, wanted=3)
    np.testing.assert_array_equal(again, together)
    assert max(sizes) == 5 * len(rows)
