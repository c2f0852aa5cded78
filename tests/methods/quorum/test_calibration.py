"""Thresholds by conformal risk control: against a slow rule, and where failures are planted."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from changeproof.methods.quorum.calibration import (
    CHOOSING,
    Calibrated,
    Counts,
    Losses,
    _list_around,
    people_needed,
    smallest_threshold,
)
from changeproof.model import Floats

GRID = tuple(np.linspace(0.0, 16.0, 65))


def calibrated(losses: Losses, unfitted: int, fitted: int, target: float) -> Calibrated:
    return smallest_threshold(GRID, losses, Counts.of(unfitted, fitted, 1000, target), target)


def table_of(lost: Floats) -> Losses:
    """People [grid, people] whose losses are known; they are expected to lose the same."""

    def losses(threshold: float, some: slice) -> tuple[Floats, Floats]:
        found = lost[GRID.index(threshold), some]
        return found, found

    return losses


def monotone(seed: int, people: int, judges: int = 8) -> Floats:
    """A judge accepts a person's advice from a threshold on that both of them decide."""
    critical = np.random.default_rng(seed).exponential(0.5, size=(people, judges))
    return np.array([(critical > threshold).mean(axis=1) for threshold in GRID])


def waves(seed: int, people: int) -> Floats:
    """Everybody loses something at some thresholds, and nothing at larger and smaller ones."""
    generator = np.random.default_rng(seed)
    middle, width = generator.uniform(-4.0, 8.0, people), generator.uniform(0.1, 2.0, people)
    near = np.abs(np.array(GRID)[:, None] - middle) < width
    return np.where(near, generator.choice([0.1, 0.5, 1.0], people), 0.0)


def slow(lost: Floats, unfitted: int, target: float, listed: list[float]) -> tuple[float, float]:
    """Return the threshold and the promise as the docstring says them, one after the other."""
    enough = unfitted >= people_needed(target)
    people = unfitted if enough else lost.shape[1]
    allowed, best = 1.0 - target, (listed[0], math.nan)
    for threshold in listed:
        at_least = [GRID.index(other) for other in listed if other >= threshold]
        worst = lost[at_least].max(axis=0)
        known = worst[:unfitted].sum()
        everybody = worst[:people].sum()
        if enough:
            fine = proven = (known + 1.0) / (unfitted + 1.0) <= allowed
        else:
            proven = unfitted > 0 and known / (unfitted + 1.0) <= allowed
            bounded = (everybody + 1.0) / (people + 1.0)
            countable = 1.0 / (people + 1.0) <= allowed
            fine = (proven or not unfitted) and (
                bounded <= allowed if countable else everybody / people <= allowed
            )
        promised = target if enough else target - 1.0 / (unfitted + 1.0)
        if not fine:
            if threshold == listed[0]:
                best = threshold, promised if proven else math.nan
            break
        best = threshold, promised if proven else math.nan
    return best


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    target=st.sampled_from([0.8, 0.9, 0.95, 0.999]),
    unfitted=st.sampled_from([0, 1, 30, 70]),
    rising=st.booleans(),
)
def test_it_is_the_rule_of_the_docstring(
    seed: int, target: float, unfitted: int, rising: bool
) -> None:
    people = 90
    lost = waves(seed, people) if rising else monotone(seed, people)
    asked: list[float] = []
    losses = table_of(lost)

    def noted(threshold: float, some: slice) -> tuple[Floats, Floats]:
        if some.start < unfitted:
            asked.append(threshold)
        return losses(threshold, some)

    found = calibrated(noted, unfitted, people - unfitted, target)
    # The list may be longer than what was tried, but not another one.
    listed = [
        each
        for place in range(len(GRID))
        if (each := _list_around(GRID, place)) and set(asked) <= set(each)
    ]
    expected = [slow(lost, unfitted, target, each) for each in listed]
    assert any(
        found[0] == threshold and found[1] == pytest.approx(promised, nan_ok=True)
        for threshold, promised in expected
    )
    assert found.unfitted == unfitted
    assert found.people == (unfitted if unfitted >= people_needed(target) else people)


def test_monotone_losses_have_the_first_threshold_of_a_slow_search() -> None:
    """Near to where the others lose as much as is allowed, no threshold is left out."""
    for seed in range(20):
        half = monotone(seed, 100)
        # Fitted people who lose just the same find the very place.
        lost = np.concatenate([half, half], axis=1)
        found = calibrated(table_of(lost), 100, 100, 0.95)
        bounded = (half.sum(axis=1) + 1.0) / 101.0
        assert found.threshold == GRID[int(np.flatnonzero(bounded <= 0.05)[0])]
        assert found.estimate == pytest.approx(1.0 - bounded[GRID.index(found.threshold)])
        assert found.promised == 0.95


@pytest.mark.parametrize("rising", [False, True])
@pytest.mark.parametrize(("unfitted", "target"), [(60, 0.95), (200, 0.98), (15, 0.95)])
def test_the_promise_holds_where_failures_are_planted(
    rising: bool, unfitted: int, target: float
) -> None:
    """Somebody new loses no more than promised, also where larger thresholds lose more.

    Fitted people lose nothing: they mislead the list, and cannot break the promise.
    """
    lost, promises, repetitions = [], [], 400
    for repetition in range(repetitions):
        if rising:
            everybody = waves(repetition, unfitted + 1)
        else:
            generator = np.random.default_rng(repetition)
            hard = generator.gamma(2.0, 0.4, size=unfitted + 1)
            critical = generator.exponential(hard, size=(10, unfitted + 1))
            everybody = np.array([(critical > t).mean(axis=0) for t in GRID])
        known = np.concatenate([everybody[:, :-1], np.zeros((len(GRID), 40))], axis=1)
        found = calibrated(table_of(known), unfitted, 40, target)
        promises.append(found.promised)
        kept = not math.isnan(found.promised)
        lost.append(everybody[GRID.index(found.threshold), -1] * kept)
    promised = np.nanmax(promises)
    assert np.isfinite(promises).mean() > 0.5
    allowed = 1.0 - promised
    # What one person loses is at most 1, so that its sum spreads no more than a binomial's.
    assert sum(lost) <= binom.ppf(0.995, repetitions, allowed)


def test_one_large_loss_at_a_large_threshold_counts_for_all_smaller_ones() -> None:
    """Somebody who loses everything at half of the grid alone: nobody goes below for that price."""
    lost = monotone(1, 400)
    lost[:, 300:] = lost[:, :100]
    free = calibrated(table_of(lost), 300, 100, 0.99)
    lost[GRID.index(free.threshold) + 1, :10] = 1.0
    careful = calibrated(table_of(lost), 300, 100, 0.99)
    assert free.threshold < careful.threshold
    assert careful.promised == 0.99


def test_with_few_unfitted_people_less_is_promised_and_the_others_count() -> None:
    needed = people_needed(0.99)
    assert needed == 199
    assert people_needed(0.95) == 39
    nothing = np.zeros((len(GRID), 400))
    found = calibrated(table_of(nothing), needed, 50, 0.99)
    assert (found.promised, found.people) == (0.99, needed)
    found = calibrated(table_of(nothing), needed - 1, 50, 0.99)
    assert found.promised == pytest.approx(0.99 - 1.0 / needed)
    assert (found.people, found.unfitted) == (needed + 49, needed - 1)
    found = calibrated(table_of(nothing), 0, 150, 0.99)
    assert math.isnan(found.promised)
    assert found.estimate == pytest.approx(1.0 - 1.0 / 151.0)
    # The others decide, as far as the promise is kept.
    nothing[:40, 100:] = 0.5
    found = calibrated(table_of(nothing), 100, 100, 0.99)
    assert found.threshold >= GRID[40]


def test_where_nothing_suffices_it_is_the_largest_and_nothing_is_promised() -> None:
    lost = np.full((len(GRID), 300), 0.5)
    found = calibrated(table_of(lost), 250, 50, 0.99)
    assert found.threshold == GRID[-1]
    assert math.isnan(found.promised)
    assert found.estimate == pytest.approx(1.0 - 126.0 / 251.0)


def test_without_anybody_the_estimate_is_nothing() -> None:
    def nobody(threshold: float, some: slice) -> tuple[Floats, Floats]:
        raise AssertionError("there is nobody to try a threshold on")

    found = calibrated(nobody, 0, 0, 0.95)
    assert (found.threshold, found.estimate, found.people) == (GRID[-1], 0.0, 0)
    assert math.isnan(found.promised)


def test_a_risk_that_is_no_number_does_not_suffice() -> None:
    lost = np.zeros((len(GRID), 300))
    lost[:30] = np.nan
    for target in (0.9, 0.999):
        found = calibrated(table_of(lost), 100, 200, target)
        assert found.threshold == GRID[30]


def test_nobody_is_tried_twice_and_few_thresholds_are() -> None:
    """All that is costly is to try a threshold: about a dozen, of 65."""
    lost = np.concatenate([monotone(3, 256), monotone(4, 200)], axis=1)
    tried: list[tuple[float, int]] = []
    losses = table_of(lost)

    def counted(threshold: float, some: slice) -> tuple[Floats, Floats]:
        tried.extend((threshold, person) for person in range(some.start, some.stop))
        return losses(threshold, some)

    calibrated(counted, 256, 200, 0.99)
    assert len(tried) == len(set(tried))
    assert len({threshold for threshold, person in tried if person < 256}) <= 14
    assert max(person for _, person in tried) < 256 + CHOOSING
