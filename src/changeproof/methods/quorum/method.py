"""The nearest point that the base model and a private pool accept, with a calibrated margin."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import Field, NonNegativeFloat, PositiveInt

from changeproof.arithmetic.functions import log, sigmoids
from changeproof.datasets.split import Part
from changeproof.errors import InputError
from changeproof.feasible.kernels import lengths
from changeproof.feasible.wide_tables import WIDE, affordable
from changeproof.methods.alternatives import main_features
from changeproof.methods.method import (
    EVERY_FAMILY,
    Candidates,
    Columns,
    Cost,
    Factuals,
    Method,
    People,
    Promise,
    WarmUp,
)
from changeproof.methods.quorum.calibration import DIGIT, LOG_TEN, Calibrated, smallest_margin
from changeproof.methods.quorum.points import AgreedPoints, Jury
from changeproof.methods.quorum.pool import (
    Judges,
    checked_kinds,
    expected_members,
    lower_bounds,
    supported_kinds,
)
from changeproof.methods.shared.ensembles import Ensemble
from changeproof.model import Booleans, Floats
from changeproof.models.learner import TrainingRequest, train_all
from changeproof.networks.stack import NetworkStack
from changeproof.randomness import stream

# How clearly everybody has to accept, in units of its own (its usual log odds); one is chosen. None
# has to be surer than it usually is: what single models refuse even then, no margin mends.
MARGINS = tuple(number / 64.0 for number in range(65))
# Whoever cannot have it gets the largest smaller one of these.
COARSE = MARGINS[::4]
# One member of so many is left out of the pool: the one that stands in most people's way.
SPARED = 24
# How many people are asked for that, and what is as unsure as the least sure.
ASKED, NEAR = 128, 1e-3
CONFIDENCE = 0.95
# What judges refuse counts a quarter more: they are few, and one margin of many suits them best.
CAUTION = 1.25
NONE_ACCEPTED = "no row that the base model accepts was found"


@dataclass(kw_only=True, eq=False, repr=False)
class Quorum(Method):
    """Send people to the nearest point that the base model and a pool of models accept.

    The pool is what the base model may become: kinds of change that the evaluation has, with its
    shares, radii, layers and optimisers, and with seeds that no changed model has. No published
    method knows as much of what it is tested on. Most members are of kinds that move a model far.
    Members that would decide about most people's advice are left out. All others, and the base
    model, must accept with a margin, each in units of its own: how sure of itself it usually is.
    The margin is calibrated: people who are none of those that ask (adverse rows of all parts but
    the test) are advised, and a second pool of all kinds judges. A margin is taken with which no
    more than 1 - target of the judgements are against the advice, all kinds counted the same,
    every refusal a quarter more, and one more person who fails altogether. This is the rule of
    conformal risk control, and the smallest such margin if a larger one never fails more.

    What it gives is an estimate, not a proof. Conformal risk control would prove that, in
    expectation over people, a share of at least `target` of the second pool accepts. But it asks
    for people exchangeable with those who ask, and for a rule that is fixed before these people
    are looked at. Here most of them are training rows, which the base model has fitted, and the
    pool is pruned on some of the same people. About changed models it says as much as these are
    like the second pool.

    In the diagnostics, `estimated_share` is what the rule gives for the margin. With fewer than
    1 / (1 - target) people it is below the target, and the margin is the one for which the
    judgements, taken as normally distributed, let few enough failures be expected. `accepted` of
    `asked` says how many of the second pool accept an answer. `optimistic_bound` is the lower end
    of the exact 95 % interval of that share; it is too high, since these models chose the margin.

    Of networks, points are found by linear programmes; of other models, rows by the search among
    feasible rows. A row is good enough if everybody accepts it with the margin.

    Parameters
    ----------
    target
        The share of changed models that shall accept the advice.
    members, held_out
        Sizes of the pool and of the second pool.
    people
        How many people the margin is calibrated on, as far as there are so many. A target needs at
        least 1 / (1 - target) of them.
    expect
        Which kinds of change the pools are made of, by the names of the families; none stands
        for all that can happen to this kind of model.
    sparsity
        Changes of single features are given up where the others can make up for it at this share
        of the distance more.
    """

    name = "quorum"
    label = "Quorum"
    cost = Cost(per_person=0.002, own_model=0.2, models=84)
    warm_up = WarmUp(seconds=3, settings={"members": 8, "held_out": 8, "people": 4})
    promise = Promise(
        "is calibrated to hold in {level:g} % of the models of the method's second pool, on "
        "average over people. The people of that calibration are mostly training rows, which "
        "today's model has fitted, so this is an estimate. The two pools are made of the same "
        "kinds of change, with the same shares, radii, layers and optimisers, that are tested "
        "here, under other seeds. No published method has that knowledge",
        EVERY_FAMILY,
        always=True,
    )
    summary = "the nearest point that a pool of possible models accepts, with a calibrated margin"
    source = "changeproof, docs/quorum.md"
    trains = True

    target: Annotated[float, Field(gt=0, lt=1)] = 0.99
    members: PositiveInt = 48
    held_out: PositiveInt = 36
    people: PositiveInt = 256
    expect: str | Sequence[str] = ()
    sparsity: NonNegativeFloat = 0.02

    # What the people that it is calibrated on leave alone.
    _kept: Booleans | None = None

    def __post_init__(self) -> None:
        self._kinds = checked_kinds([self.expect] if isinstance(self.expect, str) else self.expect)

    def _prepare(self) -> None:
        context = self.context
        supported = supported_kinds(context.learner)
        for kind in self._kinds:
            if kind not in supported:
                raise InputError(
                    f"quorum expects {kind!r}, which cannot happen to {context.learner.name}; "
                    f"expected some of: {', '.join(supported)}"
                )
        kinds = self._kinds or supported
        members, judges = expected_members(context, kinds, self.members, self.held_out)
        models = train_all(
            [
                TrainingRequest(member.change, member.learner or context.learner, context.task)
                for member in (*members, *judges)
            ]
        )
        pool, second = models[: self.members], models[self.members :]
        rows = context.task.rows("train")
        self._judges = Judges.of(judges, second, rows)
        people = self._people()
        jury = Jury.in_own_units((context.model, *pool), rows)
        self._search_with(self._without_odd_ones(jury, people))
        self.calibrated = self._calibrate(people)
        self._margin = self.calibrated.margin

    def _search_with(self, jury: Jury) -> None:
        """Search with the base model and a pool."""
        self._jury, self._pool = jury, Ensemble(jury.stack)
        self._points: AgreedPoints | None = None
        if isinstance(jury.stack, NetworkStack):
            self._points = AgreedPoints(jury, self.context.task, self.sparsity)

    def _without_odd_ones(self, jury: Jury, people: Factuals) -> Jury:
        """Leave out the members that decide about most people's advice; the base model stays.

        All have to agree, so that one odd model would send everybody far away; little is gained by
        it, since a changed model is hardly ever odd in the same way.
        """
        models, units = jury.models, jury.units
        spared = (len(models) - 1) // SPARED
        if not spared or not len(people) or units is None:
            return jury
        self._search_with(jury)
        answers = self._advice(people[:ASKED], MARGINS[self._first_guess])
        sure = jury.log_odds(answers[np.isfinite(answers).all(axis=1)])[1:]
        deciding = (sure <= sure.min(axis=0) + NEAR).sum(axis=1)
        odd = np.argsort(-deciding, kind="stable")[:spared] + 1
        kept = np.setdiff1d(np.arange(len(models)), odd)
        return Jury(tuple(models[place] for place in kept), units[kept])

    def _people(self) -> Factuals:
        """Return people who are not asked about later."""
        task = self.context.task
        parts: tuple[Part, ...] = ("validation", "update", "train")
        rows = np.concatenate([task.rows(part) for part in parts])
        row_ids = np.concatenate([task.row_ids(part) for part in parts])
        some = np.flatnonzero(~self.context.model.favourable(rows))
        if self.context.actions is not None:
            refused = self.context.actions.refusals(rows[some])
            some = some[[not reason for reason in refused]]
        order = stream(task.name, self.context.base_seed, "quorum people").permutation(len(some))
        some = some[order[: affordable(self.people, rows.shape[1])]]
        return Factuals(row_ids[some], rows[some])

    def for_choice(self, number: int) -> Quorum:
        """Return the same with a margin for people who leave alone what they were told before."""
        if number == 1:
            return self
        before, result, people = self.for_choice(number - 1), copy(self), self._people()
        told = before._advice(people, before._margin, before._kept)
        kept = main_features(self.context.task, people.rows, told)
        result._kept = kept if before._kept is None else kept | before._kept
        result.calibrated = result._calibrate(people)
        result._margin = result.calibrated.margin
        return result

    def _calibrate(self, people: Factuals) -> Calibrated:
        def losses(margin: float, some: slice) -> tuple[Floats, Floats]:
            kept = None if self._kept is None else self._kept[some]
            found = self._advice(people[some], margin, kept)
            # Who gets no advice cannot be failed by it.
            lost, expected = np.zeros((2, len(found)))
            there = np.isfinite(found).all(axis=1)
            lost[there], expected[there] = self._judges.refusals(found[there])
            return CAUTION * lost, CAUTION * expected

        return smallest_margin(MARGINS, losses, len(people), self.target, self._first_guess)

    def _advice(self, people: Factuals, margin: float, kept: Booleans | None = None) -> Floats:
        """Return what people would be told with a margin."""
        self._margin = margin
        return self._feasible(people, self._proposed(people), kept).rows

    @property
    def _first_guess(self) -> int:
        """Where margins for such a target mostly are."""
        likely = DIGIT * (-log(1.0 - self.target) / LOG_TEN - 2.0) + 0.1
        return int(np.abs(np.array(MARGINS) - likely).argmin())

    def _search(self, factuals: Factuals) -> Candidates:
        if self._points is not None:
            rows, margins = self._nearest_points(self._points, factuals.rows)
        else:
            rows = self._most_agreed(factuals.rows)
            if self.context.actions is None:
                actions = self.context.task.actions
                proposals = self._propose(actions, factuals, rows, {})
                rows = self._nearest_accepted(actions, proposals)
            margins = self._margins(rows)
        found = np.isfinite(rows).all(axis=1)
        accepted = np.zeros(len(rows), dtype=np.int64)
        accepted[found] = self._judges.accepted(rows[found])
        n = len(rows)
        # Not known while the margin is being calibrated.
        known = getattr(self, "calibrated", Calibrated(self._margin, np.nan, 0))
        diagnostics: dict[str, npt.NDArray[Any]] = {
            "margin": margins,
            "estimated_share": np.full(n, known.estimate),
            "calibrated_on": np.full(n, known.people),
            "accepted": accepted,
            "asked": np.full(n, self.held_out),
            "optimistic_bound": lower_bounds(accepted, self.held_out, CONFIDENCE),
        }
        return Candidates(rows, np.where(found, "", NONE_ACCEPTED).tolist(), diagnostics)

    def _nearest_points(self, points: AgreedPoints, factuals: Floats) -> tuple[Floats, Floats]:
        """Return points with the margin, or with the largest smaller one that there is."""
        actions = self.context.actions
        rows, reached = np.full_like(factuals, np.nan), np.full(len(factuals), np.nan)
        bounds = None if actions is None else actions.bounds(factuals)
        coarse = COARSE if factuals.shape[1] <= WIDE else COARSE[::8]
        for margin in (self._margin, *(m for m in reversed(coarse) if m < self._margin)):
            left = np.flatnonzero(np.isnan(reached))
            if not len(left):
                break
            limits = None if bounds is None else (bounds[0][left], bounds[1][left])
            rows[left] = points.search(factuals[left], margin, limits)
            reached[left[np.isfinite(rows[left, 0])]] = margin
        left = np.flatnonzero(np.isnan(reached))
        rows[left] = self._most_agreed(factuals[left])
        return rows, reached

    def _most_agreed(self, factuals: Floats) -> Floats:
        """Return the nearest of the training rows that most models accept, of the base's own."""
        best = self._jury.most_agreed(self.context.task)
        if not len(best):
            return np.full_like(factuals, np.nan)
        several = np.broadcast_to(best, (len(factuals), *best.shape))
        far = lengths(factuals, several, self.context.task.distance_weights)
        return np.asarray(best[far.argmin(axis=1)])

    def _margins(self, rows: Floats) -> Floats:
        """Return the margin with which everybody accepts rows, as far as it is asked for."""
        result = np.full(len(rows), np.nan)
        there = np.isfinite(rows).all(axis=1)
        sure = self._jury.log_odds(rows[there]).min(axis=0)
        result[there] = np.minimum(sure, self._margin)
        return np.where(result >= 0.0, result, np.nan)

    # Nothing is said of `_deciding_models`. Rows just across the splits of the pool are nearer, but
    # the second pool refuses more of them: with the margin that this takes, people go farther.
    def _accepts(self, rows: Floats, people: People) -> Booleans:
        assert self._jury.units is not None
        return self._pool.accepts(rows, least=sigmoids(self._margin * self._jury.units))

    def _measure(self, rows: Floats, people: People) -> Columns:
        accepted = self._judges.accepted(rows)
        return {
            "margin": self._margins(rows),
            "accepted": accepted,
            "optimistic_bound": lower_bounds(accepted, self.held_out, CONFIDENCE),
        }
