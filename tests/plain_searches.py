"""Slow versions of what searches do, and a model of which only predictions are known."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit, logsumexp

from changeproof import Network
from changeproof.methods.rbr import Mixtures, log_odds
from changeproof.model import Access, Model
from changeproof.models.network import NetworkLearner


class Judge:
    """A model known by its predictions only, that notes how many rows it is asked about."""

    offers = Access.PREDICTIONS

    def __init__(self, judge: Callable[[np.ndarray], np.ndarray]) -> None:
        self.judge = judge
        self.asked: list[int] = []

    def favourable(self, rows: np.ndarray) -> np.ndarray:
        self.asked.append(len(rows))
        return self.judge(rows)

    def probabilities(self, rows: np.ndarray) -> np.ndarray:
        return self.judge(rows).astype(float)


def plain_boundary(
    model: Judge | Network, x: np.ndarray, rows: np.ndarray, n_rows: int, n_steps: int
) -> tuple[np.ndarray, float]:
    """Segment by segment, the first step that is favourable; of these the closest."""
    lengths = np.abs(rows - x).sum(axis=1)
    best, closest = np.full(len(x), np.nan), math.inf
    for i in np.argsort(lengths, kind="stable")[:n_rows]:
        points = x + (np.arange(n_steps) / (n_steps - 1))[:, None] * (rows[i] - x)
        favourable = model.favourable(points)
        if favourable.any():
            first = int(favourable.argmax())
            distance = first / (n_steps - 1) * lengths[i]
            if distance < closest:
                best, closest = points[first], distance
    return best, closest


def plain_optimistic(c: float, p: int, sigma: float, radius: float) -> tuple[float, float]:
    def objective(v: np.ndarray) -> np.ndarray:
        return np.log(sigma + v[1]) + (c - v[0]) ** 2 / (2 * (sigma + v[1]) ** 2)

    value, v = constrained_minimum(objective, radius, 1.0)
    return value + (p - 1) * math.log(sigma), (c - v[0]) / (sigma + v[1]) ** 2


def constrained_minimum(
    objective: Callable[[np.ndarray], np.ndarray], radius: float, weight: float
) -> tuple[float, np.ndarray]:
    """Minimise where u >= 0 and weight u0^2 + u1^2 <= radius^2: a grid, then a descent."""

    def place(polar: np.ndarray) -> np.ndarray:
        length = radius * np.sin(polar[0])
        return np.array([length * np.cos(polar[1]) / weight**0.5, length * np.sin(polar[1])])

    quarter = math.pi / 2
    grid = np.stack(np.meshgrid(*[np.linspace(0.0, quarter, 41)] * 2))
    values = objective(place(grid))
    start = grid[:, *np.unravel_index(values.argmin(), values.shape)]
    run = minimize(
        lambda polar: float(objective(place(polar))),
        start,
        bounds=[(0.0, quarter)] * 2,
        options={"ftol": 1e-15, "gtol": 1e-10},
    )
    return float(run.fun), place(run.x)


def by_class(samples: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, int]:
    """Return samples [features, samples] with the adverse first, and how many are adverse."""
    ordered = np.concatenate([samples[~labels], samples[labels]])
    return np.ascontiguousarray(ordered.T), int((~labels).sum())


def odds(here: np.ndarray, samples: np.ndarray, labels: np.ndarray) -> tuple[float, np.ndarray]:
    gradient = np.empty(len(here))
    mixtures = Mixtures(1.0, 0.5, 0.5)
    return log_odds(here, *by_class(samples, labels), mixtures, gradient), gradient


def plain_corner(c: float, p: int, sigma: float, radius: float) -> tuple[float, float]:
    return -((c + radius) ** 2) / (2 * sigma**2) - p * math.log(sigma), -(c + radius) / sigma**2


def plain_log_odds(
    here: np.ndarray, samples: np.ndarray, labels: np.ndarray
) -> tuple[float, np.ndarray]:
    value, gradient = 0.0, np.zeros(len(here))
    for label, bound, sign in ((False, plain_optimistic, 1.0), (True, plain_corner, -1.0)):
        rows = samples[labels == label]
        if not len(rows):
            continue
        c = np.sqrt(((here - rows) ** 2).sum(axis=1))
        bounds = np.array([bound(each, len(here), 1.0, 0.5) for each in c])
        logs = bounds * (1.0 if label else -1.0)
        total = logsumexp(logs[:, 0])
        value += sign * total
        weights = sign * np.exp(logs[:, 0] - total) * logs[:, 1] / c
        gradient += (weights[:, None] * (here - rows)).sum(axis=0)
    return value, gradient


def alike(columns: int, count: int) -> tuple[Network, ...]:
    """Return networks that mostly agree: one of them, and others with parameters moved a little."""
    learner, first = NetworkLearner(), Network.initialised(columns, (8,), 1)
    return first, *(learner.perturbed(first, 0.05, seed) for seed in range(1, count))


def plain_agreement(pool: Sequence[Model], training: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the log odds of the mean of soft votes, model by model."""
    votes = []
    for model in pool:
        usual = np.median(np.abs(model.probabilities(training) - 0.5))
        votes.append(expit(4.0 * (model.probabilities(rows) - 0.5) / usual))
    return np.asarray(logit(np.mean(votes, axis=0)))
