"""ROAR on LIME: scikit-learn's logistic regression, then PyTorch's Adam on the worst case."""

from __future__ import annotations

import math

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from torch.nn.functional import softplus

from benchmarks.plain.draws import lime_samples
from benchmarks.plain.method import PlainMethod


class PlainRoarLime(PlainMethod):
    # The protocol's. The package solves the regression to the end; with a smaller tolerance
    # this does so too, and then the two agree person by person.
    regression_tolerance = 1e-4

    def answer(self, row_id: int, row: np.ndarray) -> np.ndarray:
        coefficients, intercept = self.surrogate(row_id, row)
        weight, start = torch.from_numpy(coefficients), torch.from_numpy(row)
        here = start.clone().requires_grad_(True)
        optimiser = torch.optim.Adam([here], lr=self.settings.learning_rate)
        before = math.inf
        for _ in range(self.settings.max_steps):
            optimiser.zero_grad()
            worst = weight @ here + intercept - self.settings.radius * (here.abs().sum() + 1.0)
            loss = softplus(-worst) + self.settings.penalty * (here - start).abs().sum()
            loss.backward()
            optimiser.step()
            value = loss.item()
            if abs(value - before) <= self.settings.tolerance:
                break
            before = value
        return here.detach().numpy()

    def surrogate(self, row_id: int, row: np.ndarray) -> tuple[np.ndarray, float]:
        """Return LIME's coefficients and intercept; rows are in LIME's scale already."""
        samples = lime_samples(self.context, row_id, self.settings.n_samples)
        samples[0] = row
        distances = np.linalg.norm(samples - row, axis=1)
        width = self.settings.kernel_width * math.sqrt(len(row))
        weights = np.sqrt(np.exp(-((distances / width) ** 2)))
        regression = LogisticRegression(
            C=self.settings.inverse_penalty, tol=self.regression_tolerance, max_iter=10_000
        )
        regression.fit(samples, self.favourable(samples), sample_weight=weights)
        decimals = self.settings.decimals
        return (
            np.round(regression.coef_[0], decimals),
            float(np.round(regression.intercept_[0], decimals)),
        )
