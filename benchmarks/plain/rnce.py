"""RNCE with one mixed-integer programme for every training row."""

from __future__ import annotations

import numpy as np

from benchmarks.plain.method import PlainMethod
from benchmarks.plain.programme import Programme


class PlainRNCE(PlainMethod):
    # Rows known to be certified, for those who cannot wait until all of them are.
    known_candidates: np.ndarray | None = None

    def prepare(self) -> None:
        if self.known_candidates is not None:
            self.candidates = self.known_candidates
            return
        verdicts = [self.worst_logit(row) > 0.0 for row in self.training_rows]
        self.candidates = self.training_rows[np.array(verdicts)]

    def answer(self, row_id: int, row: np.ndarray) -> np.ndarray:
        return self.candidates[np.linalg.norm(self.candidates - row, axis=1).argmin()]

    def worst_logit(self, row: np.ndarray) -> float:
        """Return the smallest logit over all networks of the box.

        A neuron's own parameters move its pre-activation by at most the radius times the sum of
        its inputs and one; activations are not negative, so that sum is linear in them.
        """
        network, radius = self.context.model, self.settings.radius
        layers = [
            (weight.astype(np.float64), bias.astype(np.float64))
            for weight, bias in zip(network.weights, network.biases, strict=True)
        ]
        programme = Programme()
        weight, bias = layers[0]
        reach = radius * (np.abs(row).sum() + 1.0)
        middle = weight @ row + bias
        before = [programme.variable(m - reach, m + reach) for m in middle]
        for weight, bias in layers[1:]:
            inputs = [programme.relu(variable) for variable in before]
            least = np.array([programme.lower[i] for i in inputs])
            most = np.array([programme.upper[i] for i in inputs])
            before = []
            for weights, constant in zip(weight, bias, strict=True):
                light, heavy = weights - radius, weights + radius
                low = np.minimum(light * least, light * most).sum() + constant - radius
                high = np.maximum(heavy * least, heavy * most).sum() + constant + radius
                variable = programme.variable(low, high)
                above = dict(zip(inputs, light.tolist(), strict=True)) | {variable: -1.0}
                below = dict(zip(inputs, (-heavy).tolist(), strict=True)) | {variable: 1.0}
                programme.at_most(above, radius - constant)
                programme.at_most(below, radius + constant)
                before.append(variable)
        programme.costs[before[0]] = 1.0
        solved = programme.solve()
        assert solved is not None, "the network itself is always a solution"
        return solved[0]
