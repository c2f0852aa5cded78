"""The nearest point that the base model accepts and a private pool agrees on."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field, NonNegativeFloat, PositiveInt

from changeproof.arithmetic.functions import log
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
from changeproof.methods.quorum import chains
from changeproof.methods.quorum.agreement import Agreement
from changeproof.methods.quorum.calibration import (
    ENOUGH,
    Calibrated,
    people_needed,
    smallest_threshold,
)
from changeproof.methods.quorum.chains import (
    Assent,
    FutureJudges,
    Futures,
    deployed,
    lasting_members,
)
from changeproof.methods.quorum.points import AgreedPoints
from changeproof.methods.quorum.pool import (
    Judges,
    Sizes,
    Witnesses,
    checked_kinds,
    expected_members,
    supported_kinds,
)
from changeproof.model import Booleans, Floats
from changeproof.models.chains import MOST_UPDATES, checked_steps
from changeproof.models.learner import TrainingRequest, stacked, train_all
from changeproof.networks.network import Network
from changeproof.networks.stack import NetworkStack
from changeproof.randomness import stream

# How far the pool has to agree, in log odds of the mean vote, for a target of 99 %; one is chosen.
# A tenth of the failures takes so much more.
THRESHOLDS, TENTH = (4.0, 3.6, 3.3, 3.0, 2.8, 2.6, 2.4, 2.2, 2.0, 1.8, 1.5, 1.0, 0.0), 1.3
# Models that take longer begin with this one.
FIRST_OF_OTHERS = 2
# Whoever cannot have it gets the largest smaller one of these.
COARSE = tuple(n / 2.0 for n in range(10))
# How many private models there are, of networks and of models that take longer to train.
SIZES, SIZES_OF_OTHERS = Sizes(24, 44, 16), Sizes(24, 24, 8)
# How many people a threshold is tried on, and how cautious an estimate is where they are too few.
# With boosted trees, half of the failures took 9 and 37 % more distance (docs/quorum.md).
PEOPLE, PEOPLE_OF_OTHERS = 256, 100
CAUTION, CAUTION_OF_OTHERS = ENOUGH, 1.0
UNKNOWN = Calibrated(np.nan, np.nan, np.nan, 0, 0)
LOG_TEN = 2.302585092994046
# What is promised of advice that is to last.
LASTING = Promise(
    "is calibrated by conformal risk control: in expectation over people and futures, it holds "
    "through {lasts} updates, one after the other, in at least {level:g} % of futures like the "
    "method's own chains of updates. That is proven for people and futures like those of the "
    "calibration, as far as both are enough. Otherwise {level:g} % is an estimate, and less is "
    "proven: 'promised' in the diagnostics says how much. The chains are made as those of the "
    "family updates, under other seeds. Of their updates, those count that pass the method's gate",
    "updates",
    always=True,
    updates="lasts",
)
NONE_ACCEPTED = "no row that the base model accepts was found"


class Trying(NamedTuple):
    """People whom thresholds are tried on, those first whom the base model was not fitted to."""

    people: Factuals
    unfitted: int


@dataclass(kw_only=True, eq=False, repr=False)
class Quorum(Method):
    """Send people to the nearest point that the base model and a pool of models accept.

    There are three sets of private models: what the base model may become. They are of the kinds of
    change that the evaluation has, with its shares, radii, layers and optimisers, and with seeds
    that no changed model has. No published method knows as much of what it is tested on.

    The base model has to accept, and the *pool* has to agree: every member has a soft vote, by how
    sure it is compared with how sure it usually is, and the mean vote has to reach a threshold.
    Most members are of kinds that move a model far.

    *Judges* choose the threshold, on people who are none of those that ask, and whom the base model
    was not fitted to (adverse rows of the validation and update parts). They are advised, and a
    threshold is taken with which no more than 1 - target of the judgements are against the advice,
    all kinds of change counted the same, and one more person who fails altogether. Who cannot reach
    the threshold gets the most agreement that can be had, and does not count: `agreement` below
    `threshold` says so. This is the rule of conformal risk control (`calibration.py`).

    *Witnesses* have a part in nothing. They are asked about the answers that are given.

    In the diagnostics, `promised` is what the theorem of conformal risk control gives: in
    expectation over people who are exchangeable with those of the calibration, at least this share
    of the judges accepts. It is `target` if there are 2 / (1 - target) - 1 people whom the base
    model was not fitted to. With fewer (`unfitted` of the `calibrated_on`) it is lower by one
    person in so many, and training rows are added, so that the target is an estimate. It is NaN
    where even the largest threshold fails more often, and for whoever cannot reach the threshold;
    the share counts them as not refused. `estimated_share` is the share of judgements
    in favour, with one more person who fails. `accepted` of `asked` says how many witnesses accept
    an answer, and `at_least` is the exact lower bound, with a confidence of 95 %, on the share of
    all such models that does. About changed models all this says as much as they are like these.

    Of networks, points are found by linear programmes; of other models, rows by the search among
    feasible rows. A row is good enough if the base model accepts it and the pool agrees.

    Parameters
    ----------
    target
        The share of changed models that shall accept the advice.
    members, judges, witnesses
        How many private models there are of each set. By default 24, 44 and 16 for our networks;
        24, 24 and 8 for other models, which take longer to train.
    people
        How many people the threshold is calibrated on, as far as there are so many; by default
        256 for our networks and 100 for other models, which take longer to ask.
    expect
        Which kinds of change the private models are made of, by the names of the families; none
        stands for all that can happen to this kind of model.
    sparsity
        Changes of single features are given up where the others can make up for it at this share
        of the distance more.
    lasts
        Through how many updates, one after the other, the advice shall hold. 0 stands for single
        changes. With it, `target` is the share of futures in which advice holds through all of
        them. A member is then a state of a private chain of updates, and judges and witnesses are
        whole futures: by default 192, 96 and 16 for our networks; 96, 40 and 8 for other models.
        Of networks, all but one member in 50 have to accept, each with a margin in units of its
        own: how sure it usually is; `agreement` and `threshold` are such margins. `expect` says
        what an update is made of. In the diagnostics, `futures` is how many judge, and `deployed`
        the share of their updates that pass the gate. `chains.py` says what is promised.
    gate
        An update whose balanced accuracy on validation rows is lower than the base model's by more
        than this is not deployed. It breaks no advice, and is no member. None deploys all.
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
    summary = (
        "the nearest point that a pool of possible models agrees on, up to a calibrated threshold"
    )
    source = "changeproof, docs/quorum.md"
    trains = True

    target: Annotated[float, Field(gt=0, lt=1)] = 0.99
    members: PositiveInt | None = None
    judges: PositiveInt | None = None
    witnesses: PositiveInt | None = None
    people: PositiveInt | None = None
    expect: str | Sequence[str] = ()
    sparsity: NonNegativeFloat = 0.02
    lasts: Annotated[int, Field(ge=0, le=MOST_UPDATES)] = 0
    gate: Annotated[float, Field(ge=0, lt=1)] | None = 0.1

    # What the people that it is calibrated on leave alone.
    _kept: Booleans | None = None

    def __post_init__(self) -> None:
        expect = [self.expect] if isinstance(self.expect, str) else self.expect
        self._kinds = checked_kinds(expect)
        if self.lasts:
            checked_steps(expect)

    @property
    def promised(self) -> Promise | None:
        return LASTING if self.lasts else self.promise

    def _prepare(self) -> None:
        context = self.context
        supported = supported_kinds(context.learner)
        for kind in self._kinds:
            if kind not in supported:
                raise InputError(
                    f"quorum expects {kind!r}, which cannot happen to {context.learner.name}; "
                    f"expected some of: {', '.join(supported)}"
                )
        described = (
            lasting_members(context, self.lasts, self._kinds, self.sizes)
            if self.lasts
            else expected_members(context, self._kinds or supported, self.sizes)
        )
        requests = [
            TrainingRequest(member.change, member.learner or context.learner, context.task)
            for members in described
            for member in members
        ]
        models = iter(train_all(requests))
        pool, judges, witnesses = ([next(models) for _ in members] for members in described)
        rows = context.task.rows("train")
        if self.lasts:
            self._futures, witnessing = (
                Futures.of(context, each, self.lasts, self.gate) for each in (judges, witnesses)
            )
            self._witnesses = Witnesses(witnessing)
            pool = [pool[place] for place in np.flatnonzero(deployed(context, pool, self.gate))]
        else:
            self._judges = Judges.of(described.judges, judges, rows)
            self._witnesses = Witnesses(stacked(witnesses))
        networks = isinstance(stacked([context.model, *pool]), NetworkStack)
        asked = Assent if self.lasts and networks else Agreement
        self._agreement: Assent | Agreement = asked.of(context.model, pool, rows)
        self._agreed = self._agreement.log_odds(rows)
        self._points: AgreedPoints | None = None
        if networks:
            self._points = AgreedPoints(self._agreement, context.task, self.sparsity)
        self.calibrated = self._calibrate(self._people())
        self._threshold = self.calibrated.threshold

    @property
    def sizes(self) -> Sizes:
        """How many private models there are of each role."""
        sizes = (chains.SIZES, chains.SIZES_OF_OTHERS) if self.lasts else (SIZES, SIZES_OF_OTHERS)
        usual = sizes[not isinstance(self.context.model, Network)]
        return Sizes(
            self.members or usual.members,
            self.judges or usual.judges,
            self.witnesses or usual.witnesses,
        )

    @property
    def _thresholds(self) -> tuple[float, ...]:
        """What is tried, from large to small, whoever the people are."""
        if self.lasts:
            return chains.MARGINS if self._points is not None else chains.AGREEMENTS
        more = TENTH * (-log(1.0 - self.target) / LOG_TEN - 2.0)
        first = 0 if self._points is not None else FIRST_OF_OTHERS
        return tuple(max(0.0, round(each + more, 3)) for each in THRESHOLDS[first:])

    def _people(self) -> Trying:
        """Return people who are not asked about later.

        Training rows are among them only where there are too few others.
        """
        usual = PEOPLE if isinstance(self.context.model, Network) else PEOPLE_OF_OTHERS
        most = affordable(self.people or usual, self.context.task.n_features)
        others = self._adverse(("validation", "update"), most)
        taken = FutureJudges(self._futures, self.target).one if self.lasts else 0.0
        if len(others) >= min(people_needed(self.target, taken), most):
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
        """Return the same, calibrated for people who leave alone what they were told before."""
        if number == 1:
            return self
        before, result, trying = self.for_choice(number - 1), copy(self), self._people()
        told = before._advice(trying.people, before._threshold, before._kept)
        kept = main_features(self.context.task, trying.people.rows, told)
        result._kept = kept if before._kept is None else kept | before._kept
        # What people keep depends on the threshold before, which was chosen by a look at them.
        result.calibrated = result._calibrate(trying)._replace(promised=np.nan)
        result._threshold = result.calibrated.threshold
        return result

    def _calibrate(self, trying: Trying) -> Calibrated:
        people, unfitted = len(trying.people), trying.unfitted

        def advised(threshold: float, some: slice) -> Floats:
            kept = None if self._kept is None else self._kept[some]
            found = self._advice(trying.people[some], threshold, kept)
            # Who gets no advice, or less than was asked for, is not failed by what is promised.
            there = np.flatnonzero(np.isfinite(found).all(axis=1))
            found[there[self._agreement.log_odds(found[there]) < threshold]] = np.nan
            return found

        def losses(threshold: float, some: slice) -> tuple[Floats, Floats]:
            found = advised(threshold, some)
            lost, expected = np.zeros((2, len(found)))
            there = np.isfinite(found).all(axis=1)
            lost[there], expected[there] = self._judges.refusals(found[there])
            return lost, expected

        if not self.lasts:
            caution = CAUTION if isinstance(self.context.model, Network) else CAUTION_OF_OTHERS
            given = people, unfitted, self.target
            return smallest_threshold(self._thresholds, losses, *given, caution=caution)
        judges = FutureJudges(self._futures, self.target)

        def broken(threshold: float, some: slice) -> tuple[Floats, Floats]:
            lost = judges.lost(advised(threshold, some), some.start)
            return lost, lost

        counts = people, unfitted, self.target, judges.one
        found = smallest_threshold(self._thresholds, broken, *counts)
        return found._replace(promised=found.promised - judges.promised_less)

    def _advice(self, people: Factuals, threshold: float, kept: Booleans | None = None) -> Floats:
        """Return what people would be told with a threshold."""
        self._threshold = threshold
        return self._feasible(people, self._proposed(people), kept).rows

    def _search(self, factuals: Factuals) -> Candidates:
        if self._points is not None:
            rows = self._nearest_points(self._points, factuals.rows)
        else:
            rows = self._most_agreed(factuals.rows)
            if self.context.actions is None:
                actions = self.context.task.actions
                proposals = self._propose(actions, factuals, rows, {})
                rows = self._nearest_accepted(actions, proposals)
        found = np.isfinite(rows).all(axis=1)
        agreed, accepted = np.full(len(rows), np.nan), np.zeros(len(rows), dtype=np.int64)
        agreed[found] = self._agreement.log_odds(rows[found])
        accepted[found] = self._witnesses.accepted(rows[found])
        n = len(rows)
        # Not known while the threshold is being calibrated.
        known = getattr(self, "calibrated", UNKNOWN)
        diagnostics: dict[str, npt.NDArray[Any]] = {
            "agreement": agreed,
            "threshold": np.full(n, self._threshold),
            "promised": np.where(agreed >= self._threshold, known.promised, np.nan),
            "estimated_share": np.full(n, known.estimate),
            "calibrated_on": np.full(n, known.people),
            "unfitted": np.full(n, known.unfitted),
            "accepted": accepted,
            "asked": np.full(n, self.sizes.witnesses),
            "at_least": self._witnesses.at_least(accepted),
        }
        if self.lasts:
            diagnostics["futures"] = np.full(n, len(self._futures))
            diagnostics["deployed"] = np.full(n, self._futures.deployed.mean())
        return Candidates(rows, np.where(found, "", NONE_ACCEPTED).tolist(), diagnostics)

    def _nearest_points(self, points: AgreedPoints, factuals: Floats) -> Floats:
        """Return points that reach the threshold, or the largest smaller one that can be had."""
        actions = self.context.actions
        rows, waiting = np.full_like(factuals, np.nan), np.arange(len(factuals))
        bounds = None if actions is None else actions.bounds(factuals)
        coarse = COARSE if factuals.shape[1] <= WIDE else COARSE[::8]
        for threshold in (self._threshold, *(c for c in reversed(coarse) if c < self._threshold)):
            if not len(waiting):
                break
            limits = None if bounds is None else (bounds[0][waiting], bounds[1][waiting])
            rows[waiting] = points.search(factuals[waiting], threshold, limits)
            waiting = waiting[np.isnan(rows[waiting, 0])]
        rows[waiting] = self._most_agreed(factuals[waiting])
        return rows

    def _most_agreed(self, factuals: Floats) -> Floats:
        """Return the nearest training row that reaches the threshold, or comes nearest to it.

        NaN where the base model accepts none.
        """
        rows, agreed = self.context.task.rows("train"), self._agreed
        favourable = self.context.model.favourable(rows)
        rows, agreed = rows[favourable], agreed[favourable]
        if not len(rows):
            return np.full_like(factuals, np.nan)
        best = rows[agreed >= min(self._threshold, agreed.max())]
        several = np.broadcast_to(best, (len(factuals), *best.shape))
        far = lengths(factuals, several, self.context.task.distance_weights)
        return np.asarray(best[far.argmin(axis=1)])

    # Nothing is said of `_deciding_models`. Rows just across the splits of the pool are nearer, but
    # the judges refuse more of them: with the threshold that this takes, people go farther.
    def _accepts(self, rows: Floats, people: People) -> Booleans:
        return self._agreement.reaches(rows, self._threshold)

    def _score(self, rows: Floats, people: People) -> Floats:
        return self._agreement.guide(rows)

    def _measure(self, rows: Floats, people: People) -> Columns:
        agreed, accepted = self._agreement.log_odds(rows), self._witnesses.accepted(rows)
        promised = getattr(self, "calibrated", UNKNOWN).promised
        return {
            "agreement": agreed,
            "promised": np.where(agreed >= self._threshold, promised, np.nan),
            "accepted": accepted,
            "at_least": self._witnesses.at_least(accepted),
        }
