from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from changeproof.methods.search import realisable_rows
from changeproof.methods.search.growing_spheres import GrowingSpheres
from changeproof.methods.search.realisable_rows import nearest_accepted
from changeproof.methods.search.realisable_spheres import RealisableSpheres
from realisable import asked, loans_task

TASK = loans_task()
ACTIONS = TASK.actions
PEOPLE = TASK.rows("train")[:12]


def column(name: str) -> int:
    return TASK.features[[feature.name for feature in TASK.features].index(name)].columns[0]


def fewer_debts(rows: np.ndarray) -> np.ndarray:
    """At most one debt, in standardised units."""
    return np.asarray(ACTIONS.raw(rows)[:, column("debts")] < 1.5)


def spheres(norm: Literal[1, 2], shells: int = 100) -> RealisableSpheres:
    like = GrowingSpheres(samples=300, norm=norm, step=0.1, max_shells=shells)
    return RealisableSpheres(like=like, actions=ACTIONS)


@pytest.mark.parametrize("norm", [1, 2])
def test_what_is_found_is_realisable_accepted_and_as_short_as_can_be(norm: Literal[1, 2]) -> None:
    asking = PEOPLE[~fewer_debts(PEOPLE)]
    points, shells = spheres(norm).search(asking, asking, fewer_debts, "test")
    assert (shells > 0).all()
    assert ACTIONS.realisable(asking, points).all()
    expected = asking.copy()
    expected[:, column("debts")] = (1.0 - TASK.mean[column("debts")]) / TASK.scale[column("debts")]
    np.testing.assert_allclose(points, expected, rtol=0, atol=1e-12)


def test_a_centre_of_its_own_is_searched_around_and_the_person_counts_for_what_may_change() -> None:
    """From a row with fewer debts, what people may be told is still theirs."""
    centres = ACTIONS.project(PEOPLE, TASK.rows("train")[200:212])

    def richer(rows: np.ndarray) -> np.ndarray:
        return np.asarray(ACTIONS.raw(rows)[:, column("income")] > 4400.0)

    points, _ = spheres(2).search(PEOPLE, centres, richer, "test")
    assert ACTIONS.realisable(PEOPLE, points).all()
    assert richer(points).all()
    raw = ACTIONS.raw(points)[:, column("income")]
    own = ACTIONS.raw(PEOPLE)[:, column("income")]
    assert (raw[own < 4400] < 4460).all()


def test_a_search_without_a_hit_ends_with_its_budget_or_where_nothing_is_left() -> None:
    points, shells = spheres(1, 7).search(PEOPLE, PEOPLE, lambda rows: rows[:, 0] > 99, "none")
    assert np.isnan(points).all()
    assert set(shells) == {7}
    points, shells = spheres(1, 10_000).search(PEOPLE, PEOPLE, lambda rows: rows[:, 0] > 99, "none")
    assert np.isnan(points).all()
    low, high = ACTIONS.bounds(PEOPLE)
    farthest = np.maximum(high - PEOPLE, PEOPLE - low).sum(axis=1)
    assert (0.1 * shells <= farthest + 0.1).all()
    # The farthest row that there is lies inside of the last shell.
    generator = np.random.default_rng(1)
    rows = ACTIONS.sample(PEOPLE, PEOPLE, np.full(500, 99.0), generator, 1)
    lengths = np.abs(rows - PEOPLE[:, None]).sum(axis=2).max(axis=1)
    assert (lengths <= 0.1 * shells + 1e-9).all()


def test_shells_in_which_a_network_is_proven_adverse_are_left_out() -> None:
    context, factuals = asked(TASK, 10)
    accept = context.model.favourable
    search = spheres(2).search
    points, shells = search(factuals.rows, factuals.rows, accept, "skip", model=context.model)
    slow, all_shells = search(factuals.rows, factuals.rows, accept, "skip")
    assert accept(points).all()
    assert (shells >= all_shells).all()
    distances = [TASK.distances(factuals.rows, rows) for rows in (points, slow)]
    assert distances[0].mean() <= 1.1 * distances[1].mean()


def test_the_nearest_rows_come_in_the_order_of_their_distance_and_each_once() -> None:
    rows = TASK.rows("train")
    asked_about: list[np.ndarray] = []

    def accept(tried: np.ndarray, who: np.ndarray) -> np.ndarray:
        assert (who == 0).all()
        asked_about.append(tried)
        return fewer_debts(tried)

    person = PEOPLE[~fewer_debts(PEOPLE)][:1]
    twice = np.concatenate([rows, rows])
    found = nearest_accepted(ACTIONS, person, twice, accept, wanted=5, at_once=7)
    told = ACTIONS.project(person, twice[None])[0]
    told = np.unique(told[fewer_debts(told)], axis=0)
    distances = np.sort(TASK.distances(np.repeat(person, len(told), axis=0), told))
    assert len(np.unique(found.rows[0], axis=0)) == 5
    got = TASK.distances(np.repeat(person, 5, axis=0), found.rows[0])
    np.testing.assert_allclose(got, distances[:5])
    assert found.asked[0] == sum(map(len, asked_about))
    few = nearest_accepted(ACTIONS, person, rows, lambda tried, _: tried[:, 0] > 99, most_asked=20)
    assert few.asked.tolist() == [20]
    assert np.isnan(few.rows).all()


def test_with_many_rows_fewer_people_are_looked_at_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = TASK.rows("train")

    def found() -> tuple[bytes, list[int]]:
        nearest = nearest_accepted(
            ACTIONS, PEOPLE, rows, lambda tried, _: fewer_debts(tried), wanted=3, at_once=7
        )
        return nearest.rows.tobytes(), nearest.asked.tolist()

    together = found()
    sizes = []
    fill = realisable_rows.fill_distances

    def counted(lengths: np.ndarray, *more: np.ndarray) -> None:
        sizes.append(lengths.size)
        fill(lengths, *more)

    monkeypatch.setattr(realisable_rows, "fill_distances", counted)
    monkeypatch.setattr(realisable_rows, "DISTANCES_AT_ONCE", 5 * len(rows))
    assert found() == together
    assert max(sizes) == 5 * len(rows)
