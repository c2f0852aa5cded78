"""The contract of a method: a proposal and a test.

An author writes `_search`, which proposes, and `_accepts`, which says what is good enough. Where
people may be told only certain rows, the base class takes a proposal and finds the nearest such row
that the method accepts. Everything that is reported about answers (found, changed, feasible,
base-valid, time) is measured here.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import is_not
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self, cast, final

import numpy as np
import numpy.typing as npt

from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.feasible.actions import Actions
from changeproof.feasible.crossings import Crossings
from changeproof.feasible.search import USUAL, FeasibleSearch, SearchEffort
from changeproof.feasible.wide_tables import searched_features
from changeproof.methods.answers import (
    ALREADY_FAVOURABLE,
    FACTUAL_NOT_FINITE,
    FOUND,
    NOT_FINITE,
    NOT_FOUND,
    NOTHING_FEASIBLE,
    UNCHANGED,
    Counterfactuals,
    Realisation,
)
from changeproof.model import Access, Booleans, DifferentiableModel, Floats, Integers, Model
from changeproof.models.learner import splits_of
from changeproof.models.network import NetworkLearner
from changeproof.models.private import PrivateLearner
from changeproof.networks.network import Network
from changeproof.plugins import Configurable

# Training rows that a search among feasible rows starts from, and how many of a person's nearest
# are tested to find them.
STARTS, MOST_TESTED = 2, 256
# What a promise can be about, other than one family by name.
PARAMETERS, EVERY_FAMILY = "parameter-perturbation", "all"

# Arrays by name, one entry per person.
Columns = Mapping[str, npt.NDArray[Any]]


class Cost(NamedTuple):
    """Rough seconds, for progress bars and for starting long work first.

    Parameters
    ----------
    per_person
        What an answer takes as published, on a network of ours.
    feasible
        The same where people are told only what they can do.
    own_model
        The same on a model that is not ours.
    tuning
        What tuning takes where people are told only what they can do.
    models
        How many models the method trains for itself.
    """

    per_person: float = 0.01
    feasible: float = 0.01
    own_model: float = 0.01
    tuning: float = 1.0
    models: int = 0


class WarmUp(NamedTuple):
    """That a method has kernels of its own, which are compiled before the work starts.

    That takes `seconds`, roughly: what takes longest is begun first. With the `settings`, the
    method does no more than it has to for it.
    """

    seconds: float
    settings: Mapping[str, Any] = MappingProxyType({})


class Promise(NamedTuple):
    """What a method promises of a certified counterfactual.

    Parameters
    ----------
    words
        What it promises, after "A certified counterfactual"; filled with the method's settings and
        with level, sure and unsure in percent.
    ground
        The family of change that the promise is about, or all of them. Of moved parameters only
        those count that are within the method's radius: its setting, or else its diagnostic.
    always
        Whether the method answers with nothing else.
    updates
        The setting that says through how many updates of a future the counterfactual holds, if
        the promise is about all of them at once.
    """

    words: str
    ground: str | None = None
    always: bool = False
    updates: str | None = None


@dataclass(frozen=True, eq=False)
class Context:
    """What a method may see: a task, the base model on it, the base seed and the kind of model.

    `learner` trains models of the method's own. In a run it refuses the recipes of the changed
    models that the method is evaluated on. `actions` says what people may be told; it is None
    where answers are tested as published, whatever they are.
    """

    task: Task
    model: Model
    base_seed: int
    learner: PrivateLearner = field(default_factory=lambda: PrivateLearner(NetworkLearner()))
    actions: Actions | None = None


@dataclass(frozen=True, eq=False)
class Factuals:
    """The people who ask: row ids and standardised rows [people, features].

    `places` says where each stands among all who are drawn for this base model; it is None for
    people who were not drawn but named. A batch taken by `[...]` keeps it, so that nothing need
    depend on the batch.
    """

    row_ids: Integers
    rows: Floats
    places: Integers | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, chosen: npt.NDArray[Any] | slice) -> Factuals:
        places = None if self.places is None else self.places[chosen]
        return Factuals(self.row_ids[chosen], self.rows[chosen], places)


@dataclass(frozen=True, eq=False)
class Candidates:
    """What a search proposes: a row per factual, NaN where there is none.

    `reasons` says why a row is NaN (an empty string where it is not); `diagnostics` are columns
    of any kind, one value per factual, that are kept with the counterfactuals. `private` are
    arrays, one entry per factual, that `_accepts` and `_score` need again.
    """

    rows: Floats
    reasons: Sequence[str] | None = None
    diagnostics: Columns = field(default_factory=dict)
    private: Columns = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Proposals:
    """The proposals of a batch, put on feasible rows.

    `wanted` is what the method proposed, NaN where that was nothing; `rows` are feasible rows near
    it that the base model accepts, NaN where none was found. `private` is what the search left, and
    `level` the score that is good enough, infinite where nothing was proposed.
    """

    factuals: Factuals
    wanted: Floats
    rows: Floats
    private: Columns
    level: Floats


@dataclass(frozen=True, eq=False)
class People:
    """Whom rows are for: the place of a person in the batch, one for each row."""

    places: Integers
    proposals: Proposals

    @property
    def factuals(self) -> Floats:
        """The people's own rows."""
        return self.proposals.factuals.rows[self.places]

    @property
    def level(self) -> Floats:
        """The score that the people's own proposals reach."""
        return self.proposals.level[self.places]


class Method(Configurable, ABC):
    """A way to give recourse on a fixed model.

    Subclasses set `name`, `summary` and `needs`, take their settings as keyword arguments with
    the published values as defaults (kept under the same attribute names), and implement
    `_search`. What they mean by good enough, they say in `_accepts`.
    """

    summary: ClassVar[str]
    # What people read; the name where it is empty.
    label: ClassVar[str] = ""
    cost: ClassVar[Cost] = Cost()
    promise: ClassVar[Promise | None] = None
    warm_up: ClassVar[WarmUp | None] = None
    needs: ClassVar[Access] = Access.PREDICTIONS
    # Whether a feasible row is searched for where a proposal is not feasible; counterfactuals that
    # were told by somebody else are tested as they are.
    searches_feasible: ClassVar[bool] = True
    # How long the search among feasible rows goes on.
    effort: ClassVar[SearchEffort] = USUAL
    # Whether it trains models of its own, which not every kind of model can do.
    trains: ClassVar[bool] = False

    context: Context
    _known_splits: tuple[Sequence[Model], list[Floats] | None]

    @property
    def promised(self) -> Promise | None:
        """What it promises with its settings."""
        return self.promise

    @final
    def fit(self, context: Context) -> Self:
        """Get ready for one base model."""
        if self.needs not in context.model.offers:
            raise InputError(
                f"method {self.name!r} needs {self.needs} of a model; "
                f"this one offers {context.model.offers}"
            )
        self.context = context
        self._searched_features, self._known_splits = None, ((), None)
        if context.actions is not None:
            rows, sure = context.task.rows("train"), sureness(context.model)
            self._searched_features = searched_features(context.actions, context.model, sure, rows)
        self._prepare()
        return self

    @final
    def generate(self, factuals: Factuals, kept: Booleans | None = None) -> Counterfactuals:
        """Answer a batch of factuals, and check every answer.

        Features that people are to keep as they are [people, features] count as a rule of theirs.
        """
        if not hasattr(self, "context"):
            raise InputError(f"method {self.name!r} must be fitted before it generates")
        task = self.context.task
        if factuals.rows.ndim != 2 or factuals.rows.shape[1] != task.n_features:
            raise InputError(
                f"method {self.name!r}: expected factuals of shape (n, {task.n_features}); "
                f"got {factuals.rows.shape}"
            )
        outcomes = self._first_outcomes(factuals)
        asking = np.asarray(outcomes == FOUND, dtype=np.bool_)
        asked = factuals[asking]
        started = time.perf_counter()
        proposed = self._proposed(asked)
        answers = self._feasible(asked, proposed, None if kept is None else kept[asking])
        elapsed = time.perf_counter() - started
        rows = np.full(factuals.rows.shape, np.nan)
        rows[asking] = answers.rows
        outcomes[asking] = _outcomes(answers, asked.rows)
        realisation = None
        if self.context.actions is not None:
            own = np.full(factuals.rows.shape, np.nan)
            own[asking] = proposed.rows
            realisation = self._realisation(self.context.actions, factuals, own)
            found = np.flatnonzero(outcomes == FOUND)
            keeping = None if kept is None else kept[found]
            for actions, who in self._by_kept(self.context.actions, factuals[found], keeping):
                some = found[who]
                broken = actions.breaches(factuals.rows[some], rows[some]).words
                outcomes[some] = [words or FOUND for words in broken]
        rows[outcomes != FOUND] = np.nan
        found = np.flatnonzero(outcomes == FOUND)
        base_valid = np.zeros(len(factuals), dtype=np.bool_)
        base_valid[found] = self.context.model.favourable(rows[found])
        return Counterfactuals(
            factuals.row_ids,
            factuals.rows,
            rows,
            outcomes.astype(np.str_),
            base_valid,
            np.where(asking, elapsed / max(1, len(asked)), 0.0),
            {name: _spread(values, asking) for name, values in answers.diagnostics.items()},
            realisation,
            tuple(map(str, task.feature_names)),
        )

    def _first_outcomes(self, factuals: Factuals) -> npt.NDArray[np.object_]:
        """Return why nothing is searched for a person, or "found" where something is."""
        outcomes = np.full(len(factuals), FOUND, dtype=object)
        finite = np.asarray(np.isfinite(factuals.rows).all(axis=1))
        outcomes[~finite] = FACTUAL_NOT_FINITE
        adverse = finite.copy()
        adverse[finite] = ~self.context.model.favourable(factuals.rows[finite])
        outcomes[finite & ~adverse] = ALREADY_FAVOURABLE
        if self.context.actions is not None:
            asked = factuals[adverse]
            filled = self.context.task.filled_of(asked.row_ids, asked.rows)
            actions = self._for_people(self.context.actions, asked.row_ids)
            reasons = actions.refusals(asked.rows, filled)
            outcomes[adverse] = [reason or FOUND for reason in reasons]
        return outcomes

    def _proposed(self, asked: Factuals) -> Candidates:
        """Return what the search proposes, checked."""
        if not len(asked):
            return Candidates(np.empty((0, self.context.task.n_features)))
        before = asked.rows.copy()
        candidates = self._search(asked)
        if not isinstance(candidates, Candidates):
            raise InputError(
                f"method {self.name!r} returned {type(candidates).__name__} from _search; "
                "expected Candidates"
            )
        if not np.array_equal(asked.rows, before):
            raise InputError(f"method {self.name!r} changed the factuals that it was given")
        if candidates.rows.shape != asked.rows.shape:
            raise InputError(
                f"method {self.name!r} returned candidates of shape {candidates.rows.shape}; "
                f"expected {asked.rows.shape}"
            )
        columns = {**candidates.diagnostics, **candidates.private}
        if candidates.reasons is not None:
            columns["reasons"] = np.asarray(candidates.reasons)
        for name, values in columns.items():
            if len(values) != len(asked):
                raise InputError(
                    f"method {self.name!r} returned {len(values)} values of {name!r} "
                    f"for {len(asked)} factuals"
                )
        return candidates

    def for_choice(self, number: int) -> Method:
        """Return the fitted method for people's first, second, … piece of advice.

        By default the same: a method that promises something may have to calibrate it anew, since
        further choices leave some features alone.
        """
        return self

    def _feasible(
        self, asked: Factuals, candidates: Candidates, kept: Booleans | None = None
    ) -> Candidates:
        """Return feasible rows that the method accepts, in place of its proposals."""
        actions = self.context.actions
        if actions is None or not self.searches_feasible or not len(asked):
            return candidates
        if self._searched_features is not None:
            others = np.arange(len(actions.features))
            actions = actions.keeping(np.setdiff1d(others, self._searched_features))
        outcomes = _outcomes(candidates, asked.rows)
        rows = np.full_like(asked.rows, np.nan)
        measured: dict[str, npt.NDArray[Any]] = {}
        diagnostics = {name: np.array(v) for name, v in candidates.diagnostics.items()}
        for allowed, who in self._by_kept(actions, asked, kept):
            private = {name: values[who] for name, values in candidates.private.items()}
            wanted = np.where((outcomes[who] == FOUND)[:, None], candidates.rows[who], np.nan)
            proposals = self._propose(allowed, asked[who], wanted, private)
            rows[who] = self._nearest_accepted(allowed, proposals)
            there = np.flatnonzero(np.isfinite(rows[who]).all(axis=1))
            measured = dict(self._measure(rows[who[there]], People(there, proposals)))
            for name, values in measured.items():
                diagnostics[name] = _replaced(diagnostics.get(name), len(asked), who[there], values)
        if "certified" in diagnostics:
            # Only what is told is certified: as measured, or the method's own row, to the byte.
            own = (rows if "certified" in measured else candidates.rows) == rows
            diagnostics["certified"] = diagnostics["certified"].astype(bool) & own.all(axis=1)
        reasons = np.where(outcomes == FOUND, NOTHING_FEASIBLE, outcomes)
        return Candidates(rows, reasons.tolist(), diagnostics)

    def _by_kept(
        self, actions: Actions, asked: Factuals, kept: Booleans | None
    ) -> list[tuple[Actions, Integers]]:
        """Return what may change about whom; some people keep what was filled in about them."""
        actions = self._for_people(actions, asked.row_ids)
        filled = self.context.task.kept_of(asked.row_ids, asked.rows)
        if kept is None or filled is None:
            kept = filled if kept is None else kept
        else:
            kept = kept | filled
        if kept is None:
            return [(actions, np.arange(len(asked)))]
        return list(actions.by_kept(kept))

    def _for_people(self, actions: Actions, row_ids: Integers) -> Actions:
        return actions.for_people(self.context.task.personal_of(row_ids))

    def _propose(
        self,
        actions: Actions,
        asked: Factuals,
        wanted: Floats,
        private: Columns,
    ) -> Proposals:
        """Put proposals on feasible rows, and move them as far as the base model needs."""
        own, search = asked.rows, self._acceptance(actions, asked.rows)
        given = np.asarray(np.isfinite(wanted).all(axis=1))
        starts = actions.project(own, np.where(given[:, None], wanted, own))
        moved, accepted = search.climb(starts)
        lost = np.flatnonzero(~accepted)
        near = search.of(lost).nearest_of(self._favourable_rows())[:, 0]
        there = np.asarray(np.isfinite(near).all(axis=1))
        moved[lost[there]], accepted[lost[there]] = near[there], True
        some = np.flatnonzero(accepted & (moved != starts).any(axis=1))
        moved[some] = search.of(some).shorten(moved[some])
        moved[~accepted] = np.nan
        proposals = Proposals(asked, wanted, moved, private, np.full(len(own), np.inf))
        some = np.flatnonzero(given & accepted)
        proposals.level[some] = self._level(People(some, proposals))
        return proposals

    def _nearest_accepted(self, actions: Actions, proposals: Proposals) -> Floats:
        """Return the nearest feasible row that the method accepts, or else the best found."""
        own, search = proposals.factuals.rows, self._acceptable(actions, proposals)
        train = self._favourable_rows()
        near = search.nearest_of(train, wanted=STARTS, most_tested=MOST_TESTED)
        starts = np.concatenate([proposals.rows[:, None], near, own[:, None]], axis=1)
        rows = search.nearest(starts, self.effort)
        given = np.isfinite(proposals.wanted[:, 0]) & np.isfinite(proposals.rows[:, 0])
        lost = np.flatnonzero(given & np.isnan(rows[:, 0]))
        # Whoever has no accepted row gets what scores best no farther than the proposal.
        search, starts, wanted = search.of(lost), proposals.rows[lost], proposals.wanted[lost]
        longest = np.maximum(search.lengths(starts), search.lengths(wanted))
        best, _ = search.climb(starts, longest=longest)
        rows[lost] = np.where(self.context.model.favourable(best)[:, None], best, starts)
        return rows

    def _favourable_rows(self) -> Floats:
        rows = self.context.task.rows("train")
        return rows[self.context.model.favourable(rows)]

    def _acceptance(self, actions: Actions, people: Floats) -> FeasibleSearch:
        """Return the search for what the base model accepts."""
        model, sure = self.context.model, sureness(self.context.model)
        return FeasibleSearch(
            actions,
            people,
            lambda rows, _: model.favourable(rows),
            lambda rows, _: sure(rows),
            1.0 / self.context.task.distance_scale,
        )

    def _acceptable(self, actions: Actions, proposals: Proposals) -> FeasibleSearch:
        """Return the search for what the base model and the method's own test accept."""

        def passes(rows: Floats, places: Integers) -> Booleans:
            accepted = self.context.model.favourable(rows)
            some = People(places[accepted], proposals)
            accepted[accepted] = self._accepts(rows[accepted], some)
            return accepted

        def score(rows: Floats, places: Integers) -> Floats:
            return self._score(rows, People(places, proposals))

        people, weights = proposals.factuals.rows, 1.0 / self.context.task.distance_scale
        crossings = self._crossings(actions)
        return FeasibleSearch(actions, people, passes, score, weights, crossings)

    def _crossings(self, actions: Actions) -> Crossings | None:
        """Return the splits of all models that decide about rows, if these are forests.

        Where features follow from others, crossing a split of one may cross those of others back.
        """
        if actions.relations is not None:
            return None
        models = self._deciding_models()
        known, splits = self._known_splits
        if len(known) != len(models) or any(map(is_not, known, models)):
            splits = splits_of(models)
            self._known_splits = models, splits
        return None if splits is None else Crossings.of(splits, actions.rules)

    def _realisation(self, actions: Actions, factuals: Factuals, rows: Floats) -> Realisation:
        """Return what proposals are like: which rules they break, and how far they are."""
        there = np.flatnonzero(np.isfinite(rows).all(axis=1) & (rows != factuals.rows).any(axis=1))
        own, changed = factuals.rows[there], rows[there]
        broken = np.full(len(rows), "", dtype=object)
        valid, distance = np.zeros(len(rows), dtype=np.bool_), np.full(len(rows), np.nan)
        actions = self._for_people(actions, factuals.row_ids[there])
        broken[there] = actions.breaches(own, changed).first
        valid[there] = self.context.model.favourable(changed)
        distance[there] = self.context.task.distances(own, changed)
        return Realisation(broken, valid, distance)

    def _prepare(self) -> None:
        """Do what is done once per base model."""

    @abstractmethod
    def _search(self, factuals: Factuals) -> Candidates:
        """Propose a row for every factual; all of them are finite and adverse."""

    def _accepts(self, rows: Floats, people: People) -> Booleans:
        """Return which rows are good enough; the base model accepts all of them.

        By default those that score no less than the method's own proposal does.
        """
        return np.asarray(self._score(rows, people) >= people.level)

    def _score(self, rows: Floats, people: People) -> Floats:
        """Return how good rows are, higher is better: by default how sure the base model is."""
        return sureness(self.context.model)(rows)

    def _deciding_models(self) -> Sequence[Model]:
        """Return the models whose opinion of a row is all that `_accepts` and `_score` ask for.

        None where they ask for more, such as the rows around it: what lies between two splits then
        counts too.
        """
        kind = type(self)
        plain = kind._accepts is Method._accepts and kind._score is Method._score
        return (self.context.model,) if plain else ()

    def _level(self, people: People) -> Floats:
        """Return the score that is good enough: by default that of people's own proposals."""
        return self._score(people.proposals.wanted[people.places], people)

    def _measure(self, rows: Floats, people: People) -> Columns:
        """Return diagnostics of answers that are not the proposals themselves."""
        return {}

    @classmethod
    def tuning_candidates(cls) -> Sequence[Method]:
        """Return the settings that tuning chooses from; none means that nothing is tuned."""
        return ()


def sureness(model: Model) -> Callable[[Floats], Floats]:
    """Return what says of rows how sure a model is: the logits of networks, or probabilities.

    A linear model is asked for its probabilities, which are of the very rows that it decides on.
    """
    networks = Access.GRADIENTS in model.offers and Access.LINEAR not in model.offers
    return logits_of(model) if networks else model.probabilities


def logits_of(model: Model) -> Callable[[Floats], Floats]:
    """Return what gives the logits of a model that has gradients."""
    if isinstance(model, Network):
        return model.logits
    differentiable = cast("DifferentiableModel", model)
    return lambda rows: differentiable.logits_and_gradients(rows)[0]


def _outcomes(candidates: Candidates, factuals: Floats) -> npt.NDArray[np.object_]:
    rows = candidates.rows
    given = candidates.reasons if candidates.reasons is not None else [""] * len(rows)
    outcomes = np.full(len(rows), FOUND, dtype=object)
    outcomes[(rows == factuals).all(axis=1)] = UNCHANGED
    outcomes[~np.isfinite(rows).all(axis=1)] = NOT_FINITE
    none = np.isnan(rows).all(axis=1)
    outcomes[none] = [reason or NOT_FOUND for reason in np.asarray(given, dtype=object)[none]]
    return outcomes


def _replaced(
    values: npt.NDArray[Any] | None, count: int, where: Integers, new: npt.NDArray[Any]
) -> npt.NDArray[Any]:
    """Return values with others at some places; nothing, NaN or False where there were none."""
    new = np.asarray(new)
    if values is None:
        values = np.full(count, False if new.dtype == bool else np.nan)
    result = values.astype(np.result_type(values, new)) if values.dtype != new.dtype else values
    result[where] = new
    return result


def _spread(values: npt.NDArray[Any], places: Booleans) -> npt.NDArray[Any]:
    """Put values at their places, with NaN (or None) elsewhere."""
    if places.all():
        return np.asarray(values)
    numeric = np.issubdtype(np.asarray(values).dtype, np.number)
    spread = np.full(len(places), np.nan if numeric else None, dtype=float if numeric else object)
    spread[places] = values
    return spread
