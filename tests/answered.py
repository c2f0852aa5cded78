"""Requests with made-up answers, for tests of what is measured on them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from changeproof import Counterfactuals
from changeproof.methods.answers import FOUND, NOT_FOUND

N_FEATURES = 3


class Answered(NamedTuple):
    """Who asked, what was found, what is base-valid, and what survived [requests, models]."""

    factuals: np.ndarray
    rows: np.ndarray
    found: np.ndarray
    valid: np.ndarray
    survived: np.ndarray

    @property
    def answers(self) -> Counterfactuals:
        n = len(self.found)
        return Counterfactuals(
            np.arange(n),
            self.factuals,
            np.where(self.found[:, None], self.rows, np.nan),
            np.where(self.found, FOUND, NOT_FOUND).astype(np.str_),
            self.valid,
            np.full(n, 0.1),
            {},
        )

    def requests(self, chosen: Any) -> Answered:
        return Answered(*(array[chosen] for array in self))

    def models(self, chosen: Any) -> Answered:
        return self._replace(survived=self.survived[:, chosen])


SHARES = st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0])


@st.composite
def answered(draw: st.DrawFn, fewest: int = 0, fewest_models: int = 0) -> Answered:
    """Draw requests of which all, some or none are found, base-valid and survive."""
    n, models = draw(st.integers(fewest, 9)), draw(st.integers(fewest_models, 9))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    found = generator.random(n) < draw(SHARES)
    valid = found & (generator.random(n) < draw(SHARES))
    # What is not base-valid may survive, too: it must not count.
    survived = found[:, None] & (generator.random((n, models)) < draw(SHARES))
    factuals, rows = generator.normal(size=(2, n, N_FEATURES))
    return Answered(factuals, rows, found, valid, survived)
