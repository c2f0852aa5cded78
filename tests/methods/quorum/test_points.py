"""The nearest point that networks accept, against a solver and against what it says of itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from changeproof import Network
from changeproof.feasible.wide_tables import SEARCHED_COLUMNS, WIDE
from changeproof.methods.quorum.choosing import Aim, Tried, choose
from changeproof.methods.quorum.points import (
    WORTHWHILE,
    Jury,
    Room,
    nearest_accepted_points,
    pulled,
)
from changeproof.methods.shared.ensembles import Groups
from changeproof.model import Floats
from plain_searches import alike

PEOPLE, COLUMNS = 6, 4


def linear(generator: np.random.Generator) -> Network:
    """Return a network without hidden layers."""
    weight = generator.normal(size=(1, COLUMNS)).astype(np.float32)
    return Network((weight,), (generator.normal(size=1).astype(np.float32),))


def drawn(seed: int) -> tuple[np.random.Generator, Floats, Room]:
    generator = np.random.default_rng(seed)
    people = generator.normal(size=(PEOPLE, COLUMNS))
    weights = generator.uniform(0.1, 1.0, COLUMNS)
    return generator, people, Room(weights, people - 4.0, people + 3.0)


def shortest(networks: list[Network], person: Floats, room: Room, i: int, margin: float) -> float:
    """Return the length of the shortest change that linear networks accept, by HiGHS."""
    slopes = np.array([network.weights[0][0] for network in networks], dtype=float)
    needed = margin - np.array([network.logits(person[None])[0] for network in networks])
    costs = np.concatenate([room.weights, room.weights])
    bounds = [*zip([0.0] * COLUMNS, room.high[i] - person, strict=True)]
    bounds += [*zip([0.0] * COLUMNS, person - room.low[i], strict=True)]
    found = linprog(costs, A_ub=-np.hstack([slopes, -slopes]), b_ub=-needed, bounds=bounds)
    return float(found.fun) if found.status == 0 else np.inf


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_with_linear_networks_it_is_the_answer_of_one_linear_programme(seed: int) -> None:
    generator, people, room = drawn(seed)
    networks = [linear(generator) for _ in range(3)]
    found = nearest_accepted_points(Jury(tuple(networks)), people, people, room, margin=0.1)
    expected = [shortest(networks, person, room, i, 0.1) for i, person in enumerate(people)]
    np.testing.assert_allclose(found.lengths, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("failures", [0, 2])
def test_every_point_is_accepted_inside_its_limits_and_no_other_person_matters(
    failures: int,
) -> None:
    generator, people, room = drawn(7)
    jury = Jury(alike(COLUMNS, 9))
    far = people + generator.normal(size=people.shape)
    start = np.where(np.arange(PEOPLE)[:, None] < 5, far, np.nan)
    found = nearest_accepted_points(jury, people, start, room, margin=0.05, failures=failures)
    assert np.isnan(found.rows[5]).all()
    there = np.isfinite(found.lengths)
    assert there.any()
    logits = jury.log_odds(found.rows[there]).T
    assert (logits[:, 0] >= 0.05).all()
    assert ((logits < 0.05).sum(axis=1) <= failures).all()
    inside = (found.rows >= room.low - 1e-12) & (found.rows <= room.high + 1e-12)
    assert inside[there].all()
    np.testing.assert_allclose(
        found.lengths[there], room.lengths(people[there], found.rows[there]), rtol=1e-12
    )
    for i in range(PEOPLE):
        some = np.array([i])
        alone = nearest_accepted_points(
            jury,
            people[some],
            start[some],
            room.of(some),
            margin=0.05,
            failures=failures,
        )
        np.testing.assert_array_equal(alone.rows[0], found.rows[i])


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("failures", [0, 2])
@pytest.mark.parametrize("penalty", [5.0, 5e3])
def test_the_point_is_chosen_that_would_be_if_all_networks_were_asked(
    penalty: float, failures: int, grouped: bool
) -> None:
    generator, n_people, margin = np.random.default_rng(5), 60, 0.05
    networks = alike(COLUMNS, 9)
    groups = Groups([0, 1, 2, 3] * 2) if grouped else None
    jury = Jury(networks, generator.uniform(0.5, 2.0, len(networks)), groups)
    here = generator.normal(size=(n_people, COLUMNS))
    tried = here[:, None] + 0.3 * generator.normal(size=(n_people, 4, COLUMNS))
    tried[:5, 3], tried[5:9, 2] = tried[:5, 0], here[5:9]
    far = generator.uniform(0.1, 1.0, (n_people, 4))
    far[:5, 3] = far[:5, 0]
    least = jury.least(jury.scores(tried.reshape(-1, COLUMNS)), failures).reshape(n_people, 4)
    worths = far + penalty * np.maximum(margin - least, 0.0)
    now = 0.5 + penalty * np.maximum(margin - jury.least(jury.scores(here), failures), 0.0)
    limits = np.where(generator.random(n_people) < 0.5, np.inf, generator.uniform(size=n_people))
    enough = now - WORTHWHILE
    choice, best, scores, nearest = choose(
        jury, jury.scores(here), Tried(tried, far, enough, limits), Aim(margin, failures, penalty)
    )
    expected = worths.argmin(axis=1)
    better = worths.min(axis=1) < enough
    assert 10 < better.sum() < n_people
    np.testing.assert_array_equal(best < enough, better)
    np.testing.assert_array_equal(choice[better], expected[better])
    np.testing.assert_array_equal(best[better], worths.min(axis=1)[better])
    chosen = tried[better, expected[better]]
    np.testing.assert_array_equal(scores[better], jury.log_odds(chosen).T)
    lengths = np.where((least >= margin) & (far < limits[:, None]), far, np.inf)
    accepted = np.where(np.isinf(lengths).all(axis=1), -1, lengths.argmin(axis=1))
    assert len(set(accepted.tolist())) == 5
    np.testing.assert_array_equal(nearest, accepted)


def test_a_constant_column_stays_and_pulled_rows_are_still_accepted() -> None:
    _, people, room = drawn(3)
    weights = room.weights.copy()
    weights[1] = 0.0
    network = Network((np.ones((1, COLUMNS), np.float32),), (np.zeros(1, np.float32),))
    jury = Jury((network,))
    free = Room(weights, room.low, room.high)
    found = nearest_accepted_points(jury, people, people, free, margin=2.0)
    there = np.isfinite(found.lengths)
    assert there.any()
    np.testing.assert_array_equal(found.rows[there, 1], people[there, 1])
    far = people + 3.0
    accepted = jury.log_odds(far)[0] >= 2.0
    near = pulled(people, far, lambda rows: jury.log_odds(rows)[0] >= 2.0)
    assert (jury.log_odds(near[accepted])[0] >= 2.0).all()
    assert (room.lengths(people, near) <= room.lengths(people, far) + 1e-12).all()


def test_on_wide_tables_few_columns_suffice_where_few_move_the_networks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    generator, columns = np.random.default_rng(3), WIDE + 40
    strong = generator.permutation(columns)[:12]
    networks = []
    for _ in range(3):
        weight = np.zeros((1, columns), dtype=np.float32)
        weight[0, strong] = generator.normal(size=12)
        networks.append(Network((weight,), (generator.normal(size=1).astype(np.float32),)))
    people = generator.normal(size=(PEOPLE, columns))
    room = Room(generator.uniform(0.1, 1.0, columns), people - 4.0, people + 3.0)
    far = people + np.where(np.arange(columns) < SEARCHED_COLUMNS - 12, 0.5, 0.0)
    jury = Jury(tuple(networks))
    starts = (people, far)
    few = [nearest_accepted_points(jury, people, start, room, margin=0.1) for start in starts]
    assert np.isfinite(few[0].lengths).any()
    monkeypatch.setattr("changeproof.methods.quorum.points.WIDE", columns)
    for start, found in zip(starts, few, strict=True):
        every = nearest_accepted_points(jury, people, start, room, margin=0.1)
        np.testing.assert_allclose(found.lengths, every.lengths, rtol=1e-9)
