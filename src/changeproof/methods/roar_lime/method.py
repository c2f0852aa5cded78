"""Recourse against bounded changes of a local linear surrogate (Upadhyay, Joshi, Lakkaraju)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.arithmetic.functions import exp, log1p
from changeproof.methods.method import Candidates, Cost, Factuals, Method, People, WarmUp
from changeproof.methods.roar_lime.lime import LocalSurrogates
from changeproof.model import Floats
from changeproof.networks.kernels import ADAM_BETA1, ADAM_BETA2, ADAM_EPSILON
from changeproof.plugins import PAPER


@dataclass(kw_only=True, eq=False, repr=False)
class RoarLime(Method):
    """Walk down the worst-case loss of a LIME surrogate plus `penalty x |x' - x|`.

    The worst case is over all changes of the surrogate's coefficients and intercept by at most
    `radius`.

    A row is good enough if its worst case is no worse than that of the method's own proposal.

    Parameters
    ----------
    penalty
        Weight of the absolute change (the paper's lambda).
    radius
        How far each coefficient and the intercept may move.
    learning_rate
        Step size of Adam.
    tolerance
        The walk ends with the step at which the loss differs by no more from the one before.
    max_steps
        After so many steps the last iterate is returned.
    n_samples
        Samples that a surrogate is fitted to, the factual among them. On wide tables fewer: as many
        numbers as with 200 features.
    kernel_width
        Width of the kernel that weighs samples, in units of the root of the number of features.
    inverse_penalty
        Inverse weight of the squared coefficients (scikit-learn's C).
    decimals
        Coefficients and intercept are rounded to so many decimals.
    """

    name = "roar-lime"
    label = "ROAR-LIME"
    cost = Cost(per_person=0.016, feasible=0.05, own_model=0.1, tuning=4.0)
    warm_up = WarmUp(seconds=4)
    summary = "gradient descent on the worst case of a local linear surrogate"
    source = (
        "Upadhyay et al. 2021 (ROAR, https://arxiv.org/abs/2102.13620), on Ribeiro et al. 2016 "
        f"(LIME, https://arxiv.org/abs/1602.04938), as in {PAPER}"
    )

    penalty: float = 0.01
    radius: float = 0.1
    learning_rate: float = 1e-3
    tolerance: float = 1e-4
    max_steps: int = 20_000
    n_samples: int = 20_000
    kernel_width: float = 0.75
    inverse_penalty: float = 1.0
    decimals: int = 4

    def __post_init__(self) -> None:
        self._surrogates = LocalSurrogates(
            n_samples=self.n_samples,
            kernel_width=self.kernel_width,
            inverse_penalty=self.inverse_penalty,
            decimals=self.decimals,
        )

    @classmethod
    def tuning_candidates(cls) -> Sequence[RoarLime]:
        """Return the paper's grid; the candidates share their surrogates."""
        grid = (0.0005, 0.001, 0.005, *(number / 100 for number in range(1, 107, 5)))
        candidates = [cls(penalty=penalty) for penalty in grid]
        for candidate in candidates[1:]:
            candidate._surrogates = candidates[0]._surrogates
        return candidates

    def _search(self, factuals: Factuals) -> Candidates:
        surrogates = self._surrogates.of(self.context, factuals)
        intercepts = np.array([surrogate.intercept for surrogate in surrogates])
        rows = np.full_like(factuals.rows, np.nan)
        steps = np.zeros(len(factuals), dtype=np.int64)
        step: tuple[Any, ...] = (self.learning_rate, self.tolerance, self.max_steps)
        for i in np.flatnonzero(~np.isnan(intercepts)):
            rows[i] = factuals.rows[i]
            coefficients, intercept = surrogates[i][:2]
            surrogate = (coefficients, intercept, self.penalty, self.radius)
            steps[i] = walk(rows[i], factuals.rows[i], *surrogate, *step)
        return Candidates(
            rows,
            [surrogate.reason for surrogate in surrogates],
            {
                "steps": steps,
                "penalty": np.full(len(factuals), self.penalty),
                "surrogate_intercept": intercepts,
                "surrogate_accuracy": np.array([s.accuracy for s in surrogates]),
            },
            {
                "coefficients": np.array([s.coefficients for s in surrogates]),
                "intercepts": intercepts,
            },
        )

    def _score(self, rows: Floats, people: People) -> Floats:
        private = people.proposals.private
        coefficients, intercepts = private["coefficients"], private["intercepts"]
        return np.asarray(worst_logits(rows, people.places, coefficients, intercepts, self.radius))


@compiled
def worst_logits(rows: Any, people: Any, coefficients: Any, intercepts: Any, radius: float) -> Any:
    """Return the logits of rows, each for a person, under the least favourable surrogates."""
    result = np.empty(len(rows))
    for i in range(len(rows)):
        row, person = rows[i], people[i]
        result[i] = intercepts[person] - radius
        for j in range(len(row)):
            result[i] += coefficients[person, j] * row[j] - radius * abs(row[j])
    return result


@compiled
def walk(
    here: Any,
    start: Any,
    coefficients: Any,
    intercept: float,
    penalty: float,
    radius: float,
    learning_rate: float,
    tolerance: float,
    max_steps: int,
) -> int:
    """Move `here` from a factual, by Adam on the worst-case loss; return the number of steps.

    The least favourable change within the radius takes radius x sign(x') off the coefficients
    and radius off the intercept.
    """
    mean, square = np.zeros_like(here), np.zeros_like(here)
    before, decay1, decay2 = np.inf, 1.0, 1.0
    for step in range(1, max_steps + 1):
        logit = intercept - radius
        change = 0.0
        for j in range(len(here)):
            logit += coefficients[j] * here[j] - radius * abs(here[j])
            change += abs(here[j] - start[j])
        small = exp(-abs(logit))
        loss = max(-logit, 0.0) + log1p(small) + penalty * change
        slope = -(small if logit >= 0.0 else 1.0) / (1.0 + small)
        decay1 *= ADAM_BETA1
        decay2 *= ADAM_BETA2
        size = learning_rate / (1.0 - decay1)
        root = math.sqrt(1.0 - decay2)
        for j in range(len(here)):
            worst = coefficients[j] - radius * np.sign(here[j])
            gradient = slope * worst + penalty * np.sign(here[j] - start[j])
            mean[j] = ADAM_BETA1 * mean[j] + (1.0 - ADAM_BETA1) * gradient
            square[j] = ADAM_BETA2 * square[j] + (1.0 - ADAM_BETA2) * gradient**2
            here[j] -= size * mean[j] / (math.sqrt(square[j]) / root + ADAM_EPSILON)
        if abs(loss - before) <= tolerance:
            return step
        before = loss
    return max_steps
