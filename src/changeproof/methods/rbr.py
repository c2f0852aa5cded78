"""Robust Bayesian recourse (Nguyen, Bui and Nguyen): away from the worst mixture of Gaussians."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from changeproof.methods.method import Candidates, Factuals, Method
from changeproof.methods.mixture_bounds import optimistic, pessimistic, pessimistic_table
from changeproof.methods.nearest_boundary import exactly, largest_distance, nearest_boundary
from changeproof.networks.kernels import compiled
from changeproof.networks.model import Booleans, Floats
from changeproof.randomness import stream

NO_FAVOURABLE_ROW = "no training row is predicted favourable"
NO_BOUNDARY = "no point on the way to a favourable training row is favourable"
PEOPLE_AT_ONCE = 256


class RBR(Method):
    """Find the closest boundary point, then walk to where the worst-case odds are better.

    Around the boundary point, samples labelled by the model are smoothed into one mixture of
    Gaussians per class. The walk lowers the odds of adverse to favourable under the mixtures
    least kind to the point, within Wasserstein radii. It ends where it has used up its distance,
    and its last point is the answer, favourable or not.

    Parameters
    ----------
    n_rows
        How many of the nearest (absolute distance) favourable training rows to look towards.
    n_steps
        Points judged on the way to each of them, both ends included.
    n_samples
        Points drawn around the boundary point.
    sampling_radius
        Radius of the Euclidean ball that they come from, as a share of the largest distance
        between two training rows.
    sigma
        Deviation of the Gaussian around a sample.
    optimistic_radius, pessimistic_radius
        Wasserstein radii of the adverse and of the favourable mixture.
    extra_distance
        How much farther than the boundary point, in absolute distance, the walk may go.
    step_size, max_iterations
        Of the projected gradient descent.
    patience, tolerance
        The walk also ends after so many iterations in a row that did not improve the best value
        by more than the tolerance.

    Notes
    -----
    The walk ends before the step at which it finds itself on the surface of its ball. As in the
    published code, where it is and how far it has come are single precision numbers, compared
    without a tolerance: a row projected onto the surface may come to lie a rounding error inside,
    and then takes another step.
    """

    name = "rbr"
    summary = "descent on the worst-case odds of Gaussian mixtures around the nearest boundary"

    def __init__(
        self,
        *,
        n_rows: int = 1_000,
        n_steps: int = 100,
        n_samples: int = 200,
        sampling_radius: float = 0.2,
        sigma: float = 1.0,
        optimistic_radius: float = 0.5,
        pessimistic_radius: float = 0.5,
        extra_distance: float = 0.2,
        step_size: float = 1.0 / math.sqrt(1_000.0),
        max_iterations: int = 500,
        patience: int = 10,
        tolerance: float = 1e-10,
    ) -> None:
        self.n_rows = n_rows
        self.n_steps = n_steps
        self.n_samples = n_samples
        self.sampling_radius = sampling_radius
        self.sigma = sigma
        self.optimistic_radius = optimistic_radius
        self.pessimistic_radius = pessimistic_radius
        self.extra_distance = extra_distance
        self.step_size = step_size
        self.max_iterations = max_iterations
        self.patience = patience
        self.tolerance = tolerance

    def _prepare(self) -> None:
        rows = self.context.task.rows("train")
        self._favourable = rows[self.context.model.favourable(rows)]
        self._ball_radius = self.sampling_radius * largest_distance(rows)

    def _search(self, factuals: Factuals) -> Candidates:
        n = len(factuals)
        if not len(self._favourable):
            nothing = np.full_like(factuals.rows, np.nan)
            return Candidates(nothing, [NO_FAVOURABLE_ROW] * n, self._diagnostics(n))
        boundary = nearest_boundary(
            self.context.model,
            factuals.rows,
            self._favourable,
            n_rows=self.n_rows,
            n_steps=self.n_steps,
        )
        diagnostics = self._diagnostics(n) | {"boundary_distance": boundary.distances}
        rows = np.full_like(factuals.rows, np.nan)
        there = np.isfinite(boundary.distances)
        places = np.flatnonzero(there)
        for first in range(0, len(places), PEOPLE_AT_ONCE):
            some = places[first : first + PEOPLE_AT_ONCE]
            samples, labels = self._samples(factuals.row_ids[some], boundary.rows[some])
            radii = boundary.distances[some] + self.extra_distance
            rows[some], diagnostics["iterations"][some] = self._walk(
                factuals.rows[some], boundary.rows[some], radii, samples, labels
            )
            diagnostics["favourable_samples"][some] = labels.sum(axis=1)
        return Candidates(rows, np.where(there, "", NO_BOUNDARY).tolist(), diagnostics)

    def _diagnostics(self, n: int) -> dict[str, Floats]:
        names = ("boundary_distance", "iterations", "favourable_samples")
        return {name: np.full(n, np.nan) for name in names}

    def _samples(self, row_ids: npt.NDArray[np.int64], centres: Floats) -> tuple[Floats, Booleans]:
        """Draw uniformly from the ball around each centre, and label what was drawn."""
        n, n_features = centres.shape
        samples = np.empty((n, self.n_samples, n_features))
        for i, row_id in enumerate(row_ids.tolist()):
            generator = stream(self.context.task.name, self.context.base_seed, "rbr", row_id)
            directions = generator.standard_normal((self.n_samples, n_features))
            directions /= np.sqrt((directions**2).sum(axis=1, keepdims=True))
            reach = generator.random((self.n_samples, 1)) ** (1.0 / n_features)
            samples[i] = centres[i] + self._ball_radius * reach * directions
        labels = self.context.model.favourable(samples.reshape(-1, n_features))
        return samples, labels.reshape(n, self.n_samples)

    def _walk(
        self, starts: Floats, centres: Floats, radii: Floats, samples: Floats, labels: Booleans
    ) -> tuple[Floats, npt.NDArray[np.int64]]:
        rows = centres.copy()
        iterations = np.zeros(len(rows), dtype=np.int64)
        _walk_all(
            rows,
            iterations,
            starts,
            radii,
            samples,
            labels,
            self.sigma,
            self.optimistic_radius,
            self.pessimistic_radius,
            _table(rows.shape[1], self.sigma, self.pessimistic_radius),
            self.step_size,
            self.max_iterations,
            self.patience,
            self.tolerance,
        )
        return rows, iterations


@lru_cache(maxsize=16)
def _table(n_features: int, sigma: float, radius: float) -> Floats:
    return np.asarray(pessimistic_table(n_features, sigma, radius))


@compiled
def _walk_all(
    rows: Any,
    iterations: Any,
    starts: Any,
    radii: Any,
    samples: Any,
    labels: Any,
    sigma: float,
    optimistic_radius: float,
    pessimistic_radius: float,
    table: Any,
    step_size: float,
    max_iterations: int,
    patience: int,
    tolerance: float,
) -> None:
    """Move each row, in place, down its objective; count the steps it takes."""
    gradient = np.empty(rows.shape[1])
    for i in range(len(rows)):
        here, start = rows[i], starts[i]
        least, idle = np.inf, 0
        while iterations[i] < max_iterations and idle < patience:
            if single_length(here, start) >= np.float32(radii[i]):
                break
            value = log_odds(
                here,
                samples[i],
                labels[i],
                sigma,
                optimistic_radius,
                pessimistic_radius,
                table,
                gradient,
            )
            for k in range(len(here)):
                here[k] -= step_size * gradient[k]
            project(here, start, radii[i])
            for k in range(len(here)):
                here[k] = np.float32(here[k])
            iterations[i] += 1
            idle = 0 if least - value > tolerance else idle + 1
            least = min(least, value)


@exactly
def single_length(here: Any, start: Any) -> Any:
    """Return the absolute distance in single precision, added up in the order of the features."""
    length = np.float32(0.0)
    for k in range(len(here)):
        length += abs(np.float32(here[k]) - np.float32(start[k]))
    return length


@compiled
def log_odds(
    here: Any,
    samples: Any,
    labels: Any,
    sigma: float,
    optimistic_radius: float,
    pessimistic_radius: float,
    table: Any,
    gradient: Any,
) -> float:
    """Return the worst-case log-odds of adverse to favourable, and fill in their gradient.

    The part of a class without samples is left out.
    """
    n_samples, n_features = samples.shape
    logs, slopes = np.empty(n_samples), np.empty(n_samples)
    most = np.full(2, -np.inf)
    for n in range(n_samples):
        square = 0.0
        for k in range(n_features):
            square += (here[k] - samples[n, k]) ** 2
        c = math.sqrt(square)
        if labels[n]:
            log, slope = pessimistic(c, n_features, sigma, pessimistic_radius, table)
        else:
            negative, rise = optimistic(c, n_features, sigma, optimistic_radius)
            log, slope = -negative, -rise
        logs[n] = log
        slopes[n] = slope / c if c > 0.0 else 0.0
        most[int(labels[n])] = max(most[int(labels[n])], log)
    totals = np.zeros(2)
    for n in range(n_samples):
        logs[n] = math.exp(logs[n] - most[int(labels[n])])
        totals[int(labels[n])] += logs[n]
    gradient[:] = 0.0
    for n in range(n_samples):
        weight = slopes[n] * logs[n] / totals[int(labels[n])]
        if labels[n]:
            weight = -weight
        for k in range(n_features):
            gradient[k] += weight * (here[k] - samples[n, k])
    value = 0.0
    if totals[0] > 0.0:
        value += most[0] + math.log(totals[0])
    if totals[1] > 0.0:
        value -= most[1] + math.log(totals[1])
    return value


@compiled
def project(here: Any, centre: Any, radius: float) -> None:
    """Move a row, in place, to the nearest one within an absolute distance of the centre.

    Every change shrinks by the same amount, or to nothing where it is smaller than that: the
    amount that leaves a total of `radius`. Leaving out the changes that vanish raises it.
    """
    n_features = len(here)
    cut, vanishing = -np.inf, -1
    while True:
        total, n_left = 0.0, 0
        for k in range(n_features):
            change = abs(here[k] - centre[k])
            if change > cut:
                total += change
                n_left += 1
        if vanishing < 0 and total <= radius:
            return
        if n_left == 0 or n_features - n_left == vanishing:
            break
        vanishing = n_features - n_left
        cut = (total - radius) / n_left
    for k in range(n_features):
        change = here[k] - centre[k]
        size = max(abs(change) - cut, 0.0)
        here[k] = centre[k] + (size if change > 0.0 else -size)
