"""Bounds from votes: those of SciPy to the last digits, and ours to decide with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import beta, binom, binomtest

import changeproof
from changeproof.arithmetic.votes import least_share, share_bound
from changeproof.methods.betarce import BetaRCE


@pytest.mark.parametrize("asked", [1, 2, 3, 10, 31, 32, 33, 64, 150])
@pytest.mark.parametrize("confidence", [0.05, 0.5, 0.9, 0.95, 0.999, 1.0 - 1e-9])
def test_bounds_are_those_of_scipy(asked: int, confidence: float) -> None:
    votes = np.arange(asked + 1)
    bounds = [share_bound(confidence, int(each), asked) for each in votes]
    theirs = beta.ppf(1.0 - confidence, 0.5 + votes, 0.5 + asked - votes)
    np.testing.assert_allclose(bounds, theirs, rtol=1e-12)
    np.testing.assert_allclose(
        beta.cdf(bounds, 0.5 + votes, 0.5 + asked - votes), 1.0 - confidence, rtol=1e-9
    )


def test_the_last_digit_is_right() -> None:
    assert share_bound(0.95, 32, 32) == 0.9421851994700847
    assert share_bound(0.95, 31, 32) == 0.8841903802462268
    assert share_bound(0.5, 1, 2) == 0.5, "as many accept as reject"


def test_the_ends() -> None:
    assert share_bound(1.0, 5, 10) == 0.0
    assert share_bound(0.0, 5, 10) == 1.0


def test_in_the_papers_setting_only_all_votes_are_enough() -> None:
    bounds = BetaRCE.votes_bounds(32, 0.95)
    assert (bounds > 0.9).tolist() == [False] * 32 + [True]
    theirs = beta.ppf(1.0 - 0.95, 0.5 + np.arange(33), 32.5 - np.arange(33))
    for robustness in np.linspace(0.01, 0.99, 99):
        assert (bounds > robustness).tolist() == (theirs > robustness).tolist()
    assert bounds[32] == theirs[32], "what answers of the paper carry is the same to the last bit"


def test_no_library_decides() -> None:
    source = Path(changeproof.__file__).parent / "methods" / "betarce.py"
    assert "scipy" not in source.read_text(encoding="utf-8")


@pytest.mark.parametrize("asked", [1, 2, 3, 8, 16, 61])
@pytest.mark.parametrize("confidence", [0.75, 0.9, 0.95, 0.999])
def test_a_least_share_is_that_of_an_exact_test(asked: int, confidence: float) -> None:
    for accepted in range(asked + 1):
        bound = least_share(confidence, accepted, asked)
        exact = binomtest(accepted, asked, alternative="greater").proportion_ci(confidence, "exact")
        if accepted == 1:
            assert bound == pytest.approx((1.0 - confidence) / asked, abs=1e-15)
            assert bound <= exact.low * (1.0 + 1e-12)
        else:
            assert bound == pytest.approx(exact.low, abs=1e-12)


def test_least_shares_in_closed_form() -> None:
    assert least_share(0.95, 0, 16) == 0.0
    assert least_share(0.95, 16, 16) == pytest.approx(0.05 ** (1.0 / 16.0), abs=1e-16)
    # Two of two: the root of one quarter, to the last digit.
    assert least_share(0.75, 2, 2) == 0.5
    with pytest.raises(ValueError, match="confidence from"):
        least_share(0.5, 1, 2)


def chances_of_counts(chances: list[float]) -> np.ndarray:
    """The distribution of the number of accepting votes, each with a chance of its own."""
    found = np.ones(1)
    for chance in chances:
        found = np.convolve(found, [1.0 - chance, chance])
    return found


@pytest.mark.parametrize("asked", [2, 5, 8, 16])
def test_votes_of_different_chances_break_the_bound_no_more_often(asked: int) -> None:
    """Of mixed kinds the mean chance is bounded; the worst mixtures are those of few values."""
    bounds = np.array([least_share(0.95, votes, asked) for votes in range(asked + 1)])
    generator = np.random.default_rng(asked)
    mixtures = [generator.beta(0.3, 0.3, asked) for _ in range(300)]
    for sure in range(asked):
        # So many always accept, and the others all alike, one of them alone included.
        mixtures += [
            np.array([1.0] * sure + [chance] * some + [0.0] * (asked - sure - some))
            for some in range(1, asked - sure + 1)
            for chance in (0.01, 0.0499, 0.051, 0.3, 0.8, 0.99)
        ]
    for chances in mixtures:
        broken = chances_of_counts(chances.tolist())[bounds > chances.mean() + 1e-12].sum()
        assert broken <= 0.05 + 1e-12


def test_the_bound_of_one_vote_must_be_lower_than_the_binomials() -> None:
    """One model that accepts with a chance of 5.1 %, others never: the exact test breaks there."""
    asked, chance = 16, 0.051
    one = binomtest(1, asked, alternative="greater").proportion_ci(0.95, "exact").low
    assert one > chance / asked
    assert chances_of_counts([chance] + [0.0] * (asked - 1))[1] > 0.05
    assert least_share(0.95, 1, asked) < chance / asked
    # From two votes on, the mean is below one vote less, as the theorem asks.
    for count in range(2, 100):
        for accepted in range(2, count + 1):
            tail = binom.sf(accepted - 1, count, (accepted - 1) / count)
            assert tail >= 0.25 - 1e-12
