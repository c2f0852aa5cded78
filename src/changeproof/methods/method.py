"""The contract of a method: fit once per base model, then answer a batch of people.

An author writes `_search` and, where something is to be prepared, `_prepare`. Everything that is
reported about the answers (found, changed, base-valid, time) is measured here.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, final

import numpy as np
import numpy.typing as npt
import pandas as pd

from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.model import Access, Booleans, Floats, Integers, Model
from changeproof.models.network import NetworkLearner
from changeproof.models.private import PrivateLearner
from changeproof.references import Configurable

FOUND = "found"
NOT_FOUND = "nothing found"
UNCHANGED = "candidate equals the factual"
NOT_FINITE = "candidate is not finite"
FACTUAL_NOT_FINITE = "factual has missing or infinite values"
ALREADY_FAVOURABLE = "factual is already favourable"
BUDGET = "work budget used up"
# Whoever has these outcomes was not searched for.
NOT_ASKED = (FACTUAL_NOT_FINITE, ALREADY_FAVOURABLE)


@dataclass(frozen=True, eq=False)
class Context:
    """What a method may see: a task, the base model on it, the base seed and the kind of model.

    `learner` trains models of the method's own. In a run it refuses the recipes of the changed
    models that the method is evaluated on.
    """

    task: Task
    model: Model
    base_seed: int
    learner: PrivateLearner = field(default_factory=lambda: PrivateLearner(NetworkLearner()))


@dataclass(frozen=True, eq=False)
class Factuals:
    """The people who ask: row ids and standardised rows [people, features].

    `all_places` says where each stands among all who are asked about this base model; a batch
    taken from them by `[...]` keeps it, so that nothing need depend on the batch.
    """

    row_ids: Integers
    rows: Floats
    all_places: Integers | None = None

    @property
    def places(self) -> Integers:
        """Each person's place among all who are asked; without others, that in this batch."""
        return np.arange(len(self.rows)) if self.all_places is None else self.all_places

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, chosen: npt.NDArray[Any] | slice) -> Factuals:
        return Factuals(self.row_ids[chosen], self.rows[chosen], self.places[chosen])


@dataclass(frozen=True, eq=False)
class Candidates:
    """What a search returns: a row per factual, NaN where there is none.

    `reasons` says why a row is NaN (an empty string where it is not); `diagnostics` are columns
    of any kind, one value per factual, that are kept with the counterfactuals.
    """

    rows: Floats
    reasons: Sequence[str] | None = None
    diagnostics: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Counterfactuals:
    """A method's checked answers, one per factual.

    Attributes
    ----------
    row_ids, factuals
        Who asked.
    rows
        The counterfactuals, standardised; NaN where there is none.
    outcomes
        "found", or why there is none.
    base_valid
        Whether the base model calls the counterfactual favourable.
    seconds
        Time per request: that of the batch, shared out evenly; NaN where it is not known.
    diagnostics
        The method's own columns.
    """

    row_ids: Integers
    factuals: Floats
    rows: Floats
    outcomes: npt.NDArray[np.str_]
    base_valid: Booleans
    seconds: Floats
    diagnostics: dict[str, npt.NDArray[Any]]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def found(self) -> Booleans:
        """Which requests were answered with a finite, changed candidate."""
        return np.asarray(self.outcomes == FOUND)

    def to_frame(self, feature_names: Sequence[str]) -> pd.DataFrame:
        """Return a tidy table: row id, outcome, validity, diagnostics, features.

        Times are left out, so that equal answers give equal tables.
        """
        columns: dict[str, npt.NDArray[Any]] = {
            "row_id": self.row_ids,
            "outcome": self.outcomes.astype(object),
            "base_valid": self.base_valid,
        }
        columns |= {f"diagnostic:{name}": values for name, values in self.diagnostics.items()}
        for prefix, rows in (("factual", self.factuals), ("counterfactual", self.rows)):
            columns |= {f"{prefix}:{name}": rows[:, i] for i, name in enumerate(feature_names)}
        return pd.DataFrame(columns)

    @classmethod
    def from_frame(
        cls, frame: pd.DataFrame, feature_names: Sequence[str], search_seconds: float = np.nan
    ) -> Self:
        """Undo `to_frame`; the time of the whole search comes from elsewhere, if it is known."""

        def rows(prefix: str) -> Floats:
            return frame[[f"{prefix}:{name}" for name in feature_names]].to_numpy(np.float64)

        outcomes = np.asarray(frame["outcome"].to_list(), dtype=np.str_)
        return cls(
            frame["row_id"].to_numpy(np.int64),
            rows("factual"),
            rows("counterfactual"),
            outcomes,
            frame["base_valid"].to_numpy(np.bool_),
            _shared_out(search_seconds, ~np.isin(outcomes, NOT_ASKED)),
            {
                str(name).removeprefix("diagnostic:"): frame[name].to_numpy()
                for name in frame.columns
                if str(name).startswith("diagnostic:")
            },
        )


class Method(Configurable, ABC):
    """A way to give recourse on a fixed model.

    Subclasses set `name`, `summary` and `needs`, take their settings as keyword arguments with
    the published values as defaults (kept under the same attribute names), and implement
    `_search`.
    """

    summary: ClassVar[str]
    needs: ClassVar[Access] = Access.PREDICTIONS

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
        outcomes = np.full(len(factuals), FOUND, dtype=object)
        finite = np.asarray(np.isfinite(factuals.rows).all(axis=1))
        outcomes[~finite] = FACTUAL_NOT_FINITE
        adverse = finite.copy()
        adverse[finite] = ~self.context.model.favourable(factuals.rows[finite])
        outcomes[finite & ~adverse] = ALREADY_FAVOURABLE
        asked = factuals[adverse]
        before = asked.rows.copy()
        started = time.perf_counter()
        if len(asked):
            candidates = self._search(asked)
        else:
            candidates = Candidates(np.empty((0, task.n_features)))
        elapsed = time.perf_counter() - started
        self._check(candidates, asked, before)
        rows = np.full(factuals.rows.shape, np.nan)
        rows[adverse] = candidates.rows
        outcomes[adverse] = _outcomes(candidates, asked.rows)
        rows[outcomes != FOUND] = np.nan
        found = np.asarray(outcomes == FOUND, dtype=np.bool_)
        base_valid = np.zeros(len(factuals), dtype=np.bool_)
        base_valid[found] = self.context.model.favourable(rows[found])
        return Counterfactuals(
            factuals.row_ids,
            factuals.rows,
            rows,
            outcomes.astype(np.str_),
            base_valid,
            _shared_out(elapsed, adverse),
            {name: _spread(v, adverse) for name, v in candidates.diagnostics.items()},
        )

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


def _shared_out(seconds: float, asked: Booleans) -> Floats:
    """Return the time per request: none for whom nothing was searched, NaN if it is not known."""
    return np.asarray(asked * (seconds / max(1, int(asked.sum()))), dtype=np.float64)


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
