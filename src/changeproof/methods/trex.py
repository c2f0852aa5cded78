"""T-Rex (Hamman et al.): to where the model stays sure under Gaussian draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field, PositiveFloat, PositiveInt
from scipy.spatial import KDTree as SpatialTree

from changeproof.arithmetic.functions import sigmoids
from changeproof.feasible.wide_tables import affordable
from changeproof.methods.kdtree import NONE_FAVOURABLE
from changeproof.methods.method import Candidates, Columns, Cost, Factuals, Method, People
from changeproof.methods.shared.first_counterfactuals import (
    NONE_ACCEPTED,
    SEARCH_WARM_UP,
    Base,
    first_counterfactuals,
)
from changeproof.model import Access, Booleans, DifferentiableModel, Floats, Integers
from changeproof.randomness import stream

NUMBERS_AT_ONCE = 2**19
KEPT_BYTES = 128 * 2**20
SOURCE = (
    "Hamman, Noorani, Mishra, Magazzeni and Dutta, Robust Counterfactual Explanations for Neural "
    "Networks With Probabilistic Guarantees, ICML 2023 (https://arxiv.org/abs/2305.11997)"
)


@dataclass(kw_only=True, eq=False, repr=False)
class TRexNearest(Method):
    """Send people to the nearest training row that the model accepts and is stable around.

    The stability of a point is the mean, over Gaussian draws around it, of the model's probability
    there minus how far that is from the probability at the point itself. A row is good enough if
    its stability reaches a threshold.

    The paper chooses thresholds by hand (0.7 to 0.75), on features between 0 and 1. Here the
    threshold is a quantile of the stability of the training rows that the model calls favourable,
    as for RobX, so that no changed model is needed to choose it. Draws are as wide as on features
    between 0 and 1: the deviation is a share of each feature's training range. They are drawn once
    for each person and each training row, so that a point has one stability. Where a search asks
    about a row for a person, it is with that person's draws.

    Parameters
    ----------
    quantile
        Which quantile of the stability of favourable training rows the threshold is: the median by
        default; 0.9 for what the paper of RobX calls robust.
    samples
        Draws around a point, fewer on wide tables.
    sigma
        Deviation of the draws, as a share of each feature's training range.
    """

    name = "trex-nearest"
    label = "T-Rex nearest"
    cost = Cost(per_person=0.0001, feasible=0.04, own_model=0.4)
    summary = "nearest favourable training row around which the model stays sure"
    source = f"{SOURCE}: T-Rex:NN"

    quantile: Annotated[float, Field(ge=0, le=1)] = 0.5
    samples: PositiveInt = 1_000
    sigma: PositiveFloat = 0.1

    def _prepare(self) -> None:
        task, model = self.context.task, self.context.model
        low, high = task.training_range
        self._range = high - low
        self._kept: dict[int, Floats] = {}
        rows, row_ids = task.rows("train"), task.row_ids("train")
        favourable = model.favourable(rows)
        rows = rows[favourable]
        scores = self.stability(rows, row_ids[favourable])
        self.threshold = float(np.quantile(scores, self.quantile)) if len(rows) else np.inf
        self._candidates = rows[scores >= self.threshold]
        self._tree = SpatialTree(self._candidates) if len(rows) else None

    def _draws(self, row_id: int) -> Floats:
        """Return what is added to points for a person [draws, features]."""
        if row_id not in self._kept:
            task = self.context.task
            shape = affordable(self.samples, task.n_features), task.n_features
            generator = stream(task.name, self.context.base_seed, "trex", row_id)
            draws = self.sigma * self._range * generator.standard_normal(shape)
            while self._kept and (len(self._kept) + 1) * draws.nbytes > KEPT_BYTES:
                del self._kept[next(iter(self._kept))]
            self._kept[row_id] = draws
        return self._kept[row_id]

    def stability(self, points: Floats, row_ids: Integers) -> Floats:
        """Return the stability of points, each with the draws of a person."""
        result = np.empty(len(points))
        for row_id in np.unique(row_ids).tolist():
            own, draws = np.flatnonzero(row_ids == row_id), self._draws(row_id)
            at_once = max(1, NUMBERS_AT_ONCE // draws.size)
            for first in range(0, len(own), at_once):
                some = own[first : first + at_once]
                around = (points[some, None, :] + draws).reshape(-1, points.shape[1])
                likely = self.context.model.probabilities(around).reshape(len(some), -1)
                result[some] = stabilities(self.context.model.probabilities(points[some]), likely)
        return result

    def _stable(self, points: Floats, row_ids: Integers) -> Booleans:
        """A point is never more stable than the model is sure of it."""
        model = self.context.model
        stable = model.favourable(points) & (model.probabilities(points) >= self.threshold)
        stable[stable] = self.stability(points[stable], row_ids[stable]) >= self.threshold
        return stable

    def _search(self, factuals: Factuals) -> Candidates:
        n = len(factuals)
        rows, distances = np.full_like(factuals.rows, np.nan), np.full(n, np.nan)
        if self._tree is not None:
            distances[:], nearest = self._tree.query(factuals.rows)
            rows = self._candidates[nearest]
        diagnostics = {
            "threshold": np.full(n, self.threshold),
            "stable": np.full(n, self._tree is not None),
            "candidates": np.full(n, len(self._candidates)),
            "l2_distance": distances,
        }
        return Candidates(rows, [NONE_FAVOURABLE] * n, diagnostics)

    def _accepts(self, rows: Floats, people: People) -> Booleans:
        return self._stable(rows, people.proposals.factuals.row_ids[people.places])

    def _measure(self, rows: Floats, people: People) -> Columns:
        return {"stable": self._accepts(rows, people)}


@dataclass(kw_only=True, eq=False, repr=False)
class TRex(TRexNearest):
    """From a counterfactual, walk up the stability of the model until it reaches a threshold.

    Stability, its threshold and what is good enough are those of `TRexNearest`. A step goes along
    the gradient of the stability with the person's draws, as long as on features between 0 and 1,
    and stays in the training range. The last point that the model accepts is the answer, also where
    the steps run out: `stable` in the diagnostics says which.

    The paper starts from the counterfactual of least cost. The authors' code draws anew in every
    step and stays within a distance of 1, which is also how far these steps can go.

    Parameters
    ----------
    quantile, samples, sigma
        As for `TRexNearest`.
    base
        What to start from: the nearest point that the model accepts ("nearest"), or "wachter".
    step, max_steps
        How far a step goes, on features between 0 and 1, and how many there are.
    """

    name = "trex"
    label = "T-Rex"
    cost = Cost(per_person=0.008, feasible=0.05, own_model=0.1)
    warm_up = SEARCH_WARM_UP
    summary = "moved along its gradient until the model stays sure around the point"
    source = f"{SOURCE}: T-Rex:I"
    needs = Access.GRADIENTS

    base: Base = "nearest"
    step: PositiveFloat = 0.01
    max_steps: PositiveInt = 100

    def _search(self, factuals: Factuals) -> Candidates:
        rows = first_counterfactuals(self.base, self.context, factuals)
        found = np.flatnonzero(np.isfinite(rows).all(axis=1))
        steps, stable = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.bool_)
        numbers = affordable(self.samples, rows.shape[1]) * rows.shape[1]
        at_once = max(1, NUMBERS_AT_ONCE // numbers)
        for first in range(0, len(found), at_once):
            some = found[first : first + at_once]
            self._climb(some, factuals.row_ids[some], rows, steps, stable)
        diagnostics = {
            "threshold": np.full(len(rows), self.threshold),
            "stable": stable,
            "steps": steps,
        }
        return Candidates(rows, [NONE_ACCEPTED] * len(rows), diagnostics)

    def _climb(
        self, people: Integers, row_ids: Integers, rows: Floats, steps: Integers, stable: Booleans
    ) -> None:
        """Replace the rows of some people, in place, by the last accepted points of their walks."""
        model, (low, high) = self.context.model, self.context.task.training_range
        here = rows[people]
        draws = np.stack([self._draws(row_id) for row_id in row_ids.tolist()])
        for step in range(self.max_steps + 1):
            stability, slopes = self._stability_and_slopes(here, draws)
            arrived = model.favourable(here) & (stability >= self.threshold)
            rows[people[arrived]], stable[people[arrived]] = here[arrived], True
            steps[people] = step
            people, here, draws = people[~arrived], here[~arrived], draws[~arrived]
            if step == self.max_steps or not len(people):
                break
            here = np.clip(here + self.step * self._uphill(slopes[~arrived]), low, high)
            accepted = model.favourable(here)
            rows[people[accepted]] = here[accepted]

    def _uphill(self, slopes: Floats) -> Floats:
        """Return the directions of slopes; their length is 1 on features between 0 and 1."""
        slopes = slopes * self._range
        lengths = np.sqrt((slopes**2).sum(axis=1, keepdims=True))
        return self._range * slopes / np.where(lengths > 0.0, lengths, 1.0)

    def _stability_and_slopes(self, points: Floats, draws: Floats) -> tuple[Floats, Floats]:
        """Return stabilities, and their derivatives by the features [points, features]."""
        model = self.context.model
        assert isinstance(model, DifferentiableModel)
        around = (points[:, None, :] + draws).reshape(-1, points.shape[1])
        logits, gradients = model.logits_and_gradients(around)
        likely, slopes = sigmoids(logits).reshape(draws.shape[:2]), gradients.reshape(draws.shape)
        logits, gradient = model.logits_and_gradients(points)
        own = sigmoids(logits)
        stability = stabilities(own, likely)
        # The less sure of a draw and the point counts twice, and the point is taken away once.
        lower = likely < own[:, None]
        steep = np.where(lower, likely * (1.0 - likely), 0.0)
        share = 2.0 * (1.0 - lower.mean(axis=1)) - 1.0
        away = (steep[:, :, None] * slopes).sum(axis=1) * (2.0 / draws.shape[1])
        return stability, away + (share * own * (1.0 - own))[:, None] * gradient


def stabilities(own: Floats, likely: Floats) -> Floats:
    """Return the mean of p - |p - q| over draws, of probabilities q and p [points, draws].

    That is twice the mean of the smaller of the two, minus q.
    """
    return np.asarray(2.0 * np.minimum(likely, own[:, None]).mean(axis=1) - own)
