"""DiRRAc: the least chance of being invalid under the worst distribution of linear models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple, cast

import numpy as np
from pydantic import Field

from changeproof.errors import InputError
from changeproof.methods.linear_robust.ball import ParameterBall
from changeproof.methods.linear_robust.nearest import NearestRows
from changeproof.methods.method import Candidates, Columns, Cost, Factuals, Method, People
from changeproof.methods.shared.spread import Spread
from changeproof.model import Access, Booleans, Floats, Integers, LinearModel
from changeproof.models.recipes import bootstrap_recipe, deletion_recipe

MODELS_OFFSET = 300_000
# The share of the training rows that a subset leaves out.
LEFT_OUT = 0.2
# How far inside what most likely models accept an answer is, and what is no progress any more.
INSIDE, NO_PROGRESS = 1e-3, 1e-3
# How often a step is shortened; how often a multiplier is doubled, and then halved.
SHORTENED, DOUBLINGS, HALVINGS = 60, 60, 60
# How often a cone is cut.
CUTS = 8
ACCEPTED = "the mean of the fitted models accepts the factual already"
TINY = 1e-300


class Likely(NamedTuple):
    """Which linear models are likely: their mean and covariance, intercepts last, and a radius.

    Any distribution counts whose mean and covariance are within the radius of these, by the
    Gelbrich distance.
    """

    mean: Floats
    covariance: Floats
    radius: float

    @property
    def ball(self) -> ParameterBall:
        """The means that may be."""
        return ParameterBall(self.mean[:-1], float(self.mean[-1]), self.radius, "2")

    def risks(self, rows: Floats) -> tuple[Floats, Floats]:
        """Return the largest chance that a row is rejected, and its gradient [rows, columns].

        The chance is 1 where already one of the means rejects the row; the gradient means nothing
        there.
        """
        extended = np.column_stack([rows, np.ones(len(rows))])
        spread = np.zeros_like(extended)
        for column, factors in zip(extended.T, self.covariance, strict=True):
            spread += column[:, None] * factors
        logits = self.ball.logits(rows)
        deviation = np.sqrt(np.maximum((extended * spread).sum(axis=1), TINY))
        reach = self.ball.reach(rows)
        lost = self.radius * reach
        inside = np.asarray(logits > lost)
        root = np.sqrt(np.where(inside, logits**2 + deviation**2 - lost**2, 1.0))
        size = logits**2 + deviation**2
        share = (logits * lost + deviation * root) / size
        by_logit = self.mean[None, :-1]
        by_deviation = spread[:, :-1] / deviation[:, None]
        by_lost = self.radius * rows / reach[:, None]
        slope = (
            (lost + deviation * logits / root - 2.0 * share * logits)[:, None] * by_logit
            + (root + deviation**2 / root - 2.0 * share * deviation)[:, None] * by_deviation
            + (logits - deviation * lost / root)[:, None] * by_lost
        ) / size[:, None]
        return np.where(inside, share**2, 1.0), 2.0 * share[:, None] * slope


@dataclass(kw_only=True, eq=False, repr=False)
class DiRRAc(Method):
    """Walk to where the worst distribution of linear models rejects with the least chance.

    Models fitted to parts of the training rows say which models are likely: one Gaussian-like
    cloud. The worst distribution has a mean and a covariance within a Gelbrich radius of these. The
    chance that it rejects a row has a closed form. Projected gradient descent lowers it among rows
    that are no farther than the nearest which every such mean accepts, and a budget.

    What was chosen here: one cloud, as in the published code for real data; its budget of 3 is
    there on rows scaled to between 0 and 1, and here in standardised units, where it allows about
    as much as 0.6 there; rows stay in the range of the training rows or at what a person has now;
    projections are by multipliers instead of by a commercial solver. The published code fits to
    random subsets of four fifths, which spread less than models fitted anew do: "bootstrap" draws
    as many rows as there are, with replacement.

    A row is good enough if its chance is no larger than that of the method's own proposal.

    Parameters
    ----------
    models
        How many models say which are likely.
    resample
        What they are fitted to: "subsets" of four fifths of the training rows, or "bootstrap"
        samples.
    radius
        How far mean and covariance may be from those of the models. 0 as in the published code.
    extra_distance
        How much farther than the nearest row an answer may be, in absolute changes.
    step_size, shortening
        The first step of the descent, and by how much it is shortened until it helps enough.
    max_steps
        After so many steps the last row is returned.
    """

    name = "dirrac"
    label = "DiRRAc"
    cost = Cost(per_person=0.005, feasible=0.03, own_model=0.005, models=100)
    summary = "descent on the chance of being invalid under the worst distribution of linear models"
    source = (
        "Nguyen, Bui, Nguyen 2023: Distributionally robust recourse action, ICLR "
        "(https://arxiv.org/abs/2302.11211)"
    )
    needs = Access.LINEAR
    trains = True

    models: Annotated[int, Field(ge=2)] = 100
    resample: Literal["subsets", "bootstrap"] = "subsets"
    radius: Annotated[float, Field(ge=0)] = 0.0
    extra_distance: Annotated[float, Field(ge=0)] = 3.0
    step_size: Annotated[float, Field(gt=0)] = 1.0
    shortening: Annotated[float, Field(gt=0, lt=1)] = 0.7
    max_steps: Annotated[int, Field(ge=1)] = 10

    def _prepare(self) -> None:
        task, learner, seed = self.context.task, self.context.learner, self.context.base_seed
        recipes = [
            bootstrap_recipe(task, seed, sample)
            if self.resample == "bootstrap"
            else deletion_recipe(task, LEFT_OUT, seed, sample)
            for sample in range(seed + MODELS_OFFSET, seed + MODELS_OFFSET + self.models)
        ]
        fitted = learner.train(recipes, task)
        parameters = []
        for place in range(len(fitted)):
            model = fitted[place]
            if Access.LINEAR not in model.offers:
                raise InputError(
                    f"method {self.name!r} fits models with linear coefficients; those of "
                    f"{learner.name} offer {model.offers}"
                )
            linear = cast("LinearModel", model)
            parameters.append(np.append(linear.coefficients, linear.intercept))
        spread = Spread.of(np.array(parameters, dtype=np.float64))
        self._likely = Likely(spread.mean, spread.covariance, self.radius)

    def _search(self, factuals: Factuals) -> Candidates:
        low, high = self.context.task.training_range
        low, high = np.minimum(low, factuals.rows), np.maximum(high, factuals.rows)
        units = np.ones(factuals.rows.shape[1])
        search = NearestRows(self._likely.ball, units, factuals.rows, low, high)
        nearest = search.find(INSIDE)
        there = np.flatnonzero(np.isfinite(nearest).all(axis=1))
        near, own = nearest[there], factuals.rows[there]
        budgets = np.abs(near - own).sum(axis=1) + self.extra_distance
        allowed = Allowed(self._likely.ball, own, low[there], high[there], near, budgets)
        rows, steps = np.full_like(factuals.rows, np.nan), np.zeros(len(nearest), dtype=np.int64)
        rows[there], steps[there] = self._descended(allowed)
        moved = (rows != factuals.rows).any(axis=1)
        rows[~moved] = np.nan
        risk = np.full(len(rows), np.nan)
        found = np.isfinite(rows).all(axis=1)
        risk[found] = self._likely.risks(rows[found])[0]
        reason = f"no row in the range is accepted by all means within {self.radius:g}"
        reasons = np.where(np.isfinite(nearest[:, 0]), ACCEPTED, reason)
        return Candidates(rows, reasons.tolist(), {"risk": risk, "steps": steps})

    def _descended(self, allowed: Allowed) -> tuple[Floats, Integers]:
        """Return rows with a low chance of being rejected, and after how many steps."""
        rows = allowed.project(allowed.factuals)
        steps = np.zeros(len(rows), dtype=np.int64)
        going = np.arange(len(rows))
        for _ in range(self.max_steps):
            risk, slope = self._likely.risks(rows[going])
            worth = risk >= NO_PROGRESS
            going, slope, risk = going[worth], slope[worth], risk[worth]
            if not len(going):
                break
            size, waiting = self.step_size, np.arange(len(going))
            lowered = np.zeros(len(going))
            for _ in range(SHORTENED):
                here = rows[going[waiting]]
                tried = allowed.of(going[waiting]).project(here - size * slope[waiting])
                found = self._likely.risks(tried)[0]
                needed = ((here - tried) ** 2).sum(axis=1) / (2.0 * size)
                helps = found <= risk[waiting] - needed
                rows[going[waiting[helps]]] = tried[helps]
                lowered[waiting[helps]] = (risk[waiting] - found)[helps]
                waiting = waiting[~helps]
                if not len(waiting):
                    break
                size *= self.shortening
            steps[going] += 1
            going = going[lowered >= NO_PROGRESS]
        return rows, steps

    def _score(self, rows: Floats, people: People) -> Floats:
        # Of rows that are rejected for certain, the one nearer to the boundary is better.
        worst = self._likely.ball.worst_logits(rows)
        return np.where(worst > 0.0, -self._likely.risks(rows)[0], np.minimum(worst, 0.0) - 1.0)

    def _measure(self, rows: Floats, people: People) -> Columns:
        return {"risk": self._likely.risks(rows)[0]}


class Allowed(NamedTuple):
    """Rows that people may go to: in their range, within their budget, and accepted by a ball.

    The logit of every model of the ball is to be `INSIDE` at least. `nearest` is a row that is
    allowed.
    """

    ball: ParameterBall
    factuals: Floats
    low: Floats
    high: Floats
    nearest: Floats
    budgets: Floats

    def of(self, people: Integers) -> Allowed:
        return Allowed(self.ball, *(each[people] for each in self[1:]))

    def project(self, rows: Floats) -> Floats:
        """Return the nearest allowed rows, by their Euclidean distance.

        A ball with a radius is cut off by one of its models at a time, the one that is least
        favourable to the row at hand. What then still falls short goes on towards `nearest`.
        """
        result = self._within_budget(rows)
        for _ in range(CUTS if self.ball.radius > 0.0 else 1):
            short = np.flatnonzero(self.ball.worst_logits(result) < INSIDE)
            if not len(short):
                return result
            some = self.of(short)
            result[short] = some._beyond(rows[short], result[short])
        short = np.flatnonzero(self.ball.worst_logits(result) < INSIDE)
        if not len(short):
            return result
        here, near = result[short], self.nearest[short]
        least, most = np.zeros(len(short)), np.ones(len(short))
        for _ in range(HALVINGS):
            share = 0.5 * (least + most)
            enough = self.ball.worst_logits(here + share[:, None] * (near - here)) >= INSIDE
            least, most = np.where(enough, least, share), np.where(enough, share, most)
        back = here + most[:, None] * (near - here)
        result[short] = np.where((most < 1.0)[:, None], back, near)
        return result

    def _beyond(self, rows: Floats, here: Floats) -> Floats:
        """Return the nearest rows that the model which is least favourable to `here` accepts."""
        reach = self.ball.reach(here)[:, None]
        slopes = self.ball.coefficients - self.ball.radius * here / reach
        intercepts = self.ball.intercept - self.ball.radius / reach[:, 0]

        def tried(multiplier: Floats) -> tuple[Floats, Booleans]:
            found = self._within_budget(rows + multiplier[:, None] * slopes)
            return found, np.asarray((found * slopes).sum(axis=1) + intercepts >= INSIDE)

        least, most = np.zeros(len(rows)), np.ones(len(rows))
        for _ in range(DOUBLINGS):
            _, enough = tried(most)
            if enough.all():
                break
            least, most = np.where(enough, least, most), np.where(enough, most, 2.0 * most)
        for _ in range(HALVINGS):
            middle = 0.5 * (least + most)
            _, enough = tried(middle)
            least, most = np.where(enough, least, middle), np.where(enough, middle, most)
        return tried(most)[0]

    def _within_budget(self, rows: Floats) -> Floats:
        """Return the nearest rows in the range and within the budget.

        Every change is smaller by one size, the same for all columns, or is nothing. Below the
        changes, and below those by which columns exceed their range, the sum is linear in it.
        """
        moves = rows - self.factuals
        sizes = np.abs(moves)
        room = np.where(moves > 0.0, self.high - self.factuals, self.factuals - self.low)

        def lengths(taken: Floats) -> Floats:
            left = np.minimum(np.maximum(sizes - taken[:, None], 0.0), room)
            return np.asarray(left.sum(axis=1))

        corners = np.concatenate([sizes, np.maximum(sizes - room, 0.0)], axis=1)
        corners = np.sort(np.column_stack([np.zeros(len(rows)), corners]), axis=1)
        each = np.arange(len(rows))
        first = np.zeros(len(rows), dtype=np.int64)
        last = np.full(len(rows), corners.shape[1] - 1)
        while (last - first > 1).any():
            middle = (first + last) // 2
            over = lengths(corners[each, middle]) > self.budgets
            inner = last - first > 1
            first, last = (
                np.where(inner & over, middle, first),
                np.where(inner & ~over, middle, last),
            )
        below, above = corners[each, first], corners[each, last]
        most, least = lengths(below), lengths(above)
        gap = np.where(most > least, most - least, 1.0)
        share = np.clip((most - self.budgets) / gap, 0.0, 1.0)
        taken = below + share * (above - below)
        left = np.minimum(np.maximum(sizes - taken[:, None], 0.0), room)
        return np.asarray(self.factuals + np.sign(moves) * left)
