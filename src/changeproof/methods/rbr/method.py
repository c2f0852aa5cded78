"""Robust Bayesian recourse (Nguyen, Bui and Nguyen): away from the worst mixture of Gaussians."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.arithmetic.functions import exp, log
from changeproof.methods.method import Candidates, Factuals, Method, People
from changeproof.methods.profile import Cost, WarmUp
from changeproof.methods.rbr.boundary import largest_distance, nearest_boundary
from changeproof.methods.rbr.walk import Mixtures, all_log_odds, walk
from changeproof.model import Booleans, Floats, Integers
from changeproof.plugins import PAPER
from changeproof.randomness import stream

NO_FAVOURABLE_ROW = "no training row is predicted favourable"
NO_BOUNDARY = "no point on the way to a favourable training row is favourable"
# 1 / sqrt(1000), as single precision has it after two roundings.
STEP_SIZE = float(np.float32(1.0) / np.sqrt(np.float32(1_000.0)))


@dataclass(kw_only=True, eq=False, repr=False)
class RBR(Method):
    """Find the closest boundary point, then walk to where the worst-case odds are better.

    Around the boundary point, samples labelled by the model are smoothed into one mixture of
    Gaussians per class. The walk lowers the odds of adverse to favourable under the mixtures
    least kind to the point, within Wasserstein radii. It ends where it has used up its distance,
    and its last point is the answer, favourable or not.

    A row is good enough if its odds are no worse than those of the method's own proposal.

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
    For a favourable sample stands the Gaussian whose mean has moved away by the whole radius. The
    published code always ends there, because the gradient of its inner search has a sign error,
    and the paper's numbers are of that. As the method is defined, it would be the Gaussian that
    makes the point least likely.

    As in the published code, the walk is in single precision: the factual, the boundary point,
    the radius, where the walk is, the gradient once it is known, the step, the projection, and
    the value that has to improve. The search for the boundary point, the samples and what is
    inside value and gradient are in double precision.

    The walk ends before the step at which it finds itself on the surface of its ball, without a
    tolerance: a row projected onto the surface may come to lie a rounding error inside, and then
    takes another step. All sums have the published order for that reason.
    """

    name = "rbr"
    label = "RBR"
    cost = Cost(per_person=0.005, feasible=0.1, own_model=0.02)
    warm_up = WarmUp(seconds=5)
    summary = "descent on the worst-case odds of Gaussian mixtures around the nearest boundary"
    source = f"Nguyen et al. 2022 (https://arxiv.org/abs/2206.10833), as in {PAPER}"

    n_rows: int = 1_000
    n_steps: int = 100
    n_samples: int = 200
    sampling_radius: float = 0.2
    sigma: float = 1.0
    optimistic_radius: float = 0.5
    pessimistic_radius: float = 0.5
    extra_distance: float = 0.2
    step_size: float = STEP_SIZE
    max_iterations: int = 500
    patience: int = 10
    tolerance: float = 1e-10

    def _prepare(self) -> None:
        rows = self.context.task.rows("train")
        self._favourable = rows[self.context.model.favourable(rows)]
        self._ball_radius = self.sampling_radius * largest_distance(rows)

    def _search(self, factuals: Factuals) -> Candidates:
        n, n_features = factuals.rows.shape
        boundary = nearest_boundary(
            self.context.model,
            factuals.rows,
            self._favourable,
            n_rows=self.n_rows,
            n_steps=self.n_steps,
        )
        there = np.flatnonzero(np.isfinite(boundary.distances))
        samples, labels = self._samples(factuals.row_ids[there], boundary.rows[there])
        # The adverse first, and feature by feature: loops over samples do not jump in memory.
        order = np.argsort(labels, axis=1, kind="stable")[:, :, None]
        features = np.zeros((n, n_features, self.n_samples))
        features[there] = np.take_along_axis(samples, order, axis=1).transpose(0, 2, 1)
        adverse = np.zeros(n, dtype=np.int64)
        adverse[there] = (~labels).sum(axis=1)
        walked = boundary.rows[there].astype(np.float32)
        rows = np.full_like(factuals.rows, np.nan)
        iterations, favourable = np.full((2, n), np.nan)
        iterations[there] = walk(
            walked,
            factuals.rows[there].astype(np.float32),
            features[there],
            adverse[there],
            self._mixtures,
            self.extra_distance,
            self.step_size,
            self.max_iterations,
            self.patience,
            self.tolerance,
        )
        rows[there], favourable[there] = walked, labels.sum(axis=1)
        reason = NO_BOUNDARY if len(self._favourable) else NO_FAVOURABLE_ROW
        return Candidates(
            rows,
            np.where(np.isfinite(boundary.distances), "", reason).tolist(),
            {
                "boundary_distance": boundary.distances,
                "iterations": iterations,
                "favourable_samples": favourable,
            },
            {"features": features, "adverse": adverse},
        )

    def _score(self, rows: Floats, people: People) -> Floats:
        private = people.proposals.private
        features, adverse = private["features"], private["adverse"]
        return -np.asarray(all_log_odds(rows, people.places, features, adverse, self._mixtures))

    @property
    def _mixtures(self) -> Mixtures:
        return Mixtures(self.sigma, self.optimistic_radius, self.pessimistic_radius)

    def _samples(self, row_ids: Integers, centres: Floats) -> tuple[Floats, Booleans]:
        """Draw uniformly from the ball around each centre, and label what was drawn."""
        n, n_features = centres.shape
        samples = np.empty((n, self.n_samples, n_features))
        for i, row_id in enumerate(row_ids.tolist()):
            generator = stream(self.context.task.name, self.context.base_seed, "rbr", row_id)
            directions = generator.standard_normal((self.n_samples, n_features))
            directions /= np.sqrt((directions**2).sum(axis=1, keepdims=True))
            reach = _roots(generator.random(self.n_samples), n_features)
            samples[i] = centres[i] + self._ball_radius * reach[:, None] * directions
        labels = self.context.model.favourable(samples.reshape(-1, n_features))
        return samples, labels.reshape(n, self.n_samples)


@compiled
def _roots(numbers: Any, degree: int) -> Any:
    """Return the roots, of that degree, of numbers from [0, 1)."""
    roots = np.empty(len(numbers))
    for i in range(len(numbers)):
        root = exp(log(numbers[i]) / degree)
        roots[i] = root if numbers[i] > 0.0 else 0.0
    return roots
