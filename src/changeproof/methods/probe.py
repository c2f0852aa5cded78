"""PROBE (Pawelczyk et al.): advice that still works where it is followed with some noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field, NonNegativeFloat

from changeproof.arithmetic.functions import normal_tail, normal_tails
from changeproof.methods.method import Candidates, Columns, Cost, Factuals, Method, People
from changeproof.methods.shared.first_counterfactuals import MARGIN, SEARCH_WARM_UP, nearest_points
from changeproof.model import Access, DifferentiableModel, Floats

# The chance beyond twelve deviations is far below any target that can be written.
LARGEST_QUANTILE, HALVINGS = 12.0, 60
TINY = 1e-300


@dataclass(kw_only=True, eq=False, repr=False)
class Probe(Method):
    """Send people to the nearest point that fails with no more than a stated chance under noise.

    People who are told a point reach it up to normal noise. To first order, the model then rejects
    what they reach with the chance of a normal number above its log odds divided by the deviation
    of the noise along their gradient. Log odds that are a quantile of the normal distribution times
    that deviation keep the chance at the target. A row is good enough if they do.

    The paper descends on the excess of that chance over the target, plus a prediction loss, plus a
    weight times the absolute change, and lowers the weight until a sampled rate is at the target;
    the authors' code stops by the clock. That is a way to solve the problem which the paper states:
    least change with the chance at its target. Here the same problem is solved by linear
    programmes, one after the other, as it has no weight to choose and its budget counts steps. The
    change is measured in our distance. What is meant by noise is the paper's: the same deviation
    for all features between 0 and 1, so a share of each feature's training range.

    Parameters
    ----------
    invalidation
        The target: the chance that noisy advice fails. The paper's tables have 0.35, its figures
        0.05 to 0.45.
    variance
        That of the noise, on features between 0 and 1.
    """

    name = "probe"
    label = "PROBE"
    cost = Cost(per_person=0.0005, feasible=0.005, own_model=0.01)
    warm_up = SEARCH_WARM_UP
    summary = "the nearest point that noise around it makes fail with no more than a stated chance"
    source = (
        "Pawelczyk, Datta, van-den-Heuvel, Kasneci and Lakkaraju, Probabilistically Robust "
        "Recourse: Navigating the Trade-offs between Costs and Robustness in Algorithmic Recourse, "
        "ICLR 2023 (https://arxiv.org/abs/2203.06768)"
    )
    needs = Access.GRADIENTS

    invalidation: Annotated[float, Field(gt=0, le=0.5)] = 0.35
    variance: NonNegativeFloat = 0.01

    def _prepare(self) -> None:
        low, high = self.context.task.training_range
        self._noise = np.sqrt(self.variance) * (high - low)
        self._deviations = upper_quantile(self.invalidation)

    def _logits_and_spreads(self, rows: Floats) -> tuple[Floats, Floats, Floats]:
        """Return logits, by how much noise moves them, and their derivatives by the features."""
        model = self.context.model
        assert isinstance(model, DifferentiableModel)
        logits, slopes = model.logits_and_gradients(rows)
        return logits, np.sqrt(((self._noise * slopes) ** 2).sum(axis=1)), slopes

    def invalidations(self, rows: Floats) -> Floats:
        """Return the chance, to first order, that the model rejects what noise makes of rows."""
        logits, spreads, _ = self._logits_and_spreads(rows)
        return normal_tails(logits / np.maximum(spreads, TINY))

    def _search(self, factuals: Factuals) -> Candidates:
        def left(rows: Floats) -> tuple[Floats, Floats]:
            # Along a linear piece of a network, the spread does not change.
            logits, spreads, slopes = self._logits_and_spreads(rows)
            return (logits - self._deviations * spreads - MARGIN)[:, None], slopes[:, None]

        rows = nearest_points(left, self.context, factuals.rows)
        there = np.isfinite(rows).all(axis=1)
        invalidations = np.full(len(rows), np.nan)
        invalidations[there] = self.invalidations(rows[there])
        diagnostics = {"invalidation": invalidations}
        reason = f"no point was found that fails with a chance of at most {self.invalidation:g}"
        return Candidates(rows, [reason] * len(rows), diagnostics)

    def _score(self, rows: Floats, people: People) -> Floats:
        logits, spreads, _ = self._logits_and_spreads(rows)
        return logits - self._deviations * spreads

    def _level(self, people: People) -> Floats:
        return np.zeros(len(people.places))

    def _measure(self, rows: Floats, people: People) -> Columns:
        return {"invalidation": self.invalidations(rows)}


def upper_quantile(chance: float) -> float:
    """Return the number that a standard normal number exceeds with a chance of at most a half."""
    low, high = 0.0, LARGEST_QUANTILE
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if normal_tail(middle) > chance:
            low = middle
        else:
            high = middle
    return high if chance < 0.5 else 0.0
