"""The nearest row that every linear model near today's accepts: optimal robust recourse."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, cast

import numpy as np
from pydantic import Field

from changeproof.certificates.box import check_radius
from changeproof.errors import InputError
from changeproof.feasible.actions import Actions
from changeproof.methods.linear_robust.ball import Norm, ParameterBall, length
from changeproof.methods.linear_robust.nearest import NearestRows
from changeproof.methods.linear_robust.programme import nearest_feasible
from changeproof.methods.method import (
    PARAMETERS,
    Candidates,
    Columns,
    Cost,
    Factuals,
    Method,
    People,
    Promise,
    Proposals,
)
from changeproof.model import Access, Booleans, Floats, LinearModel
from changeproof.models.recipes import bootstrap_recipe

CALIBRATION_OFFSET = 200_000


@dataclass(kw_only=True, eq=False, repr=False)
class LinearRobust(Method):
    """Go to the nearest row that every linear model of a ball around today's accepts.

    The papers walk down a loss (ROAR) or split the problem by the signs of a row, and call it not
    convex. It is convex: the worst logit is a minimum of functions that are linear in the row. So
    the nearest row is found, not approached, and its certificate is exact. What the papers leave
    open and is chosen here: distance is that of the task, not the plain sum of changes; rows stay
    in the range of the training rows or at what a person has now; the radius is calibrated as
    AP-Delta-S calibrates its own, on bootstrap refits instead of updates, which not every linear
    model has.

    Where people may be told only certain rows, a small integer programme (HiGHS) finds the nearest
    of these that is certified. Its answer is rounded to the row that is told, and that one is
    certified in our own arithmetic. Rules between features are beyond that programme: there the
    nearest row is searched for as for every method. Numbers that do not go in whole steps are
    rounded to the decimals of the data, and so are as near as that allows.

    Coefficients are those that the model reports, on standardised rows.

    Parameters
    ----------
    radius
        How far the parameters may move. By default it is calibrated: the longest move of the
        parameters among `replicas` refits on bootstrap samples of the training rows.
    norm
        How moves are measured: "inf" (every parameter by at most the radius), "1" (all moves add up
        to no more) or "2" (their Euclidean length).
    margin
        The least logit that every model has to give.
    replicas
        The refits of the calibration.
    """

    name = "linear-robust"
    label = "Optimal robust"
    cost = Cost(per_person=0.001, feasible=0.05, own_model=0.001, models=10)
    promise = Promise(
        "holds for every linear model whose coefficients and intercept differ from today's by no "
        "more than the radius. This is proven exactly, and no nearer row holds as well",
        PARAMETERS,
    )
    summary = "the nearest row that every linear model within a radius accepts"
    source = (
        "Kyaw, Kayastha, Jabbari 2025: Optimal robust recourse with Lp-bounded model change "
        "(https://arxiv.org/abs/2509.21293), after Upadhyay, Joshi, Lakkaraju 2021: Towards robust "
        "and reliable algorithmic recourse, NeurIPS (https://arxiv.org/abs/2102.13620)"
    )
    needs = Access.LINEAR
    trains = True

    radius: float | None = None
    norm: Norm = "inf"
    margin: Annotated[float, Field(ge=0)] = 0.0
    replicas: Annotated[int, Field(ge=1)] = 10

    def __post_init__(self) -> None:
        check_radius(self.radius or 0.0)

    @property
    def promised(self) -> Promise | None:
        """What it promises; that family moves every parameter by up to a radius, as "inf" does."""
        return self.promise if self.norm == "inf" else self.promise._replace(ground=None)

    def _prepare(self) -> None:
        model = cast("LinearModel", self.context.model)
        radius = self._calibrate(model) if self.radius is None else self.radius
        self.calibrated_radius = radius
        coefficients = np.asarray(model.coefficients, dtype=np.float64)
        self._ball = ParameterBall(coefficients, float(model.intercept), radius, self.norm)

    def _calibrate(self, model: LinearModel) -> float:
        task, learner, seed = self.context.task, self.context.learner, self.context.base_seed
        samples = range(seed + CALIBRATION_OFFSET, seed + CALIBRATION_OFFSET + self.replicas)
        refits = learner.train([bootstrap_recipe(task, seed, sample) for sample in samples], task)
        today, longest = _parameters(model), 0.0
        for place in range(len(refits)):
            refit = refits[place]
            if Access.LINEAR not in refit.offers:
                raise InputError(
                    f"method {self.name!r} calibrates its radius on refits with linear "
                    f"coefficients; those of {learner.name} offer {refit.offers}; give a radius"
                )
            move = _parameters(cast("LinearModel", refit)) - today
            longest = max(longest, length(move, self.norm))
        return longest

    def _search(self, factuals: Factuals) -> Candidates:
        task, n = self.context.task, len(factuals)
        low, high = task.training_range
        low, high = np.minimum(low, factuals.rows), np.maximum(high, factuals.rows)
        search = NearestRows(self._ball, task.distance_weights, factuals.rows, low, high)
        rows = search.find(self.margin)
        reason = f"no row in the range is certified at radius {self.calibrated_radius:g}"
        found = np.isfinite(rows).all(axis=1)
        worst = np.full(n, np.nan)
        worst[found] = self._ball.worst_logits(rows[found])
        return Candidates(
            rows,
            [reason] * n,
            {
                "certified": np.asarray(found),
                "worst_logit": worst,
                "radius": np.full(n, self.calibrated_radius),
            },
        )

    def _certified(self, rows: Floats) -> Booleans:
        return np.asarray(self._ball.proven_logits(rows) >= self.margin)

    def _accepts(self, rows: Floats, people: People) -> Booleans:
        return self._certified(rows)

    def _score(self, rows: Floats, people: People) -> Floats:
        return self._ball.worst_logits(rows)

    def _measure(self, rows: Floats, people: People) -> Columns:
        return {"certified": self._certified(rows), "worst_logit": self._ball.worst_logits(rows)}

    def _nearest_accepted(self, actions: Actions, proposals: Proposals) -> Floats:
        """Return the nearest feasible row that is certified, where a programme can say which."""
        if actions.relations is not None:
            return super()._nearest_accepted(actions, proposals)
        people = proposals.factuals.rows
        rows = nearest_feasible(actions, people, self._ball, self.margin)
        there = np.flatnonzero(np.isfinite(rows).all(axis=1))
        search = self._acceptable(actions, proposals).of(there)
        # Rounded numbers may fall short by a step.
        climbed, passed = search.climb(rows[there])
        moved = np.flatnonzero(passed & (climbed != rows[there]).any(axis=1))
        climbed[moved] = search.of(moved).shorten(climbed[moved])
        rows[there] = np.where(passed[:, None], climbed, np.nan)
        lost = np.flatnonzero(np.isnan(rows).any(axis=1))
        if len(lost):
            rest = replace(
                proposals,
                factuals=proposals.factuals[lost],
                wanted=proposals.wanted[lost],
                rows=proposals.rows[lost],
                level=proposals.level[lost],
            )
            rows[lost] = super()._nearest_accepted(actions.some_people(lost), rest)
        return rows


def _parameters(model: LinearModel) -> Floats:
    return np.append(np.asarray(model.coefficients, dtype=np.float64), float(model.intercept))
