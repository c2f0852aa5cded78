"""The contract of a method: fit once per base model, then answer a batch of people.

An author writes `_search` and, where something is to be prepared, `_prepare`. Everything that is
reported about the answers (found, changed, realisable, base-valid, time) is measured here.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, final

import numpy as np
import numpy.typing as npt

from changeproof.datasets.actions import Actions
from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.methods.answers import ALREADY_FAVOURABLE as ALREADY_FAVOURABLE
from changeproof.methods.answers import BUDGET as BUDGET
from changeproof.methods.answers import FACTUAL_NOT_FINITE as FACTUAL_NOT_FINITE
from changeproof.methods.answers import FOUND, NOTHING_LEFT, Realisation, shared_out
from changeproof.methods.answers import NOT_FINITE as NOT_FINITE
from changeproof.methods.answers import NOT_FOUND as NOT_FOUND
from changeproof.methods.answers import UNCHANGED as UNCHANGED
from changeproof.methods.answers import Counterfactuals as Counterfactuals
from changeproof.methods.profile import Cost, Promise, WarmUp
from changeproof.methods.realising import realised
from changeproof.methods.search.few_features import focused
from changeproof.model import Access, Booleans, Floats, Integers, Model
from changeproof.models.network import NetworkLearner
from changeproof.models.private import PrivateLearner
from changeproof.plugins import Configurable


@dataclass(frozen=True, eq=False)
class Context:
    """What a method may see: a task, the base model on it, the base seed and the kind of model.

    `learner` trains models of the method's own. In a run it refuses the recipes of the changed
    models that the method is evaluated on. `actions` says what people may be told; it is None
    where answers are tested as published, whatever they are. On a wide table they say which
    features searches look at (see `focused`).
    """

    task: Task
    model: Model
    base_seed: int
    learner: PrivateLearner = field(default_factory=lambda: PrivateLearner(NetworkLearner()))
    actions: Actions | None = None

    def __post_init__(self) -> None:
        if self.actions is not None:
            actions = focused(self.actions, self.model, self.task)
            object.__setattr__(self, "actions", actions)


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
    """What a search returns: a row per factual, NaN where there is none.

    `reasons` says why a row is NaN (an empty string where it is not); `diagnostics` are columns
    of any kind, one value per factual, that are kept with the counterfactuals.
    """

    rows: Floats
    reasons: Sequence[str] | None = None
    diagnostics: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)


class Method(Configurable, ABC):
    """A way to give recourse on a fixed model.

    Subclasses set `name`, `summary` and `needs`, take their settings as keyword arguments with
    the published values as defaults (kept under the same attribute names), and implement
    `_search`.
    """

    summary: ClassVar[str]
    # What people read; the name where it is empty.
    label: ClassVar[str] = ""
    cost: ClassVar[Cost] = Cost()
    promise: ClassVar[Promise | None] = None
    warm_up: ClassVar[WarmUp | None] = None
    needs: ClassVar[Access] = Access.PREDICTIONS
    # Whether answers that people may not be told are mended; counterfactuals that were told by
    # somebody else are not.
    realises: ClassVar[bool] = True
    # Whether it trains models of its own, which not every kind of model can do.
    trains: ClassVar[bool] = False

    context: Context

    @final
    def fit(self, context: Context) -> Self:
        """Get ready for one base model."""
        if context.model.offers < self.needs:
            raise InputError(
                f"method {self.name!r} needs {self.needs} of a model; "
                f"this one offers {context.model.offers}"
            )
        self.context = context
        self._prepare()
        return self

    @final
    def generate(self, factuals: Factuals) -> Counterfactuals:
        """Answer a batch of factuals, and check every answer."""
        if not hasattr(self, "context"):
            raise InputError(f"method {self.name!r} must be fitted before it generates")
        task = self.context.task
        if factuals.rows.ndim != 2 or factuals.rows.shape[1] != task.n_features:
            raise InputError(
                f"method {self.name!r}: expected factuals of shape (n, {task.n_features}); "
                f"got {factuals.rows.shape}"
            )
        outcomes = self._need_not_ask(factuals)
        asking = np.asarray(outcomes == FOUND, dtype=np.bool_)
        asked = factuals[asking]
        before = asked.rows.copy()
        started = time.perf_counter()
        candidates = self._candidates_of(asked)
        elapsed = time.perf_counter() - started
        self._check(candidates, asked, before)
        rows = np.full(factuals.rows.shape, np.nan)
        rows[asking] = candidates.rows
        outcomes[asking] = _outcomes(candidates, asked.rows)
        rows[outcomes != FOUND] = np.nan
        diagnostics = {name: _spread(v, asking) for name, v in candidates.diagnostics.items()}
        realisation = None
        if self.context.actions is not None:
            raw = rows.copy()
            realisation = self._realise(self.context.actions, factuals, rows, outcomes)
            if "certified" in diagnostics:
                # What was certified is the method's own row, to the byte.
                same = np.asarray((rows == raw).all(axis=1))
                diagnostics["certified"] = diagnostics["certified"].astype(bool) & same
        found = np.asarray(outcomes == FOUND, dtype=np.bool_)
        base_valid = np.zeros(len(factuals), dtype=np.bool_)
        base_valid[found] = self.context.model.favourable(rows[found])
        return Counterfactuals(
            factuals.row_ids,
            factuals.rows,
            rows,
            outcomes.astype(np.str_),
            base_valid,
            shared_out(elapsed, asking),
            diagnostics,
            realisation,
            tuple(map(str, self.context.task.feature_names)),
        )

    def _need_not_ask(self, factuals: Factuals) -> npt.NDArray[np.object_]:
        """Return for everybody why nothing is searched for them, or "found", to begin with."""
        outcomes = np.full(len(factuals), FOUND, dtype=object)
        finite = np.asarray(np.isfinite(factuals.rows).all(axis=1))
        outcomes[~finite] = FACTUAL_NOT_FINITE
        adverse = finite.copy()
        adverse[finite] = ~self.context.model.favourable(factuals.rows[finite])
        outcomes[finite & ~adverse] = ALREADY_FAVOURABLE
        if self.context.actions is not None:
            asked = factuals[adverse]
            filled = self.context.task.filled_of(asked.row_ids, asked.rows)
            reasons = self.context.actions.refusals(asked.rows, filled)
            outcomes[adverse] = [reason or FOUND for reason in reasons]
        return outcomes

    def _candidates_of(self, asked: Factuals) -> Candidates:
        """Return what is found for people; those who keep other features are searched apart."""
        if not len(asked):
            return Candidates(np.empty((0, self.context.task.n_features)))
        kept = self.context.task.kept_of(asked.row_ids, asked.rows)
        if self.context.actions is None or kept is None or not kept.any():
            return self._search(asked)
        parts, order = [], []
        for actions, who in self.context.actions.by_kept(kept):
            method = copy(self)
            method.context = replace(self.context, actions=actions)
            method._follow(method.context.actions or actions)
            before = asked[who]
            parts.append(method._search(before))
            self._check(parts[-1], before, asked.rows[who])
            order.append(who)
        return _joined(parts, np.concatenate(order).argsort(kind="stable"))

    def _realise(
        self,
        actions: Actions,
        factuals: Factuals,
        rows: Floats,
        outcomes: npt.NDArray[np.object_],
    ) -> Realisation:
        """Make rows realisable, in place, or say in their outcomes why they are not."""
        found = np.flatnonzero(outcomes == FOUND)
        how = np.full(len(rows), "", dtype=object)
        raw_valid, distance = np.zeros(len(rows), dtype=np.bool_), np.full(len(rows), np.nan)
        distance[found] = self.context.task.distances(factuals.rows[found], rows[found])
        kept = self.context.task.kept_of(factuals.row_ids[found], factuals.rows[found])
        everyone = [(actions, np.arange(len(found)))]
        for rules, who in everyone if kept is None else actions.by_kept(kept):
            places = found[who]
            own, people = rows[places], factuals.rows[places]
            told, broken, valid = realised(rules, self.context.model, people, own)
            if not self.realises:
                told = own
            for i, place in enumerate(places.tolist()):
                if (told[i] == people[i]).all():
                    outcomes[place] = NOTHING_LEFT
            still = rules.breaches(people, told)
            for i in np.flatnonzero(still.any).tolist():
                outcomes[places[i]] = still.words[i]
            rows[places] = told
            how[places], raw_valid[places] = broken.first, valid
        rows[outcomes != FOUND] = np.nan
        return Realisation(how, raw_valid, distance)

    def _follow(self, actions: Actions) -> None:
        """Search by other rules from now on: for methods that keep them beside the context."""

    def _prepare(self) -> None:
        """Do what is done once per base model."""

    @abstractmethod
    def _search(self, factuals: Factuals) -> Candidates:
        """Return a candidate for every factual; all of them are finite and adverse."""

    @classmethod
    def tuning_candidates(cls) -> Sequence[Method]:
        """Return the settings that tuning chooses from; none means that nothing is tuned."""
        return ()

    def _check(self, candidates: Candidates, asked: Factuals, before: Floats) -> None:
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
        columns = dict(candidates.diagnostics)
        if candidates.reasons is not None:
            columns["reasons"] = np.asarray(candidates.reasons)
        for name, values in columns.items():
            if len(values) != len(asked):
                raise InputError(
                    f"method {self.name!r} returned {len(values)} values of {name!r} "
                    f"for {len(asked)} factuals"
                )


def _joined(parts: Sequence[Candidates], order: Integers) -> Candidates:
    """Return candidates of several batches as those of one, in another order."""
    rows = np.concatenate([part.rows for part in parts])[order]
    reasons = [reason for part in parts for reason in part.reasons or [""] * len(part.rows)]
    names = [name for name in parts[0].diagnostics if all(name in p.diagnostics for p in parts)]
    diagnostics = {
        name: np.concatenate([np.asarray(part.diagnostics[name]) for part in parts])[order]
        for name in names
    }
    return Candidates(rows, [reasons[place] for place in order.tolist()], diagnostics)


def _outcomes(candidates: Candidates, factuals: Floats) -> npt.NDArray[np.object_]:
    rows = candidates.rows
    given = candidates.reasons if candidates.reasons is not None else [""] * len(rows)
    outcomes = np.full(len(rows), FOUND, dtype=object)
    outcomes[(rows == factuals).all(axis=1)] = UNCHANGED
    outcomes[~np.isfinite(rows).all(axis=1)] = NOT_FINITE
    none = np.isnan(rows).all(axis=1)
    outcomes[none] = [reason or NOT_FOUND for reason in np.asarray(given, dtype=object)[none]]
    return outcomes


def _spread(values: npt.NDArray[Any], places: Booleans) -> npt.NDArray[Any]:
    """Put values at their places, with NaN (or None) elsewhere."""
    if places.all():
        return np.asarray(values)
    numeric = np.issubdtype(np.asarray(values).dtype, np.number)
    spread = np.full(len(places), np.nan if numeric else None, dtype=float if numeric else object)
    spread[places] = values
    return spread
