from __future__ import annotations

import numpy as np
import pytest

from changeproof import Context, Factuals
from changeproof.methods.betarce import BetaRCE


def test_the_whole_ensemble_accepts_every_answer(
    small_context: Context, small_factuals: Factuals
) -> None:
    method = BetaRCE().fit(small_context)
    answers = method.generate(small_factuals)
    assert answers.base_valid.all()
    assert method._ensemble.models.favourable(answers.rows).all()
    assert (answers.diagnostics["bound"] > 0.9).all()


def test_bounds_are_the_protocols() -> None:
    method = BetaRCE()
    method._bounds = BetaRCE.votes_bounds(32, 0.95)
    assert method._bounds[32] == pytest.approx(0.942, abs=5e-4)
    assert method._bounds[31] == pytest.approx(0.884, abs=5e-4)
    assert (np.diff(method._bounds) > 0).all()


def test_an_ensemble_too_small_to_show_anything_says_so(
    small_context: Context, small_factuals: Factuals
) -> None:
    answers = BetaRCE(ensemble_size=1).fit(small_context).generate(small_factuals)
    assert not answers.found.any()
    assert "an ensemble of 1 cannot show a robustness above 0.9" in answers.outcomes[0]


def test_searches_that_run_out_say_so(small_context: Context, small_factuals: Factuals) -> None:
    short = BetaRCE(first_shells=1, second_shells=1).fit(small_context).generate(small_factuals)
    assert "work budget used up" in short.outcomes
