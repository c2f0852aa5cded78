"""Gradient descent on prediction loss plus distance (Wachter, Mittelstadt and Russell)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from changeproof.arithmetic.functions import log, sigmoids
from changeproof.methods.method import Candidates, Factuals, Method
from changeproof.model import Access, DifferentiableModel

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


class Wachter(Method):
    """Walk down features x BCE(f(x'), 1) + penalty x |x' - x|, until f(x') is favourable.

    Parameters
    ----------
    penalty
        Weight of the absolute change (the paper's lambda).
    learning_rate
        Step size of Adam with AMSGrad.
    target
        Probability at which the search ends, with one last step.
    max_steps
        After so many steps the last iterate is returned, favourable or not.
    """

    name = "wachter"
    summary = "gradient descent on prediction loss plus absolute change"
    needs = Access.GRADIENTS

    def __init__(
        self,
        *,
        penalty: float = 1.0,
        learning_rate: float = 0.01,
        target: float = 0.501,
        max_steps: int = 20_000,
    ) -> None:
        self.penalty = penalty
        self.learning_rate = learning_rate
        self.target = target
        self.max_steps = max_steps

    @classmethod
    def tuning_candidates(cls) -> Sequence[Wachter]:
        """Return the paper's grid."""
        return [
            cls(penalty=penalty, learning_rate=rate)
            for penalty in (0.01, 0.1, 1.0)
            for rate in (0.01, 0.02)
        ]

    def _search(self, factuals: Factuals) -> Candidates:
        model = self.context.model
        assert isinstance(model, DifferentiableModel)
        n_features = factuals.rows.shape[1]
        target_logit = log(self.target / (1.0 - self.target))
        rows = factuals.rows.copy()
        steps = np.full(len(rows), self.max_steps)
        # The rows still walking, and their state; arrays shrink as people arrive.
        walking = np.arange(len(rows))
        start = factuals.rows
        here = start.copy()
        mean, square, largest = np.zeros((3, *here.shape))
        decay1 = decay2 = 1.0
        for step in range(1, self.max_steps + 1):
            logits, slopes = model.logits_and_gradients(here)
            loss_slope = (-n_features * sigmoids(-logits))[:, None] * slopes
            gradient = loss_slope + self.penalty * np.sign(here - start)
            mean = BETA1 * mean + (1.0 - BETA1) * gradient
            square = BETA2 * square + (1.0 - BETA2) * gradient**2
            largest = np.maximum(largest, square)
            decay1, decay2 = decay1 * BETA1, decay2 * BETA2
            size = self.learning_rate / (1.0 - decay1)
            spread = np.sqrt(largest) / np.sqrt(1.0 - decay2) + EPSILON
            here = here - size * mean / spread
            arrived = logits >= target_logit
            if arrived.any():
                rows[walking[arrived]] = here[arrived]
                steps[walking[arrived]] = step
                going = ~arrived
                walking, start, here = walking[going], start[going], here[going]
                mean, square, largest = mean[going], square[going], largest[going]
                if not len(walking):
                    break
        rows[walking] = here
        return Candidates(rows, diagnostics={"steps": steps})
