"""Robust Bayesian recourse (Nguyen, Bui and Nguyen): away from the worst mixture of Gaussians."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.arithmetic.functions import exp, log
from changeproof.datasets.actions import Actions
from changeproof.errors import unknown
from changeproof.methods.method import Candidates, Factuals, Method
from changeproof.methods.profile import Cost, WarmUp
from changeproof.methods.realising import realised
from changeproof.methods.search.alternatives import lengths
from changeproof.methods.search.ball_projection import project, single_length
from changeproof.methods.search.descent import lowest
from changeproof.methods.search.few_features import FewFeatures
from changeproof.methods.search.mixture_bounds import pessimistic_table
from changeproof.methods.search.nearest_boundary import largest_distance, nearest_boundary
from changeproof.methods.search.no_worse import no_worse
from changeproof.methods.search.odds_within import odds_within
from changeproof.methods.search.repair import ROUNDS, acceptance, lifted
from changeproof.methods.search.shortest import mended
from changeproof.methods.search.worst_case_odds import NO_TABLE, Mixtures, by_class, log_odds
from changeproof.model import Booleans, Floats, Integers, Singles
from changeproof.plugins import PAPER
from changeproof.randomness import stream

NO_FAVOURABLE_ROW = "no training row is predicted favourable"
NO_BOUNDARY = "no point on the way to a favourable training row is favourable"
NOTHING_REALISABLE = "no realisable row that the model accepts was found"
FACTUALS_AT_ONCE = 256
# Of the descent among realisable rows, where only few features are looked at.
FEW_ROUNDS = 20
INNER = ("published", "exact")
# 1 / sqrt(1000), as single precision has it after two roundings.
STEP_SIZE = float(np.float32(1.0) / np.sqrt(np.float32(1_000.0)))


@dataclass(kw_only=True, eq=False, repr=False)
class RBR(Method):
    """Find the closest boundary point, then walk to where the worst-case odds are better.

    Around the boundary point, samples labelled by the model are smoothed into one mixture of
    Gaussians per class. The walk lowers the odds of adverse to favourable under the mixtures
    least kind to the point, within Wasserstein radii. It ends where it has used up its distance,
    and its last point is the answer, favourable or not.

    Where it is said what people may be told, the boundary point, the samples and the walk are on
    such rows (one feature at a time, as long as the model accepts), and the walk may also go as
    far as the answer above does once it is made realisable.

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
    inner
        Which Gaussian stands for a favourable sample. "published": the one whose mean has moved
        away by the whole radius. The published code always ends there, because the gradient of
        its inner search has a sign error, and the paper's numbers are of that. "exact": the one
        that makes the point least likely, as the method is defined.
    step_size, max_iterations
        Of the projected gradient descent.
    patience, tolerance
        The walk also ends after so many iterations in a row that did not improve the best value
        by more than the tolerance.

    Notes
    -----
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
    inner: str = "published"
    step_size: float = STEP_SIZE
    max_iterations: int = 500
    patience: int = 10
    tolerance: float = 1e-10

    def __post_init__(self) -> None:
        if self.inner not in INNER:
            raise unknown("inner search of rbr", self.inner, INNER)

    def _prepare(self) -> None:
        rows = self.context.task.rows("train")
        self._favourable = rows[self.context.model.favourable(rows)]
        self._ball_radius = self.sampling_radius * largest_distance(rows)

    def _search(self, factuals: Factuals) -> Candidates:
        candidates = self._published(factuals)
        if self.context.actions is None or not len(self._favourable):
            return candidates
        rows = self._realisable(self.context.actions, factuals, candidates.rows)
        reasons = np.where(np.isnan(rows[:, 0]), NOTHING_REALISABLE, "").tolist()
        return Candidates(rows, reasons, candidates.diagnostics)

    def _published(self, factuals: Factuals) -> Candidates:
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
        for first in range(0, len(places), FACTUALS_AT_ONCE):
            some = places[first : first + FACTUALS_AT_ONCE]
            samples, labels = self._samples(factuals.row_ids[some], boundary.rows[some])
            rows[some], diagnostics["iterations"][some] = self._walk(
                factuals.rows[some], boundary.rows[some], samples, labels
            )
            diagnostics["favourable_samples"][some] = labels.sum(axis=1)
        return Candidates(rows, np.where(there, "", NO_BOUNDARY).tolist(), diagnostics)

    def _realisable(self, actions: Actions, factuals: Factuals, published: Floats) -> Floats:
        """Return realisable rows of low odds that the model accepts; NaN where none is known."""
        model, people = self.context.model, factuals.rows
        told = np.where(np.isnan(published), people, published)
        told = as_published = realised(actions, model, people, told).rows
        kept = model.favourable(told)
        told, reached, lost = told.copy(), kept.copy(), np.flatnonzero(~kept)
        few = FewFeatures(actions, model, people[lost])
        goal = acceptance(few.model, few.actions)
        found, reached[lost] = mended(few.actions, few.people, few.rows(told[lost]), goal)
        told[lost] = few.back(found)
        told[~reached] = np.nan
        centres, absolute = told.copy(), np.ones(people.shape[1])
        for i in range(len(people)):
            # Rows that a person may become; the way there stays inside the person's limits.
            ends = actions.project(people[[i]], self._favourable[None])[0]
            ends = ends[model.favourable(ends)]
            if len(ends):
                steps = {"n_rows": self.n_rows, "n_steps": self.n_steps}
                centres[i] = nearest_boundary(model, people[[i]], ends, **steps).rows[0]
                if not reached[i]:
                    told[i] = ends[lengths(people[[i]], ends[None], absolute)[0].argmin()]
        found = np.full_like(people, np.nan)
        places = np.flatnonzero(np.isfinite(centres).all(axis=1))
        for first in range(0, len(places), FACTUALS_AT_ONCE):
            some = places[first : first + FACTUALS_AT_ONCE]
            own = people[some]
            few = FewFeatures(actions, model, own)
            goal = acceptance(few.model, few.actions)
            begin = few.rows(actions.project(own, centres[some]))
            begin, accepted = lifted(few.actions, few.people, begin, goal)
            begin = few.back(begin)
            begin[~accepted] = told[some][~accepted]
            samples, labels = self._samples(factuals.row_ids[some], centres[some], own)
            reach = lengths(own, begin[:, None], absolute)[:, 0] + self.extra_distance
            as_told = lengths(own, told[some][:, None], absolute)[:, 0]
            reach = np.where(kept[some], np.maximum(reach, as_told), reach)
            odds = odds_within(few, own, reach, samples, labels, self._mixtures(own.shape[1]))
            starts = [few.rows(begin), few.rows(told[some])]
            rounds = FEW_ROUNDS if few.few else ROUNDS
            best = lowest(few.actions, few.people, starts, odds, rounds)
            found[some] = few.back(best)
        return no_worse(self.context.task, model, people, found, as_published)

    def _diagnostics(self, n: int) -> dict[str, Floats]:
        names = ("boundary_distance", "iterations", "favourable_samples")
        return {name: np.full(n, np.nan) for name in names}

    def _samples(
        self, row_ids: Integers, centres: Floats, people: Floats | None = None
    ) -> tuple[Floats, Booleans]:
        """Draw uniformly from the ball around each centre, and label what was drawn.

        Of people, what was drawn is first made realisable.
        """
        n, n_features = centres.shape
        samples = np.empty((n, self.n_samples, n_features))
        for i, row_id in enumerate(row_ids.tolist()):
            generator = stream(self.context.task.name, self.context.base_seed, "rbr", row_id)
            directions = generator.standard_normal((self.n_samples, n_features))
            directions /= np.sqrt((directions**2).sum(axis=1, keepdims=True))
            reach = _roots(generator.random(self.n_samples), n_features)
            samples[i] = centres[i] + self._ball_radius * reach[:, None] * directions
        if people is not None and self.context.actions is not None:
            samples = self.context.actions.project(people, samples)
        labels = self.context.model.favourable(samples.reshape(-1, n_features))
        return samples, labels.reshape(n, self.n_samples)

    def _walk(
        self, starts: Floats, centres: Floats, samples: Floats, labels: Booleans
    ) -> tuple[Singles, Integers]:
        rows = centres.astype(np.float32)
        iterations = np.zeros(len(rows), dtype=np.int64)
        _walk_all(
            rows,
            iterations,
            starts.astype(np.float32),
            self.extra_distance,
            samples,
            labels,
            self._mixtures(rows.shape[1]),
            self.step_size,
            self.max_iterations,
            self.patience,
            self.tolerance,
        )
        return rows, iterations

    def _mixtures(self, n_features: int) -> Mixtures:
        radii, table = (self.optimistic_radius, self.pessimistic_radius), NO_TABLE
        if self.inner == "exact":
            table = _table(n_features, self.sigma, self.pessimistic_radius)
        return Mixtures(self.sigma, *radii, table)


@lru_cache(maxsize=16)
def _table(n_features: int, sigma: float, radius: float) -> Floats:
    return np.asarray(pessimistic_table(n_features, sigma, radius))


@compiled
def _roots(numbers: Any, degree: int) -> Any:
    """Return the roots, of that degree, of numbers from [0, 1)."""
    roots = np.empty(len(numbers))
    for i in range(len(numbers)):
        root = exp(log(numbers[i]) / degree)
        roots[i] = root if numbers[i] > 0.0 else 0.0
    return roots


@compiled
def _walk_all(
    rows: Any,
    iterations: Any,
    starts: Any,
    extra_distance: float,
    samples: Any,
    labels: Any,
    mixtures: Any,
    step_size: float,
    max_iterations: int,
    patience: int,
    tolerance: float,
) -> None:
    """Move each single precision row, in place, down its objective; count the steps it takes."""
    gradient = np.empty(rows.shape[1])
    step = np.float32(step_size)
    for i in range(len(rows)):
        here, start = rows[i], starts[i]
        radius = single_length(here, start) + np.float32(extra_distance)
        sorted_samples, features, n_adverse = by_class(samples[i], labels[i])
        least, idle = np.inf, 0
        while iterations[i] < max_iterations and idle < patience:
            if single_length(here, start) >= radius:
                break
            odds = log_odds(here, sorted_samples, features, n_adverse, mixtures, gradient)
            value = float(np.float32(odds))
            for k in range(len(here)):
                here[k] = here[k] - step * np.float32(gradient[k]) - start[k]
            project(here, radius)
            for k in range(len(here)):
                here[k] += start[k]
            iterations[i] += 1
            idle = 0 if least - value > tolerance else idle + 1
            least = min(least, value)
