"""Checked answers: who asked, what they are told, and what was measured of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from changeproof.feasible.actions import OUTSIDE
from changeproof.model import Booleans, Floats, Integers

FOUND = "found"
NOT_FOUND = "nothing found"
UNCHANGED = "candidate equals the factual"
NOT_FINITE = "candidate is not finite"
FACTUAL_NOT_FINITE = "factual has missing or infinite values"
ALREADY_FAVOURABLE = "factual is already favourable"
BUDGET = "work budget used up"
# Whoever has these outcomes was not searched for.
NOT_ASKED = (FACTUAL_NOT_FINITE, ALREADY_FAVOURABLE)
# So many rows are shown in a notebook.
SHOWN = 10
NOTHING_FEASIBLE = "no feasible row that the model accepts was found"
# Columns of a table: what a method says of its answers, and what its own proposals were like.
DIAGNOSTIC, REALISED = "diagnostic:", "realised:"


@dataclass(frozen=True, eq=False)
class Realisation:
    """A method's own proposals, before they were put on feasible rows; one per factual.

    `raw_breach` says how a proposal was not feasible ("" where it was, or where there was none),
    the others whether the base model called it favourable, and how far it was.
    """

    raw_breach: npt.NDArray[np.object_]
    raw_base_valid: Booleans
    raw_distance: Floats


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
    realisation
        What the method's own proposals were like; None where answers are tested as published.
    feature_names
        What the columns of factuals and rows are called; none where nobody said.
    """

    row_ids: Integers
    factuals: Floats
    rows: Floats
    outcomes: npt.NDArray[np.str_]
    base_valid: Booleans
    seconds: Floats
    diagnostics: dict[str, npt.NDArray[Any]]
    realisation: Realisation | None = None
    feature_names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def asking(self) -> Booleans:
        """Who needs advice at all: not those whom the base model favours as they are."""
        return np.asarray(self.outcomes != ALREADY_FAVOURABLE)

    @property
    def found(self) -> Booleans:
        """Which requests were answered with a finite, changed candidate."""
        return np.asarray(self.outcomes == FOUND)

    @property
    def why_not(self) -> list[str]:
        """Why people have no advice, in plain words; nothing for those who have some."""
        how = self.realisation
        breaches = [""] * len(self) if how is None else how.raw_breach.tolist()
        return [
            "" if outcome == FOUND else why_not(outcome, str(breach))
            for outcome, breach in zip(self.outcomes.tolist(), breaches, strict=True)
        ]

    @property
    def certified(self) -> Booleans | None:
        """Which answers the method certifies; None for a method that certifies nothing."""
        if "certified" not in self.diagnostics:
            return None
        certified = self.diagnostics["certified"] == True  # noqa: E712
        return np.asarray(certified & self.found)

    def first(self, count: int) -> Self:
        """Return the answers to those who asked first."""

        def cut(value: Any) -> Any:
            if isinstance(value, np.ndarray):
                return value[:count]
            if isinstance(value, dict):
                return {name: cut(values) for name, values in value.items()}
            return Realisation(**cut(vars(value))) if isinstance(value, Realisation) else value

        return replace(self, **cut(vars(self)))

    def __repr__(self) -> str:
        return (
            f"<Counterfactuals: {len(self)} people, {int(self.found.sum())} answered, "
            f"{int(self.base_valid.sum())} accepted by the base model>"
        )

    def _repr_html_(self) -> str:
        shown = self.to_frame().head(SHOWN)
        more = f"<p>… and {len(self) - SHOWN} more</p>" if len(self) > SHOWN else ""
        return f"<p>{escape(repr(self))}</p>{shown.to_html(index=False)}{more}"

    def to_frame(self, feature_names: Sequence[str] | None = None) -> pd.DataFrame:
        """Return a tidy table: row id, outcome, validity, diagnostics, features.

        Times are left out, so that equal answers give equal tables.

        Parameters
        ----------
        feature_names
            What to call the features, if not what they are called anyway.
        """
        if feature_names is None:
            numbered = [f"x{number}" for number in range(self.rows.shape[1])]
            feature_names = self.feature_names or numbered
        columns: dict[str, npt.NDArray[Any]] = {
            "row_id": self.row_ids,
            "outcome": self.outcomes.astype(object),
            "base_valid": self.base_valid,
        }
        columns |= {DIAGNOSTIC + name: values for name, values in self.diagnostics.items()}
        if self.realisation is not None:
            columns |= {REALISED + name: values for name, values in vars(self.realisation).items()}
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

        def columns(prefix: str) -> dict[str, npt.NDArray[Any]]:
            names = [name for name in map(str, frame.columns) if name.startswith(prefix)]
            return {name.removeprefix(prefix): frame[name].to_numpy() for name in names}

        outcomes = np.asarray(frame["outcome"].to_list(), dtype=np.str_)
        outside = np.char.find(outcomes, OUTSIDE) >= 0
        asked = np.asarray(~np.isin(outcomes, NOT_ASKED) & ~outside)
        realised = columns(REALISED)
        return cls(
            frame["row_id"].to_numpy(np.int64),
            rows("factual"),
            rows("counterfactual"),
            outcomes,
            frame["base_valid"].to_numpy(np.bool_),
            np.asarray(asked * (search_seconds / max(1, int(asked.sum()))), dtype=np.float64),
            columns(DIAGNOSTIC),
            Realisation(**realised) if realised else None,
            tuple(feature_names),
        )


PLAIN = {
    NOT_FOUND: "the method found nothing",
    UNCHANGED: "the method returned what this person already has",
    NOT_FINITE: "the method's answer holds values that are not numbers",
    FACTUAL_NOT_FINITE: "values of this person are missing",
    ALREADY_FAVOURABLE: "today's model already decides in this person's favour",
    BUDGET: "the search used up its budget of work before it found anything",
    NOTHING_FEASIBLE: "no change was found that this person may make and the model accepts",
}
# All that changes are parts of categories.
ONLY_PARTS = (
    "No feature changes that could be named: the tested row differs only in parts of categories, "
    "which nobody can be told."
)
IN_PARTS = "The tested row is between categories, which nobody can be told: {features}."


def in_parts(features: Sequence[str]) -> str:
    """Return a sentence about features that have a category in part."""
    return IN_PARTS.format(features=", ".join(features))


def why_not(outcome: str, breach: str = "") -> str:
    """Return why there is no advice; `breach` is how the method's proposal was not feasible."""
    if outcome in PLAIN:
        return PLAIN[outcome]
    return f"the answer breaks a rule: {outcome}" if breach else outcome
