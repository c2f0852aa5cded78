"""RBR for one person: every segment, every sample and every bound by itself, with SciPy."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import pdist
from scipy.special import logsumexp

from benchmarks.plain.draws import ball_samples
from benchmarks.plain.method import PlainMethod

QUARTER = math.pi / 2.0
GRID = np.stack(np.meshgrid(*[np.linspace(0.0, QUARTER, 7)] * 2))

Objective = Callable[[np.ndarray], np.ndarray]


class PlainRBR(PlainMethod):
    def prepare(self) -> None:
        self.goals = self.training_rows[self.favourable(self.training_rows)]
        self.ball_radius = self.settings.sampling_radius * pdist(self.training_rows).max()

    def answer(self, row_id: int, row: np.ndarray) -> np.ndarray:
        s = self.settings
        boundary, distance = self.boundary(row)
        samples = boundary + self.ball_radius * ball_samples(self.context, row_id, s.n_samples)
        favourable = self.favourable(samples)
        radius = distance + s.extra_distance
        here, least, idle = boundary, math.inf, 0
        for _ in range(s.max_iterations):
            # In single precision and without tolerance, as the published code has it.
            length = sum(np.abs(here.astype(np.float32) - row.astype(np.float32)), np.float32(0.0))
            if length >= np.float32(radius) or idle == s.patience:
                break
            value, slope = self.log_odds(here, samples[~favourable], samples[favourable])
            here = project(here - s.step_size * slope, row, radius)
            here = here.astype(np.float32).astype(np.float64)
            idle = 0 if least - value > s.tolerance else idle + 1
            least = min(least, value)
        return here

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
        """Return the largest log-density -O at a distance, and its derivative."""
        sigma, radius = self.settings.sigma, self.settings.optimistic_radius

        def negative(v: np.ndarray) -> np.ndarray:
            return np.log(sigma + v[1]) + (c - v[0]) ** 2 / (2 * (sigma + v[1]) ** 2)

        value, v = constrained_minimum(negative, radius, 1.0)
        return -value - (p - 1) * math.log(sigma), -(c - v[0]) / (sigma + v[1]) ** 2

    def pessimistic(self, c: float, p: int) -> tuple[float, float]:
        """Return the least log-density P at a distance, and its derivative."""
        sigma, radius = self.settings.sigma, self.settings.pessimistic_radius

        def density(u: np.ndarray) -> np.ndarray:
            left = np.maximum(0.0, radius**2 - p * u[0] ** 2 - u[1] ** 2)
            value = -np.log(sigma + u[1])
            value = value - (c + math.sqrt(p) * u[0]) ** 2 / (2 * (sigma + u[1]) ** 2)
            return value - (p - 1) * np.log(sigma + np.sqrt(left / (p - 1)))

        value, u = constrained_minimum(density, radius, float(p))
        return value, -(c + math.sqrt(p) * u[0]) / (sigma + u[1]) ** 2


def constrained_minimum(
    objective: Objective, radius: float, weight: float
) -> tuple[float, np.ndarray]:
    """Minimise over u >= 0 with weight x u0^2 + u1^2 <= radius^2.

    In two angles the constraint is a square without corners in the objective: the best of a
    coarse grid, then a descent from there.
    """

    def place(angles: np.ndarray) -> np.ndarray:
        length = radius * np.sin(angles[0])
        return np.array(
            [length * np.cos(angles[1]) / math.sqrt(weight), length * np.sin(angles[1])]
        )

    values = objective(place(GRID))
    start = GRID[:, *np.unravel_index(values.argmin(), values.shape)]
    found = minimize(
        lambda angles: float(objective(place(angles))), start, bounds=[(0.0, QUARTER)] * 2
    )
    return float(found.fun), place(found.x)


def project(point: np.ndarray, centre: np.ndarray, radius: float) -> np.ndarray:
    """Return the nearest point within an absolute distance of the centre."""
    change = point - centre
    sizes = np.abs(change)
    if sizes.sum() <= radius:
        return point
    # Every change shrinks by the same amount, found by trying each number of survivors.
    ordered = np.sort(sizes)[::-1]
    cuts = (np.cumsum(ordered) - radius) / np.arange(1, len(sizes) + 1)
    cut = cuts[np.flatnonzero(ordered > cuts)[-1]]
    return centre + np.sign(change) * np.maximum(sizes - cut, 0.0)
