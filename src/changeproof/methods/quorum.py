"""The nearest point that the base model and a private pool accept, with a calibrated margin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from changeproof.arithmetic.functions import log
from changeproof.datasets.actions import Actions
from changeproof.datasets.few_columns import WIDE, fewer
from changeproof.errors import InputError
from changeproof.methods.expected import checked_kinds, expected_members, supported_kinds
from changeproof.methods.method import Candidates, Factuals, Method
from changeproof.methods.profile import EVERY_FAMILY, Cost, Promise, WarmUp
from changeproof.methods.search.agreed_points import AgreedPoints
from changeproof.methods.search.agreed_rows import AgreedRows
from changeproof.methods.search.calibration import (
    DIGIT,
    LOG_TEN,
    Calibrated,
    Losses,
    lower_bounds,
    smallest_margin,
)
from changeproof.methods.search.judges import Judges, log_odds, usual_log_odds
from changeproof.model import Floats
from changeproof.models.learner import TrainingRequest, stacked, train_all
from changeproof.networks.network import Network
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

    Of networks, points are found by linear programmes. Of other models, and where it is said what
    people may be told, training rows are put back feature by feature.

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
        "is calibrated to hold in {level:g} % of the models of its second pool, on average over "
        "people. The people of that calibration are mostly training rows, which today's model has "
        "fitted, so this is an estimate. Its two pools are made of the same kinds of change, with "
        "the same shares, radii, layers and optimisers, that it is tested on here, under other "
        "seeds. No published method has that knowledge",
        EVERY_FAMILY,
        always=True,
    )
    summary = "the nearest point that a pool of possible models accepts, with a calibrated margin"
    source = "changeproof, docs/quorum.md"
    trains = True

    target: float = 0.99
    members: int = 48
    held_out: int = 36
    people: int = 256
    expect: str | Sequence[str] = ()
    sparsity: float = 0.02

    def __post_init__(self) -> None:
        if not 0.0 < self.target < 1.0:
            raise InputError(f"target has to be between 0 and 1; got {self.target!r}")
        if self.members < 1 or self.held_out < 1 or self.people < 1:
            raise InputError(
                "both pools need at least one model, and calibration somebody; got "
                f"{self.members}, {self.held_out} and {self.people}"
            )
        if not self.sparsity >= 0.0:
            raise InputError(f"sparsity must not be negative; got {self.sparsity!r}")
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
        base = (context.task, context.model, context.base_seed, context.learner)
        kinds = self._kinds or supported
        members, judges = expected_members(*base, kinds, self.members, self.held_out)
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
        asked = (context.model, *pool)
        self._search_with(*self._without_odd_ones(asked, usual_log_odds(asked, rows), people))
        self.calibrated = self._calibrate(people)

    def _search_with(self, models: Sequence[Any], units: Floats) -> None:
        """Search with the base model and a pool, and what a margin of 1 is for each of them."""
        task, actions, rows = (
            self.context.task,
            self.context.actions,
            self.context.task.rows("train"),
        )
        networks = [one for one in models if isinstance(one, Network)]
        points = None
        if len(networks) == len(models):
            points = AgreedPoints(tuple(networks), task, rows, self.sparsity, units)
        self._agreed: AgreedPoints | AgreedRows
        if points is not None and actions is None:
            self._agreed = points
        else:
            self._agreed = AgreedRows(tuple(models), units, actions or task.actions, rows, points)

    def _follow(self, actions: Actions) -> None:
        if isinstance(self._agreed, AgreedRows):
            self._agreed = replace(self._agreed, actions=actions)

    def _without_odd_ones(
        self, models: Sequence[Any], units: Floats, people: Floats
    ) -> tuple[Sequence[Any], Floats]:
        """Leave out the members that decide about most people's advice; the base model stays.

        All have to agree, so that one odd model would send everybody far away; little is gained by
        it, since a changed model is hardly ever odd in the same way.
        """
        pool = models[1:]
        spared = len(pool) // SPARED
        if not spared or not len(people):
            return models, units
        self._search_with(models, units)
        answers = self._answers(people[:ASKED], MARGINS[self._first_guess])[0]
        answers = answers[np.isfinite(answers).all(axis=1)]
        sure = log_odds(stacked(pool), answers) / units[1:, None]
        deciding = (sure <= sure.min(axis=0) + NEAR).sum(axis=1)
        odd = np.argsort(-deciding, kind="stable")[:spared] + 1
        kept = [place for place in range(len(models)) if place not in odd]
        return [models[place] for place in kept], units[kept]

    def _people(self) -> Floats:
        """Return people who are not asked about later."""
        task, model = self.context.task, self.context.model
        rows = np.concatenate([task.rows(part) for part in ("validation", "update", "train")])
        rows = rows[~model.favourable(rows)]
        if self.context.actions is not None:
            rows = rows[[not reason for reason in self.context.actions.refusals(rows)]]
        order = stream(task.name, self.context.base_seed, "quorum people").permutation(len(rows))
        return np.asarray(rows[order[: fewer(self.people, rows.shape[1])]])

    def _calibrate(self, people: Floats) -> Calibrated:
        """Choose the margin."""

        def losses(margin: float, some: slice) -> Losses:
            found = self._answers(people[some], margin)[0]
            # Who gets no advice cannot be failed by it.
            lost, expected = np.zeros((2, len(found)))
            there = np.isfinite(found).all(axis=1)
            lost[there], expected[there] = self._judges.refusals(found[there])
            return Losses(CAUTION * lost, CAUTION * expected)

        return smallest_margin(MARGINS, losses, len(people), self.target, self._first_guess)

    @property
    def _first_guess(self) -> int:
        """Where margins for such a target mostly are."""
        likely = DIGIT * (-log(1.0 - self.target) / LOG_TEN - 2.0) + 0.1
        return int(np.abs(np.array(MARGINS) - likely).argmin())

    def _answers(self, factuals: Floats, margin: float) -> tuple[Floats, Floats]:
        """Return answers with a margin, or with the largest smaller one that there is."""
        rows, reached = np.full_like(factuals, np.nan), np.full(len(factuals), np.nan)
        coarse = COARSE if factuals.shape[1] <= WIDE else COARSE[::8]
        for smaller in (margin, *(other for other in reversed(coarse) if other < margin)):
            left = np.flatnonzero(np.isnan(reached))
            if not len(left):
                break
            rows[left] = self._agreed.search(factuals[left], smaller)
            reached[left[np.isfinite(rows[left, 0])]] = smaller
        left = np.flatnonzero(np.isnan(reached))
        rows[left] = self._agreed.most_agreed(factuals[left])
        return rows, reached

    def _search(self, factuals: Factuals) -> Candidates:
        rows, margins = self._answers(factuals.rows, self.calibrated.margin)
        found = np.isfinite(rows).all(axis=1)
        accepted = np.zeros(len(rows), dtype=np.int64)
        accepted[found] = self._judges.accepted(rows[found])
        n = len(rows)
        diagnostics: dict[str, npt.NDArray[Any]] = {
            "margin": margins,
            "estimated_share": np.full(n, self.calibrated.estimate),
            "calibrated_on": np.full(n, self.calibrated.people),
            "accepted": accepted,
            "asked": np.full(n, self.held_out),
            "optimistic_bound": lower_bounds(accepted, self.held_out, CONFIDENCE),
        }
        return Candidates(rows, np.where(found, "", NONE_ACCEPTED).tolist(), diagnostics)
