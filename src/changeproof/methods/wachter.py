"""Gradient descent on prediction loss plus distance (Wachter, Mittelstadt and Russell)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from changeproof.arithmetic.functions import log, sigmoids
from changeproof.methods.method import Candidates, Cost, Factuals, Method, People, logits_of
from changeproof.model import Access, DifferentiableModel, Floats
from changeproof.networks.kernels import ADAM_BETA1, ADAM_BETA2, ADAM_EPSILON
from changeproof.plugins import PAPER


@dataclass(kw_only=True, eq=False, repr=False)
class Wachter(Method):
    """Walk down `features x BCE(f(x'), 1) + penalty x |x' - x|`, until f(x') is favourable.

    A row is good enough if f reaches the target.

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
    label = "Wachter"
    cost = Cost(per_person=0.001, feasible=0.03, tuning=5.0)
    summary = "gradient descent on prediction loss plus absolute change"
    source = f"Wachter et al. 2018 (https://arxiv.org/abs/1711.00399), as in {PAPER}"
    needs = Access.GRADIENTS

    penalty: float = 1.0
    learning_rate: float = 0.01
    target: float = 0.501
    max_steps: int = 20_000

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
        # The rows still walking, and their state; arrays shrink as rows arrive.
        walking = np.arange(len(rows))
        start = factuals.rows
        here = start.copy()
        mean, square, largest = np.zeros((3, *here.shape))
        decay1 = decay2 = 1.0
        for step in range(1, self.max_steps + 1):
            logits, slopes = model.logits_and_gradients(here)
            loss_slope = (-n_features * sigmoids(-logits))[:, None] * slopes
            gradient = loss_slope + self.penalty * np.sign(here - start)
            mean = ADAM_BETA1 * mean + (1.0 - ADAM_BETA1) * gradient
            square = ADAM_BETA2 * square + (1.0 - ADAM_BETA2) * gradient**2
            largest = np.maximum(largest, square)
            decay1, decay2 = decay1 * ADAM_BETA1, decay2 * ADAM_BETA2
            size = self.learning_rate / (1.0 - decay1)
            spread = np.sqrt(largest) / np.sqrt(1.0 - decay2) + ADAM_EPSILON
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

    def _score(self, rows: Floats, people: People) -> Floats:
        return logits_of(self.context.model)(rows)

    def _level(self, people: People) -> Floats:
        return np.full(len(people.places), log(self.target / (1.0 - self.target)))
