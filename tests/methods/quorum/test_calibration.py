"""Margins by conformal risk control: against a slow search, and where failures are planted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from changeproof.methods.quorum.calibration import smallest_margin
from changeproof.methods.quorum.pool import lower_bounds
from changeproof.model import Floats

GRID = tuple(np.linspace(0.0, 16.0, 65))


def judged(critical: Floats, margin: float) -> tuple[Floats, Floats]:
    """A model accepts a person's advice from a margin on that both of them decide."""
    lost = (critical > margin).mean(axis=1)
    return lost, lost


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    target=st.sampled_from([0.8, 0.9, 0.95, 0.999]),
    guess=st.integers(0, len(GRID) - 1),
)
def test_it_is_the_first_margin_of_a_slow_search(seed: int, target: float, guess: int) -> None:
    critical = np.random.default_rng(seed).exponential(0.5, size=(70, 8))
    found = smallest_margin(GRID, lambda m, some: judged(critical[some], m), 70, target, guess)
    bounded = [(judged(critical, margin)[0].sum() + 1.0) / 71.0 for margin in GRID]
    means = [judged(critical, margin)[0].mean() for margin in GRID]
    enough = bounded if 1.0 - target >= 1.0 / 71.0 else means
    fine = [place for place, value in enumerate(enough) if value <= 1.0 - target + 1e-12]
    place = fine[0] if fine else 8 * int(np.argmin(bounded[::8]))
    assert found.margin == GRID[place]
    assert found.estimate == pytest.approx(1.0 - bounded[place])
    assert found.people == 70


@pytest.mark.parametrize(("people", "models", "target"), [(60, 20, 0.95), (200, 10, 0.98)])
def test_the_promise_holds_where_failures_are_planted(
    people: int, models: int, target: float
) -> None:
    """Somebody new, judged by a new model: no more failures than a binomial with 1 - target."""
    repetitions, failures = 200, 0
    for repetition in range(repetitions):
        generator = np.random.default_rng(repetition)
        # People are harder or easier to advise; models refuse each by themselves.
        hard = generator.gamma(2.0, 0.4, size=people + 1)
        critical = generator.exponential(hard[:, None], size=(people + 1, models + 1))
        known = critical[:-1, :-1]
        found = smallest_margin(
            GRID, lambda m, some, known=known: judged(known[some], m), people, target
        )
        assert found.estimate >= target - 1e-12
        failures += int(critical[-1, -1] > found.margin)
    assert failures <= binom.ppf(0.995, repetitions, 1.0 - target)


def test_bounds_are_those_of_an_exact_test() -> None:
    bounds = lower_bounds(np.arange(25), 24, 0.95)
    for accepted in range(25):
        exact = binomtest(accepted, 24, alternative="greater").proportion_ci(0.95, "exact")
        assert bounds[accepted] == pytest.approx(exact.low, abs=1e-12)


def test_without_anybody_the_estimate_is_nothing() -> None:
    def nobody(margin: float, some: slice) -> tuple[Floats, Floats]:
        raise AssertionError("there is nobody to try a margin on")

    assert smallest_margin(GRID, nobody, 0, 0.95, 3) == (GRID[3], 0.0, 0)


@settings(max_examples=40, deadline=None)
@given(risks=st.lists(st.floats(0.0, 0.2), min_size=65, max_size=65), guess=st.integers(0, 64))
def test_where_risk_rises_again_the_margin_just_suffices(risks: list[float], guess: int) -> None:
    """The guess may decide which: it suffices, unlike the next smaller, or is one of eight."""
    risk = dict(zip(GRID, risks, strict=True))

    def losses(margin: float, some: slice) -> tuple[Floats, Floats]:
        lost = np.full(len(range(100)[some]), risk[margin])
        return lost, lost

    def bounded(place: int) -> float:
        return (100 * risks[place] + 1.0) / 101.0

    place = GRID.index(smallest_margin(GRID, losses, 100, 0.9, guess).margin)
    just_suffices = bounded(place) <= 0.1 and (place == 0 or bounded(place - 1) > 0.1)
    assert just_suffices or place % 8 == 0


def test_two_guesses_may_find_two_margins() -> None:
    """Risk that falls, rises and falls again; the docstring says so."""
    enough = [10 <= place < 20 or place >= 40 for place in range(65)]

    def losses(margin: float, some: slice) -> tuple[Floats, Floats]:
        lost = np.full(len(range(100)[some]), 0.0 if enough[GRID.index(margin)] else 0.5)
        return lost, lost

    found = {smallest_margin(GRID, losses, 100, 0.9, guess).margin for guess in range(65)}
    assert found == {GRID[10], GRID[40]}


def test_a_risk_that_is_no_number_does_not_suffice() -> None:
    def losses(margin: float, some: slice) -> tuple[Floats, Floats]:
        lost = np.full(len(range(100)[some]), np.nan if margin < GRID[30] else 0.0)
        return lost, lost

    for target in (0.9, 0.999):
        assert smallest_margin(GRID, losses, 100, target, 10).margin == GRID[30]
