"""Wachter's descent with PyTorch's Adam and autograd."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy

from benchmarks.plain.method import PlainMethod


class PlainWachter(PlainMethod):
    def answer(self, row_id: int, row: np.ndarray) -> np.ndarray:
        start = torch.from_numpy(row)
        here = start.clone().requires_grad_(True)
        favourable = torch.ones(1, dtype=torch.float64)
        optimiser = torch.optim.Adam([here], lr=self.settings.learning_rate, amsgrad=True)
        for _ in range(self.settings.max_steps):
            optimiser.zero_grad()
            probability = self.module(here[None])[0]
            loss = len(row) * binary_cross_entropy(probability, favourable)
            loss = loss + self.settings.penalty * (here - start).abs().sum()
            loss.backward()
            optimiser.step()
            if probability.item() >= self.settings.target:
                break
        return here.detach().numpy()
