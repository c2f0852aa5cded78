"""RBR for one person: every segment, every sample and every bound by itself, with SciPy."""

from __future__ import annotations

import math

import numpy as np
import torch
from scipy.optimize import brentq
from scipy.spatial.distance import pdist
from scipy.special import logsumexp

from benchmarks.plain.draws import ball_samples
from benchmarks.plain.method import PlainMethod

QUARTER = math.pi / 2.0


class PlainRBR(PlainMethod):
    def prepare(self) -> None:
        self.goals = self.training_rows[self.favourable(self.training_rows)]
        self.ball_radius = self.settings.sampling_radius * pdist(self.training_rows).max()

    def answer(self, row_id: int, row: np.ndarray) -> np.ndarray:
        s = self.settings
        boundary, _ = self.boundary(row)
        samples = boundary + self.ball_radius * ball_samples(self.context, row_id, s.n_samples)
        favourable = self.favourable(samples)
        # From here on in single precision and without tolerance, as the published code has it.
        start, here = torch.tensor(row).float(), torch.tensor(boundary).float()
        radius = torch.linalg.norm(here - start, ord=1) + s.extra_distance
        least, idle = math.inf, 0
        for _ in range(s.max_iterations):
            if torch.linalg.norm(here - start, ord=1) >= radius or idle == s.patience:
                break
            place = here.double().numpy()
            value, slope = self.log_odds(place, samples[~favourable], samples[favourable])
            wish = here - torch.tensor(s.step_size).float() * torch.tensor(slope).float()
            here = project(wish - start, radius) + start
            idle = 0 if least - float(np.float32(value)) > s.tolerance else idle + 1
            least = min(least, float(np.float32(value)))
        return here.double().numpy()

    def boundary(self, row: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the closest of the first favourable points on the way to each goal."""
        s = self.settings
        distances = np.abs(self.goals - row).sum(axis=1)
        fractions = np.arange(s.n_steps)[:, None] / (s.n_steps - 1)
        best, closest = np.full_like(row, np.nan), math.inf
        for i in np.argsort(distances, kind="stable")[: s.n_rows]:
            points = row + fractions * (self.goals[i] - row)
            favourable = self.favourable(points)
            if favourable.any():
                first = int(favourable.argmax())
                if float(fractions[first, 0]) * distances[i] < closest:
                    best, closest = points[first], float(fractions[first, 0]) * distances[i]
        return best, closest

    def log_odds(
        self, here: np.ndarray, adverse: np.ndarray, favourable: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """Return the worst-case log-odds of adverse to favourable, and their gradient."""
        value, gradient = 0.0, np.zeros(len(here))
        for samples, bound, sign in (
            (adverse, self.optimistic, 1.0),
            (favourable, self.pessimistic, -1.0),
        ):
            if not len(samples):
                continue
            distances = np.linalg.norm(here - samples, axis=1)
            logs, slopes = np.array([bound(c, len(here)) for c in distances]).T
            value += sign * logsumexp(logs)
            weights = sign * np.exp(logs - logsumexp(logs)) * slopes / distances
            gradient += weights @ (here - samples)
        return value, gradient

    def optimistic(self, c: float, p: int) -> tuple[float, float]:
        """Return the largest log-density -O at a distance, and its derivative.

        Beyond radius + sigma the radius is split by an angle, the root of the derivative.
        """
        sigma, radius = self.settings.sigma, self.settings.optimistic_radius

        def rise(angle: float) -> float:
            gap, deviation = c - radius * math.cos(angle), sigma + radius * math.sin(angle)
            towards, wider = radius * math.sin(angle), radius * math.cos(angle)
            return towards * gap / deviation**2 + wider * (1 - gap**2 / deviation**2) / deviation

        v0, v1 = min(c, radius), 0.0
        if c > radius + sigma:
            angle = brentq(rise, 0.0, QUARTER, xtol=1e-16, rtol=1e-15)
            v0, v1 = radius * math.cos(angle), radius * math.sin(angle)
        gap, deviation = c - v0, sigma + v1
        value = math.log(deviation) + gap**2 / (2 * deviation**2) + (p - 1) * math.log(sigma)
        return -value, -gap / deviation**2

    def pessimistic(self, c: float, p: int) -> tuple[float, float]:
        """Return the log-density P at a distance, in the corner, and its derivative."""
        sigma, radius = self.settings.sigma, self.settings.pessimistic_radius

        value = -((c + radius) ** 2) / (2 * sigma**2) - p * math.log(sigma)
        return value, -(c + radius) / sigma**2


def project(change: torch.Tensor, radius: torch.Tensor) -> torch.Tensor:
    """Return the nearest change of at most that absolute length."""
    sizes = change.abs()
    if sizes.sum() <= radius or torch.linalg.norm(sizes, ord=1) == radius:
        return change
    # Every change shrinks by the same amount, found by trying each number of survivors.
    ordered = sizes.sort(descending=True).values
    excess, survivors = ordered.cumsum(0) - radius, torch.arange(1, len(sizes) + 1)
    last = int(torch.nonzero(ordered * survivors > excess)[-1])
    return change.sign() * (sizes - excess[last] / survivors[last]).clip(min=0)
