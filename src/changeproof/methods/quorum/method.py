"""The nearest point that the base model and a private pool accept, with a calibrated margin."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field, NonNegativeFloat, PositiveInt

from changeproof.arithmetic.functions import sigmoids
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
from changeproof.methods.quorum.calibration import (
    Calibrated,
    people_needed,
    smallest_threshold,
)
from changeproof.methods.quorum.points import AgreedPoints, Jury
from changeproof.methods.quorum.pool import (
    Judges,
    Sizes,
    Witnesses,
    checked_kinds,
    expected_members,
    supported_kinds,
)
from changeproof.methods.shared.ensembles import Ensemble
from changeproof.model import Booleans, Floats
from changeproof.models.learner import TrainingRequest, stacked, train_all
from changeproof.networks.network import Network
from changeproof.networks.stack import NetworkStack
from changeproof.randomness import stream

# How clearly everybody has to accept, in units of its own (its usual log odds); one is chosen. None
# has to be surer than it usually is: what single models refuse even then, no margin mends.
MARGINS = tuple(n / 64.0 for n in (64, 48, 36, 28, 22, 18, 15, 12, 10, 8, 6, 4, 2, 0))
# Whoever cannot have it gets the largest smaller one of these.
COARSE = tuple(n / 16.0 for n in range(17))
# One member of so many is left out of the pool: the one that stands in most people's way.
SPARED = 24
# How many people show that, with which margin, and what is as unsure as the least sure.
PRUNING, USUAL_MARGIN, NEAR = 128, 6.0 / 64.0, 1e-3
# What judges refuse counts a quarter more: they are few, and one margin of many suits them best.
CAUTION = 1.25
# How many private models there are, of networks and of models that take longer to train.
SIZES, SIZES_OF_OTHERS = Sizes(40, 28, 16), Sizes(24, 16, 8)
NONE_ACCEPTED = "no row that the base model accepts was found"


class Trying(NamedTuple):
    """People whom margins are tried on, those first whom the base model was not fitted to."""

    people: Factuals
    unfitted: int


@dataclass(kw_only=True, eq=False, repr=False)
class Quorum(Method):
    """Send people to the nearest point that the base model and a pool of models accept.

    There are three sets of private models: what the base model may become. They are of the kinds of
    change that the evaluation has, with its shares, radii, layers and optimisers, and with seeds
    that no changed model has. No published method knows as much of what it is tested on.

    The *pool* has to accept, and so has the base model, each with a margin in units of its own: how
    sure of itself it usually is. Most members are of kinds that move a model far. Those that would
    decide about most people's advice are left out; training rows show which.

    *Judges* choose the margin, on people who are none of those that ask, and whom the base model
    was not fitted to (adverse rows of the validation and update parts). They are advised, and a
    margin is taken with which no more than 1 - target of the judgements are against the advice, all
    kinds of change counted the same, every refusal a quarter more, and one more person who fails
    altogether. This is the rule of conformal risk control (`calibration.py`).

    *Witnesses* have a part in nothing. They are asked about the answers that are given.

    In the diagnostics, `promised` is what the theorem of conformal risk control gives: in
    expectation over people who are exchangeable with those of the calibration, at least this share
    of the judges accepts. It is `target` if there are 2 / (1 - target) - 1 people whom the base
    model was not fitted to. With fewer (`unfitted` of the `calibrated_on`) it is lower by one
    person in so many, and training rows are added, so that the target is an estimate. It is NaN
    where even the largest margin fails more often. `estimated_share` is the share of judgements in
    favour, with one more person who fails. `accepted` of `asked` says how many witnesses accept an
    answer, and `at_least` is the exact lower bound, with a confidence of 95 %, on the share of all
    such models that does. About changed models all this says as much as they are like these.

    Of networks, points are found by linear programmes; of other models, rows by the search among
    feasible rows. A row is good enough if everybody accepts it with the margin.

    Parameters
    ----------
    target
        The share of changed models that shall accept the advice.
    members, judges, witnesses
        How many private models there are of each set. By default 40, 28 and 16 for our networks;
        24, 16 and 8 for other models, which take longer to train.
    people
        How many people the margin is calibrated on, as far as there are so many.
    expect
        Which kinds of change the private models are made of, by the names of the families; none
        stands for all that can happen to this kind of model.
    sparsity
        Changes of single features are given up where the others can make up for it at this share
        of the distance more.
    """

    name = "quorum"
    label = "Quorum"
    cost = Cost(per_person=0.002, own_model=0.2, models=84)
    warm_up = WarmUp(seconds=3, settings={"members": 8, "judges": 8, "witnesses": 8, "people": 4})
    promise = Promise(
        "is calibrated by conformal risk control: in expectation over people, at least {level:g} % "
        "of the method's judges, models of its own, accept it. That is proven for people like "
        "those of the calibration, as far as these are enough to whom today's model was not "
        "fitted. Otherwise training rows help, {level:g} % is an estimate, and less is proven: "
        "'promised' in the diagnostics says how much. The judges are made of the same kinds of "
        "change, with the same shares, radii, layers and optimisers, that are tested here, under "
        "other seeds. No published method has that knowledge",
        EVERY_FAMILY,
        always=True,
    )
    summary = "the nearest point that a pool of possible models accepts, with a calibrated margin"
    source = "changeproof, docs/quorum.md"
    trains = True

    target: Annotated[float, Field(gt=0, lt=1)] = 0.99
    members: PositiveInt | None = None
    judges: PositiveInt | None = None
    witnesses: PositiveInt | None = None
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
        described = expected_members(context, self._kinds or supported, self.sizes)
        requests = [
            TrainingRequest(member.change, member.learner or context.learner, context.task)
            for members in described
            for member in members
        ]
        models = iter(train_all(requests))
        pool, judges, witnesses = ([next(models) for _ in members] for members in described)
        rows = context.task.rows("train")
        self._judges = Judges.of(described.judges, judges, rows)
        self._witnesses = Witnesses(stacked(witnesses))
        jury = Jury.in_own_units((context.model, *pool), rows)
        most = affordable(self.people, context.task.n_features)
        fitted = self._adverse(("train",), min(PRUNING, most))
        self._search_with(self._without_odd_ones(jury, fitted))
        self.calibrated = self._calibrate(self._people())
        self._margin = self.calibrated.threshold

    @property
    def sizes(self) -> Sizes:
        """How many private models there are of each role."""
        usual = SIZES if isinstance(self.context.model, Network) else SIZES_OF_OTHERS
        return Sizes(
            self.members or usual.members,
            self.judges or usual.judges,
            self.witnesses or usual.witnesses,
        )

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
        answers = self._advice(people, USUAL_MARGIN)
        sure = jury.log_odds(answers[np.isfinite(answers).all(axis=1)])[1:]
        deciding = (sure <= sure.min(axis=0) + NEAR).sum(axis=1)
        odd = np.argsort(-deciding, kind="stable")[:spared] + 1
        kept = np.setdiff1d(np.arange(len(models)), odd)
        return Jury(tuple(models[place] for place in kept), units[kept])

    def _people(self) -> Trying:
        """Return people who are not asked about later.

        Training rows are among them only where there are too few others.
        """
        most = affordable(self.people, self.context.task.n_features)
        others = self._adverse(("validation", "update"), most)
        if len(others) >= min(people_needed(self.target), most):
            return Trying(others, len(others))
        fitted = self._adverse(("train",), most - len(others))
        row_ids = np.concatenate([others.row_ids, fitted.row_ids])
        return Trying(Factuals(row_ids, np.concatenate([others.rows, fitted.rows])), len(others))

    def _adverse(self, parts: tuple[Part, ...], count: int) -> Factuals:
        """Draw people whom the base model rejects, and who may be told something."""
        task = self.context.task
        rows = np.concatenate([task.rows(part) for part in parts])
        row_ids = np.concatenate([task.row_ids(part) for part in parts])
        some = np.flatnonzero(~self.context.model.favourable(rows))
        if self.context.actions is not None:
            refused = self.context.actions.refusals(rows[some])
            some = some[[not reason for reason in refused]]
        draw = stream(task.name, self.context.base_seed, "quorum people", *parts)
        some = some[draw.permutation(len(some))[:count]]
        return Factuals(row_ids[some], rows[some])

    def for_choice(self, number: int) -> Quorum:
        """Return the same with a margin for people who leave alone what they were told before."""
        if number == 1:
            return self
        before, result, trying = self.for_choice(number - 1), copy(self), self._people()
        told = before._advice(trying.people, before._margin, before._kept)
        kept = main_features(self.context.task, trying.people.rows, told)
        result._kept = kept if before._kept is None else kept | before._kept
        # What people keep depends on the margin before, which was chosen by a look at them.
        result.calibrated = result._calibrate(trying)._replace(promised=np.nan)
        result._margin = result.calibrated.threshold
        return result

    def _calibrate(self, trying: Trying) -> Calibrated:
        def losses(margin: float, some: slice) -> tuple[Floats, Floats]:
            kept = None if self._kept is None else self._kept[some]
            found = self._advice(trying.people[some], margin, kept)
            # Who gets no advice cannot be failed by it.
            lost, expected = np.zeros((2, len(found)))
            there = np.isfinite(found).all(axis=1)
            lost[there], expected[there] = self._judges.refusals(found[there])
            return CAUTION * lost, CAUTION * expected

        people, unfitted = len(trying.people), trying.unfitted
        return smallest_threshold(MARGINS, losses, people, unfitted, self.target)

    def _advice(self, people: Factuals, margin: float, kept: Booleans | None = None) -> Floats:
        """Return what people would be told with a margin."""
        self._margin = margin
        return self._feasible(people, self._proposed(people), kept).rows

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
        accepted[found] = self._witnesses.accepted(rows[found])
        n = len(rows)
        # Not known while the margin is being calibrated.
        known = getattr(self, "calibrated", Calibrated(self._margin, np.nan, np.nan, 0, 0))
        diagnostics: dict[str, npt.NDArray[Any]] = {
            "margin": margins,
            "promised": np.full(n, known.promised),
            "estimated_share": np.full(n, known.estimate),
            "calibrated_on": np.full(n, known.people),
            "unfitted": np.full(n, known.unfitted),
            "accepted": accepted,
            "asked": np.full(n, self.sizes.witnesses),
            "at_least": self._witnesses.at_least(accepted),
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
        accepted = self._witnesses.accepted(rows)
        return {
            "margin": self._margins(rows),
            "accepted": accepted,
            "at_least": self._witnesses.at_least(accepted),
        }
