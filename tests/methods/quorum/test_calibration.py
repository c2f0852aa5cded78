"""Thresholds by conformal risk control: against a slow rule, and where failures are planted."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from changeproof.methods.quorum.calibration import (
    PEOPLE_AT_ONCE,
    Calibrated,
    Losses,
    people_needed,
    smallest_threshold,
)
from changeproof.model import Floats

GRID = tuple(np.linspace(16.0, 0.0, 33))


def table_of(lost: Floats) -> Losses:
    """People [grid, people] whose losses are known; they are expected to lose the same."""

    def losses(threshold: float, some: slice) -> tuple[Floats, Floats]:
        found = lost[GRID.index(threshold), some]
        return found, found

    return losses


def calibrated(lost: Floats, unfitted: int, target: float, caution: float = 2.0) -> Calibrated:
    given = lost.shape[1], unfitted, target
    return smallest_threshold(GRID, table_of(lost), *given, caution=caution)


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


def slow(lost: Floats, unfitted: int, target: float, caution: float) -> tuple[float, float]:
    """Return the threshold and the promise as the docstring says them, one after the other."""
    enough, people, allowed = unfitted >= people_needed(target), lost.shape[1], 1.0 - target
    best = None
    for place, threshold in enumerate(GRID):
        worst = lost[: place + 1].max(axis=0)
        known = (worst[:unfitted].sum() + (1.0 if enough else 0.0)) / (unfitted + 1.0)
        proven = unfitted > 0 and known <= allowed
        bounded = (worst.sum() + 1.0) / (people + 1.0)
        countable = 1.0 / (people + 1.0) <= allowed
        likely = min(caution * worst.mean(), bounded) if countable else worst.mean()
        fine = proven if enough else (proven or not unfitted) and likely <= allowed
        promised = target if enough else target - 1.0 / (unfitted + 1.0)
        if best is None or fine:
            best = threshold, promised if proven else math.nan
        if not fine:
            break
    assert best is not None
    return best


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    target=st.sampled_from([0.8, 0.9, 0.95, 0.999]),
    unfitted=st.sampled_from([0, 1, 30, 70, 150]),
    rising=st.booleans(),
    caution=st.sampled_from([1.0, 2.0]),
)
def test_it_is_the_rule_of_the_docstring(
    seed: int, target: float, unfitted: int, rising: bool, caution: float
) -> None:
    people = unfitted if unfitted >= people_needed(target) else 150
    lost = waves(seed, people) if rising else monotone(seed, people)
    found = calibrated(lost, unfitted, target, caution)
    threshold, promised = slow(lost, unfitted, target, caution)
    assert found.threshold == threshold
    assert found.promised == pytest.approx(promised, nan_ok=True)
    worst = lost[: GRID.index(threshold) + 1].max(axis=0)
    assert found.estimate == pytest.approx(1.0 - (worst.sum() + 1.0) / (people + 1.0))
    assert (found.people, found.unfitted) == (people, unfitted)


@pytest.mark.parametrize("rising", [False, True])
@pytest.mark.parametrize(("unfitted", "target"), [(60, 0.95), (200, 0.98), (15, 0.95)])
def test_the_promise_holds_where_failures_are_planted(
    rising: bool, unfitted: int, target: float
) -> None:
    """Somebody new loses no more than promised, also where larger thresholds lose more.

    Fitted people lose nothing: they mislead, and cannot break the promise.
    """
    lost, promises, repetitions = [], [], 400
    fitted = 0 if unfitted >= people_needed(target) else 40
    for repetition in range(repetitions):
        if rising:
            everybody = waves(repetition, unfitted + 1)
        else:
            generator = np.random.default_rng(repetition)
            hard = generator.gamma(2.0, 0.4, size=unfitted + 1)
            critical = generator.exponential(hard, size=(10, unfitted + 1))
            everybody = np.array([(critical > t).mean(axis=0) for t in GRID])
        known = np.concatenate([everybody[:, :-1], np.zeros((len(GRID), fitted))], axis=1)
        found = calibrated(known, unfitted, target)
        promises.append(found.promised)
        made = not math.isnan(found.promised)
        lost.append(everybody[GRID.index(found.threshold), -1] * made)
    assert np.isfinite(promises).mean() > 0.5
    # What one person loses is from 0 to 1, so that its sum spreads no more than a binomial's.
    assert sum(lost) <= binom.ppf(0.995, repetitions, 1.0 - np.nanmax(promises))


def test_the_rule_is_not_broken_where_the_plain_one_is() -> None:
    """At each of many thresholds somebody else loses everything: one looks fine by chance.

    To search the smallest that suffices, without regard for larger ones, then loses more than is
    allowed.
    """
    unfitted, target, repetitions = 39, 0.95, 600
    ours, plain = [], []
    for repetition in range(repetitions):
        generator = np.random.default_rng(repetition)
        everybody = (generator.random((len(GRID), unfitted + 1)) < 0.09).astype(float)
        # The largest threshold is safe.
        everybody[0] = 0.0
        known = everybody[:, :-1]
        found = calibrated(known, unfitted, target)
        ours.append(everybody[GRID.index(found.threshold), -1])
        fine = np.flatnonzero((known.sum(axis=1) + 1.0) / (unfitted + 1.0) <= 1.0 - target)
        plain.append(everybody[fine[-1], -1])
    most = binom.ppf(0.995, repetitions, 1.0 - target)
    assert sum(ours) <= most < sum(plain)


def test_a_large_loss_at_a_larger_threshold_counts() -> None:
    lost = monotone(1, 300)
    free = calibrated(lost, 300, 0.99)
    lost[GRID.index(free.threshold) - 1, :10] = 1.0
    careful = calibrated(lost, 300, 0.99)
    assert free.threshold < careful.threshold
    assert free.promised == careful.promised == 0.99


def test_with_few_unfitted_people_less_is_promised_and_the_others_count() -> None:
    assert [people_needed(target) for target in (0.8, 0.95, 0.99, 0.999)] == [9, 39, 199, 1999]
    nothing = np.zeros((len(GRID), 250))
    assert calibrated(nothing[:, :199], 199, 0.99).promised == 0.99
    found = calibrated(nothing, 198, 0.99)
    assert found.promised == pytest.approx(0.99 - 1.0 / 199.0)
    assert (found.people, found.unfitted, found.threshold) == (250, 198, GRID[-1])
    assert math.isnan(calibrated(nothing, 0, 0.99).promised)
    # The others decide, as far as the promise is kept.
    nothing[20:, 198:] = 0.5
    assert calibrated(nothing, 198, 0.99).threshold == GRID[19]
    nothing[10:, :198] = 0.5
    assert calibrated(nothing, 198, 0.99).threshold == GRID[9]


def test_where_nothing_suffices_it_is_the_largest_and_nothing_is_promised() -> None:
    lost = np.full((len(GRID), 250), 0.5)
    found = calibrated(lost, 250, 0.99)
    assert found.threshold == GRID[0]
    assert math.isnan(found.promised)
    assert found.estimate == pytest.approx(1.0 - 126.0 / 251.0)
    # Only the others lose too much: what is proven of the first stays proven.
    lost[:, :100] = 0.0
    found = calibrated(lost, 100, 0.99)
    assert found.threshold == GRID[0]
    assert found.promised == pytest.approx(0.99 - 1.0 / 101.0)


def test_without_anybody_the_estimate_is_nothing() -> None:
    def nobody(threshold: float, some: slice) -> tuple[Floats, Floats]:
        raise AssertionError("there is nobody to try a threshold on")

    found = smallest_threshold(GRID, nobody, 0, 0, 0.95)
    assert (found.threshold, found.estimate, found.people) == (GRID[0], 0.0, 0)
    assert math.isnan(found.promised)


def test_a_risk_that_is_no_number_does_not_suffice() -> None:
    lost = np.zeros((len(GRID), 300))
    lost[20:] = np.nan
    for target in (0.9, 0.999):
        assert calibrated(lost, 100, target).threshold == GRID[19]


def test_a_threshold_that_fails_is_not_tried_on_everybody() -> None:
    lost = np.zeros((len(GRID), 300))
    lost[10:] = 0.5
    tried: list[tuple[float, int]] = []

    def counted(threshold: float, some: slice) -> tuple[Floats, Floats]:
        tried.extend((threshold, person) for person in range(some.start, some.stop))
        return table_of(lost)(threshold, some)

    assert smallest_threshold(GRID, counted, 300, 300, 0.99).threshold == GRID[9]
    assert len(tried) == len(set(tried)) == 10 * 300 + PEOPLE_AT_ONCE
