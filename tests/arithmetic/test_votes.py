"""Bounds from votes: those of SciPy to the last digits, and ours to decide with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import beta

import changeproof
from changeproof.arithmetic.votes import share_bound
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
