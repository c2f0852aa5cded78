"""The life of advice: closed forms, censoring, and how often intervals cover the truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from changeproof.evaluation.life import Lives, deployed, life_of

PEOPLE, FUTURES, UPDATES = 8, 5, 6


def lives(holds: np.ndarray) -> Lives:
    return Lives(holds, np.full(holds.shape[1], holds.shape[2]))


def broken_at(update: int) -> Lives:
    """Everybody's advice holds up to an update, and no longer."""
    numbers = np.arange(1, UPDATES + 1)
    return lives(np.broadcast_to(numbers < update, (PEOPLE, FUTURES, UPDATES)))


def planted(hazard: float, seed: int, people: int, futures: int, updates: int = 12) -> Lives:
    """Models that break each piece of advice with a probability, independent of all else."""
    generator = np.random.default_rng(seed)
    return lives(generator.random((people, futures, updates)) >= hazard)


def test_what_never_breaks_lives_to_the_end_and_longer() -> None:
    life = life_of([broken_at(UPDATES + 1)])
    assert (life.held_so_far.mean == 1.0).all() and (life.holds.mean == 1.0).all()
    # Eight people are not everybody.
    least = 0.025 ** (1 / PEOPLE)
    for curve in (life.held_so_far, life.holds):
        assert curve.low == pytest.approx(np.full(UPDATES, least)) and (curve.high == 1.0).all()
    assert life.hazard == pytest.approx((0.0, 0.0, 1.0 - least))
    assert life.median == (np.inf, np.inf, np.inf)
    assert life.few_broken_by == (np.inf, 1.0, np.inf)
    assert (life.people, life.futures) == (PEOPLE, FUTURES)


def test_what_breaks_at_once_has_no_life() -> None:
    life = life_of([broken_at(1)])
    assert (life.held_so_far.mean == 0.0).all() and (life.holds.mean == 0.0).all()
    assert life.hazard.value == 1.0
    assert life.median.value == 0.0 and life.few_broken_by.value == 1.0


@pytest.mark.parametrize("update", range(1, UPDATES + 1))
def test_what_breaks_at_an_update_lives_up_to_it(update: int) -> None:
    life = life_of([broken_at(update)])
    assert life.held_so_far.mean.tolist() == [1.0] * (update - 1) + [0.0] * (UPDATES - update + 1)
    assert life.median.value == update - 1
    assert life.few_broken_by.value == update
    assert life.hazard.value == pytest.approx(1 / update)


def test_advice_that_holds_again_is_broken_all_the_same() -> None:
    holds = np.ones((PEOPLE, FUTURES, 3), bool)
    holds[0, :, 1] = False
    life = life_of([lives(holds)])
    kept = 1 - 1 / PEOPLE
    assert life.held_so_far.mean == pytest.approx([1.0, kept, kept])
    assert life.holds.mean == pytest.approx([1.0, kept, 1.0])


def test_futures_that_end_early_are_censored_there() -> None:
    """Four futures of three updates and two of one: those say nothing of what comes later."""
    survived = np.array([[1, 1, 1, 1, 0, 0, 1, 1, 0, 1, 1, 1, 1, 0]], bool)
    replicates = [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 5]
    found = Lives.of(survived, replicates)
    assert found.lengths.tolist() == [3, 3, 3, 3, 1, 1]
    assert found.held_through.tolist() == [[3, 1, 2, 3, 1, 0]]
    assert found.broken.tolist() == [[False, True, True, False, False, True]]
    life = life_of([found])
    # By hand: 1 of 6 breaks, then 1 of 4, then 1 of 3.
    assert life.held_so_far.mean == pytest.approx([5 / 6, 5 / 6 * 3 / 4, 5 / 6 * 3 / 4 * 2 / 3])
    assert life.holds.mean == pytest.approx([5 / 6, 3 / 4, 2 / 4])
    assert life.hazard.value == pytest.approx(3 / 13)


def test_models_are_found_by_their_future_in_the_order_of_its_updates() -> None:
    future_by_future = np.array([[1, 1, 0, 1, 0, 1], [0, 1, 1, 1, 1, 1]], bool)
    update_by_update = future_by_future[:, [0, 3, 1, 4, 2, 5]]
    one = Lives.of(future_by_future, [7, 7, 7, 9, 9, 9])
    other = Lives.of(update_by_update, [7, 9, 7, 9, 7, 9])
    np.testing.assert_array_equal(one.holds, other.holds)
    assert one.holds[0].tolist() == [[True, True, False], [True, False, True]]


def test_nobody_with_valid_advice_has_no_life() -> None:
    life = life_of([lives(np.ones((0, FUTURES, UPDATES), bool))])
    assert np.isnan(np.array(life.held_so_far)).all() and np.isnan(life.hazard).all()
    assert np.isnan(life.median).all() and life.people == 0


def test_several_base_models_are_the_units() -> None:
    groups = [broken_at(2), broken_at(4), broken_at(UPDATES + 1)]
    life = life_of(groups)
    assert life.held_so_far.mean == pytest.approx([1, 2 / 3, 2 / 3, 1 / 3, 1 / 3, 1 / 3])
    assert life.held_so_far.low[1] < 0.01 and life.held_so_far.high[1] > 0.99
    assert life.median.value == 3 and life.median.high == np.inf
    assert (life.people, life.futures) == (3 * PEOPLE, 3 * FUTURES)
    nobody = lives(np.ones((0, FUTURES, UPDATES), bool))
    again = life_of([*groups, nobody])
    assert again.held_so_far.mean.tolist() == life.held_so_far.mean.tolist()


@given(st.integers(0, 2**32 - 1), st.floats(0, 1), st.integers(1, 6), st.integers(1, 6))
def test_order_of_people_and_futures_says_nothing(
    seed: int, hazard: float, people: int, futures: int
) -> None:
    one = planted(hazard, seed, people, futures, 4)
    generator = np.random.default_rng(seed)
    other = lives(one.holds[generator.permutation(people)][:, generator.permutation(futures)])
    for mine, theirs in zip(life_of([one])[:3], life_of([other])[:3], strict=True):
        np.testing.assert_allclose(np.array(mine), np.array(theirs), atol=1e-12)
    held = life_of([one]).held_so_far
    assert (np.diff(held.mean) <= 1e-12).all(), "what is broken stays broken"
    assert (held.low <= held.mean + 1e-12).all() and (held.mean <= held.high + 1e-12).all()
    assert (held.low < held.high).all()


REPETITIONS = 200
FEWEST = binom.ppf(0.005, REPETITIONS, 0.95)


@pytest.mark.parametrize("hazard", [0.05, 0.2])
@pytest.mark.parametrize("together", [False, True], ids=["one by one", "all of a future"])
def test_a_known_hazard_is_within_its_interval(hazard: float, together: bool) -> None:
    """As often as 95 % of the time, whether models break single advice or everybody's at once."""
    people, futures = (1, 60) if together else (30, 25)
    covered = {"hazard": 0, "held": 0}
    for seed in range(REPETITIONS):
        found = planted(hazard, seed, people, futures)
        life = life_of([lives(np.repeat(found.holds, 30 // people, axis=0))])
        covered["hazard"] += life.hazard.low <= hazard <= life.hazard.high
        held = (1 - hazard) ** 6
        covered["held"] += life.held_so_far.low[5] <= held <= life.held_so_far.high[5]
    assert covered["hazard"] >= FEWEST, covered
    assert covered["held"] >= FEWEST, covered


@pytest.mark.parametrize("people", [1, 2, 3, 10])
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_few_people_are_not_everybody(people: int, share: float) -> None:
    """Where some people's advice holds in all futures, and that of all others in none."""
    generator, covered, trials = np.random.default_rng(26), 0, 200
    for _ in range(trials):
        mine = generator.random(people) < share
        life = life_of([lives(np.broadcast_to(mine[:, None, None], (people, 5, 3)))])
        covered += life.held_so_far.low[-1] <= share <= life.held_so_far.high[-1]
    assert covered / trials >= 0.93


def test_a_bootstrap_of_both_would_be_too_wide() -> None:
    """Why intervals are not drawn: people and futures drawn again count chance three times."""
    found = planted(0.05, 3, 200, 25)
    through = (found.held_through == 12).astype(float)
    generator = np.random.default_rng(0)
    drawn = [
        through[generator.integers(0, 200, 200)][:, generator.integers(0, 25, 25)].mean()
        for _ in range(1000)
    ]
    true = np.sqrt(0.95**12 * (1 - 0.95**12) / (200 * 25))
    assert np.std(drawn) > 1.5 * true
    curve = life_of([found]).held_so_far
    assert (curve.high[-1] - curve.low[-1]) / (2 * 2.06) == pytest.approx(true, rel=0.3)


def test_updates_that_lose_more_than_five_points_are_not_deployed() -> None:
    found = deployed(np.array([0.75, 0.7, 0.69999, 0.8, 0.2, np.nan]), 0.75)
    assert found.tolist() == [True, True, False, True, False, True]
