"""BetaRCE for one person, with an ensemble trained by an ordinary PyTorch loop."""

from __future__ import annotations

import numpy as np
import torch
from scipy.stats import beta
from torch import nn

from benchmarks.plain.growing_spheres import growing_spheres
from benchmarks.plain.method import PlainMethod
from benchmarks.plain.training import plain_training


class PlainBetaRCE(PlainMethod):
    def prepare(self) -> None:
        self.ensemble = [self.member(number) for number in range(self.settings.ensemble_size)]

    def member(self, number: int) -> nn.Sequential:
        """Train one bootstrap network from the base initialisation."""
        task, seed = self.context.task, self.context.base_seed
        n_train = len(self.training_rows)
        drawn = np.random.default_rng(seed + 100_000 + number).integers(0, n_train, n_train)
        network, _ = plain_training(
            self.training_rows[drawn],
            task.labels_of("train")[drawn],
            task.rows("validation"),
            task.labels_of("validation"),
            seed=seed,
        )
        return network.double()

    def bounds(self, points: np.ndarray) -> np.ndarray:
        """Return the lower bounds on the share of admissible models that accept the points."""
        rows = torch.from_numpy(points)
        with torch.no_grad():
            votes = sum(
                (network(rows)[:, 0] >= 0.5).numpy().astype(int) for network in self.ensemble
            )
        size = len(self.ensemble)
        return beta.ppf(1.0 - self.settings.confidence, 0.5 + votes, 0.5 + size - votes)

    def robust(self, points: np.ndarray) -> np.ndarray:
        return self.favourable(points) & (self.bounds(points) > self.settings.robustness)

    def answer(self, row_id: int, row: np.ndarray) -> np.ndarray:
        s = self.settings
        shells = {"samples": s.samples, "norm": 2, "step": s.step}
        first = growing_spheres(
            self.context, row, self.favourable, "betarce first", max_shells=s.first_shells, **shells
        )
        if np.isnan(first).any() or self.robust(first[None])[0]:
            return first
        return growing_spheres(
            self.context, first, self.robust, "betarce second", max_shells=s.second_shells, **shells
        )
