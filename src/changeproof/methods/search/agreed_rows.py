"""The shortest realisable change that the base model and a pool accept, by predictions only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from changeproof.arithmetic.functions import sigmoids
from changeproof.datasets.actions import Actions
from changeproof.datasets.few_columns import WIDE
from changeproof.methods.search.agreed_points import AgreedPoints
from changeproof.methods.search.alternatives import lengths
from changeproof.methods.search.realisable_rows import nearest_accepted
from changeproof.methods.search.repair import Goal, lifted, shortened
from changeproof.model import Booleans, Floats, Model
from changeproof.models.learner import stacked

# Training rows to start from.
STARTS = 3
# How many members have been asked about a row before the next are: most rows fail early.
ASKED = (1, 4, 12)
# How much of its change a number takes back, at first.
COARSE = np.array([1.0, 0.5])
# What is added to a margin, by turns, where points lose it by being rounded.
MORE = (0.0, 0.02, 0.1, 0.3)


@dataclass(frozen=True, eq=False)
class Agreement:
    """The base model and a pool, all of which have to accept with a margin.

    Parameters
    ----------
    models
        The base model, then the others.
    units
        What a margin of 1 is for each of them, in log odds.
    margin
        How clearly each of them has to accept.
    """

    models: tuple[Model, ...]
    units: Floats
    margin: float

    def __call__(self, rows: Floats) -> Booleans:
        """Return which rows are accepted by all."""
        needed = sigmoids(self.margin * self.units)
        accepted = np.ones(len(rows), dtype=np.bool_)
        ends = [*(end for end in ASKED if end < len(self.models)), len(self.models)]
        start = 0
        for end in ends:
            left = np.flatnonzero(accepted)
            if not len(left):
                break
            likely = stacked(self.models[start:end]).probabilities(rows[left])
            # What is favourable has a probability of at least one half.
            accepted[left] = (likely >= needed[start:end, None]).all(axis=0)
            start = end
        return accepted


@dataclass(frozen=True, eq=False)
class AgreedRows:
    """Searches the rows that people may be told, by predictions only.

    Parameters
    ----------
    models
        The base model, then the pool.
    units
        What a margin of 1 is for each of them, in log odds.
    actions
        What may change.
    rows
        Training rows.
    points
        Where all models are networks: a search of points, which become starts.
    """

    models: tuple[Model, ...]
    units: Floats
    actions: Actions
    rows: Floats
    points: AgreedPoints | None = None

    def search(self, factuals: Floats, margin: float) -> Floats:
        """Return the shortest row found that all accept with a margin; NaN where none is.

        The nearest training rows that are accepted, once they are put back to what may change,
        are the starts. Features then go back to what people have, or halfway, the longest part
        first.
        """
        agreement = Agreement(self.models, self.units, margin)
        goal = self._goal(agreement)
        if factuals.shape[1] > WIDE and self.points is not None:
            return self._told_points(factuals, margin, goal)
        starts = nearest_accepted(
            self.actions, factuals, self.rows, lambda rows, _: agreement(rows), wanted=STARTS
        ).rows
        if self.points is not None:
            starts = np.concatenate([starts, self._rounded(factuals, margin, goal)], axis=1)
        who, which = np.nonzero(np.isfinite(starts).all(axis=2))
        own = factuals[who]
        found = shortened(self.actions, own, starts[who, which], goal, cuts=COARSE)
        result, shortest = np.full_like(factuals, np.nan), np.full(len(factuals), np.inf)
        for row, person, length in zip(found, who, goal.lengths(own, found), strict=True):
            if length < shortest[person]:
                result[person], shortest[person] = row, length
        there = np.flatnonzero(np.isfinite(shortest))
        result[there] = shortened(self.actions, factuals[there], result[there], goal)
        return result

    def _told_points(self, factuals: Floats, margin: float, goal: Goal) -> Floats:
        """Return the nearest points as rows that people may be told, of a wide table.

        To put single features back would take too long there. Who loses the margin by what may be
        told is searched again with more of it.
        """
        assert self.points is not None
        result, bounds = np.full_like(factuals, np.nan), self.actions.bounds(factuals)
        left = np.arange(len(factuals))
        for more in MORE:
            limits = bounds[0][left], bounds[1][left]
            points = self.points.search(factuals[left], margin + more, limits)
            found = np.flatnonzero(np.isfinite(points).all(axis=1))
            told = self.actions.project(factuals[left[found]], points[found])
            kept = goal.score(told, left[found]) >= margin
            result[left[found[kept]]] = told[kept]
            left = left[np.isnan(result[left, 0])]
            if not len(left):
                break
        return result

    def _goal(self, agreement: Agreement) -> Goal:
        """Return the goal that all accept; how near rows are to it is known of networks only."""
        weights = 1.0 / self.actions.scales.distance
        if self.points is None:
            return Goal(lambda rows, _: agreement(rows).astype(np.float64), 1.0, weights)
        jury = self.points.jury
        return Goal(lambda rows, _: jury.least(rows, 0), agreement.margin, weights)

    def _rounded(self, factuals: Floats, margin: float, goal: Goal) -> Floats:
        """Return the nearest points as rows [people, 1, columns] that people may be told."""
        assert self.points is not None
        points = self.points.search(factuals, margin, self.actions.bounds(factuals))
        there = np.flatnonzero(np.isfinite(points).all(axis=1))
        told = self.actions.project(factuals[there], points[there])
        told, reached = lifted(self.actions, factuals[there], told, goal)
        result = np.full_like(factuals, np.nan)
        result[there[reached]] = told[reached]
        return result[:, None]

    def most_agreed(self, factuals: Floats) -> Floats:
        """Return the row that most models accept, of those that the base model does."""
        result = np.full_like(factuals, np.nan)
        for i, factual in enumerate(factuals):
            told = self.actions.project(factual[None], self.rows[None])[0]
            told = told[(told != factual).any(axis=1)]
            told = told[self.models[0].favourable(told)]
            if len(told):
                votes = stacked(self.models[1:]).favourable(told).sum(axis=0)
                told = told[votes == votes.max()]
                weights = 1.0 / self.actions.scales.distance
                far = lengths(np.broadcast_to(factual, told.shape), told[:, None], weights)
                result[i] = told[far[:, 0].argmin()]
        return result
