"""Projection on a linear surrogate that covers both classes around the boundary (CVAS)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import Field

from changeproof.arithmetic.functions import exponentials, logarithms, solve_positive
from changeproof.feasible.wide_tables import affordable
from changeproof.methods.method import Candidates, Columns, Cost, Factuals, Method, People, WarmUp
from changeproof.methods.rbr import (
    NO_BOUNDARY,
    NO_FAVOURABLE_ROW,
    largest_distance,
    nearest_boundary,
)
from changeproof.methods.shared.knapsack import cheapest
from changeproof.methods.shared.spread import Spread
from changeproof.model import Booleans, Floats
from changeproof.randomness import stream

Variant = Literal["mpm", "quad", "bw", "fr"]
ONE_CLASS = "the samples around the boundary are of one class"
FLAT = "no linear surrogate tells the samples around the boundary apart"
OUT_OF_RANGE = "no row in the range is beyond the boundary of the surrogate"
# Of the mean variance, added to all: samples of a small class do not span every direction.
RIDGE = 1e-6
# Steps to the surrogate, which end where its spread falls by a smaller share.
MOST_STEPS, ENOUGH = 500, 1e-12
PEOPLE_AT_ONCE = 64
# The margins that tuning chooses from.
MARGINS = (0.1, 0.2, 0.5, 1.0)


class Surrogate(NamedTuple):
    """A linear model that accepts where ``rows @ coefficients + intercept`` is above zero.

    Along its coefficients, the means of the classes are 1 apart. It tells at least the share
    ``validity`` of either class right, whatever distribution has their means and covariances.
    """

    coefficients: Floats
    intercept: float
    validity: float


@dataclass(kw_only=True, eq=False, repr=False)
class CVAS(Method):
    """Go to the nearest row beyond a surrogate that is fitted for the worst distribution.

    Samples around the nearest boundary point, labelled by the model, give the means and covariances
    of both classes. Of all hyperplanes the surrogate is that which tells the classes apart best for
    the least kind distributions with these means and covariances (a minimax probability machine).
    The nearest row, by absolute changes, that is a margin beyond it is the answer; the base model
    need not accept it. Variants expect covariances to differ from those of the samples, within
    radii for the adverse and the favourable class. A radius moves the surrogate away from its
    class: with one for the adverse class, answers go farther.

    What was chosen here: the scale in which the margin counts (the means of the classes are 1
    apart), and that the margin is tuned on validation rows, since it means little in another scale
    than the paper's; rows stay in the range of the training rows or at what a
    person has now; the surrogate is found by reweighted least squares, to the last digits, instead
    of by a solver for cones. The radii have no published default that was found: with 0 all
    variants are "mpm".

    A row is good enough if it is as far beyond the surrogate as the method's own proposal.

    Parameters
    ----------
    variant
        "mpm" takes covariances as they are; "quad" adds the root of a radius to all variances; "bw"
        is robust within Bures-Wasserstein distances; "fr" within Fisher-Rao distances.
    adverse_radius, favourable_radius
        By how much covariances of the two classes may differ.
    margin
        How far beyond the surrogate an answer is.
    n_rows
        Towards how many of the nearest favourable training rows the boundary is searched.
    n_steps
        Points judged on the way to each of them, both ends included.
    n_samples
        Points drawn around the boundary point. On wide tables fewer: as many numbers as with 200
        features.
    sampling_radius
        Radius of the Euclidean ball that they come from, as a share of the largest distance between
        two training rows.
    """

    name = "cvas"
    label = "CVAS"
    cost = Cost(per_person=0.006, feasible=0.05, own_model=0.03, tuning=0.5)
    warm_up = WarmUp(seconds=5)
    summary = "the nearest row beyond a minimax linear surrogate of the boundary"
    source = (
        "Bui, Nguyen, Yue, Nguyen 2025: Coverage-validity-aware algorithmic recourse, Operations "
        "Research (https://arxiv.org/abs/2311.11349)"
    )

    variant: Variant = "mpm"
    adverse_radius: Annotated[float, Field(ge=0)] = 0.0
    favourable_radius: Annotated[float, Field(ge=0)] = 0.0
    margin: Annotated[float, Field(ge=0)] = 0.1
    n_rows: Annotated[int, Field(ge=1)] = 10
    n_steps: Annotated[int, Field(ge=2)] = 100
    n_samples: Annotated[int, Field(ge=4)] = 1_000
    sampling_radius: Annotated[float, Field(gt=0)] = 0.05

    @classmethod
    def tuning_candidates(cls) -> Sequence[CVAS]:
        """Return margins, the published one first."""
        return [cls(margin=margin) for margin in MARGINS]

    def _prepare(self) -> None:
        rows = self.context.task.rows("train")
        self._favourable = rows[self.context.model.favourable(rows)]
        self._ball_radius = self.sampling_radius * largest_distance(rows)

    def _search(self, factuals: Factuals) -> Candidates:
        n, n_features = factuals.rows.shape
        boundary = nearest_boundary(
            self.context.model, factuals.rows, self._favourable, self.n_rows, self.n_steps
        )
        missing = NO_BOUNDARY if len(self._favourable) else NO_FAVOURABLE_ROW
        reasons = np.where(np.isfinite(boundary.distances), "", missing).astype(object)
        coefficients, intercepts = np.full((n, n_features), np.nan), np.full(n, np.nan)
        validities = np.full(n, np.nan)
        there = np.flatnonzero(np.isfinite(boundary.distances))
        for first in range(0, len(there), PEOPLE_AT_ONCE):
            some = there[first : first + PEOPLE_AT_ONCE]
            samples = self._samples(factuals.row_ids[some].tolist(), boundary.rows[some])
            labels = self.context.model.favourable(samples.reshape(-1, n_features))
            for i, drawn, label in zip(some, samples, labels.reshape(len(some), -1), strict=True):
                if min(label.sum(), (~label).sum()) < 2:
                    reasons[i] = ONE_CLASS
                    continue
                found = self._surrogate(drawn, label)
                if found is None:
                    reasons[i] = FLAT
                else:
                    coefficients[i], intercepts[i], validities[i] = found
        rows, enough = self._projected(factuals.rows, coefficients, intercepts)
        reasons[(reasons == "") & ~enough] = OUT_OF_RANGE
        return Candidates(
            rows,
            reasons.tolist(),
            {"boundary_distance": boundary.distances, "surrogate_validity": validities},
            {"coefficients": coefficients, "intercepts": intercepts},
        )

    def _samples(self, row_ids: list[int], centres: Floats) -> Floats:
        """Draw uniformly from the ball around each centre [people, samples, columns]."""
        n_features = centres.shape[1]
        n_samples = affordable(self.n_samples, n_features)
        samples = np.empty((len(centres), n_samples, n_features))
        for i, row_id in enumerate(row_ids):
            generator = stream(self.context.task.name, self.context.base_seed, "cvas", row_id)
            directions = generator.standard_normal((n_samples, n_features))
            directions /= np.sqrt((directions**2).sum(axis=1, keepdims=True))
            reach = exponentials(logarithms(generator.random(n_samples)) / n_features)
            samples[i] = centres[i] + self._ball_radius * reach[:, None] * directions
        return samples

    def _surrogate(self, samples: Floats, favourable: Booleans) -> Surrogate | None:
        classes = Spread.of(samples[~favourable]), Spread.of(samples[favourable])
        radii = self.adverse_radius, self.favourable_radius
        return minimax_surrogate(*classes, *radii, self.variant)

    def _projected(
        self, factuals: Floats, coefficients: Floats, intercepts: Floats
    ) -> tuple[Floats, Booleans]:
        """Return the nearest rows beyond the surrogates, and for whom there are any."""
        low, high = self.context.task.training_range
        low, high = np.minimum(low, factuals), np.maximum(high, factuals)
        known = np.isfinite(intercepts)
        slopes = np.where(known[:, None], coefficients, 0.0)
        room = np.where(slopes > 0.0, high - factuals, factuals - low)
        needed = self.margin - ((slopes * factuals).sum(axis=1) + intercepts)
        needed = np.where(known, needed, 0.0)
        costs = np.ones((1, factuals.shape[1]))
        taken = cheapest(room, np.abs(slopes), costs, needed)
        rows = np.clip(factuals + np.sign(slopes) * taken.amounts, low, high)
        moved = (rows != factuals).any(axis=1)
        enough = np.asarray(known & taken.enough & moved)
        rows[~enough] = np.nan
        return rows, enough

    def _score(self, rows: Floats, people: People) -> Floats:
        private = people.proposals.private
        slopes = private["coefficients"][people.places]
        return np.asarray((rows * slopes).sum(axis=1) + private["intercepts"][people.places])

    def _measure(self, rows: Floats, people: People) -> Columns:
        return {"surrogate_margin": self._score(rows, people)}


def minimax_surrogate(
    adverse: Spread,
    favourable: Spread,
    adverse_radius: float,
    favourable_radius: float,
    variant: Variant,
) -> Surrogate | None:
    """Return the hyperplane whose worst share of errors is least; None where there is none.

    Along coefficients w with w.(difference of the means) = 1, what has to be least is a sum of
    terms: a weight times the length of w in the norm of a matrix. Every length is at most the mean
    of its square over a guess, and the guess; at the present lengths it is equal. So least squares
    with these guesses lowers the sum, again and again.
    """
    n_features, difference = len(adverse.mean), favourable.mean - adverse.mean
    unit = np.eye(n_features)
    terms = []
    for (_, covariance), radius in (
        (adverse, adverse_radius),
        (favourable, favourable_radius),
    ):
        own = covariance + RIDGE * np.trace(covariance) / n_features * unit
        weight = 1.0
        if variant == "quad":
            own = own + np.sqrt(radius) * unit
        elif variant == "fr":
            weight = float(exponentials(np.array([0.5 * radius]))[0])
        extra = radius if variant == "bw" else 0.0
        terms.append((own, weight, extra))

    def lengths(w: Floats) -> list[float]:
        return [float(np.sqrt(((own * w).sum(axis=1) * w).sum())) for own, _, _ in terms]

    def total(w: Floats) -> float:
        euclidean = float(np.sqrt((w * w).sum()))
        pairs = zip(terms, lengths(w), strict=True)
        return sum(weight * size + extra * euclidean for (_, weight, extra), size in pairs)

    squares = (difference * difference).sum()
    if squares == 0.0:
        return None
    w = difference / squares
    least = total(w)
    for _ in range(MOST_STEPS):
        matrix = np.zeros((n_features, n_features))
        euclidean = float(np.sqrt((w * w).sum()))
        for (own, weight, extra), size in zip(terms, lengths(w), strict=True):
            matrix += weight / size * own + extra / euclidean * unit
        solved = solve_positive(matrix, difference)
        along = float((solved * difference).sum())
        if not along > 0.0:
            return None
        w = solved / along
        before, least = least, total(w)
        if before - least <= ENOUGH * least:
            break
    _, weight, extra = terms[1]
    spread = weight * lengths(w)[1] + extra * float(np.sqrt((w * w).sum()))
    kappa = 1.0 / total(w)
    intercept = kappa * spread - float((w * favourable.mean).sum())
    return Surrogate(w, intercept, kappa**2 / (1.0 + kappa**2))
