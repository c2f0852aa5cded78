"""Pieces: what a run computes and keeps, one file each, and the kinds of them.

A kind has one entry here, which inputs it takes and how it is made in `work`, and how it is read in
`results`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

# Between a method's name and the number of a further choice.
CHOICE = " #"


def further_choice(method: str, number: int) -> str:
    """Return the name of a method's second, third, … piece of advice to everybody.

    >>> further_choice("rbr", 2)
    'rbr #2'
    """
    return f"{method}{CHOICE}{number}"


def first_choice(name: str) -> str:
    """Return the method that an answer is of, whichever choice it is."""
    method, sign, number = name.rpartition(CHOICE)
    return method if sign and number.isdecimal() else name


class Kind(StrEnum):
    """The kinds of pieces, in the order in which they can be made."""

    BASE = "base"
    BANK = "bank"
    TUNING = "tuning"
    COUNTERFACTUALS = "counterfactuals"
    SURVIVAL = "survival"
    LIMIT = "limit"
    LETTERS = "letters"
    RENEWALS = "renewals"
    REFIT = "refit"
    IMPRECISE = "imprecise"
    REASONS = "reasons"


class Form(NamedTuple):
    """What a kind is called and how it is kept.

    `holds` are the columns of a table, which is a Parquet file, or the arrays of a safetensors
    file. `record` is a key of the JSON record that is kept with models.
    """

    label: str
    holds: frozenset[str]
    table: bool = False
    record: str = ""
    singular: str = ""

    @property
    def suffix(self) -> str:
        return "parquet" if self.table else "safetensors"


# The record of models, and what else is kept with them, among the arrays of their file.
RECORD, EXTRA = "record", "extra."
# What the limit of a sequence is called among the arrays of the limit, before the sequence's name.
FUTURES = "futures."
FORMS = {
    Kind.BASE: Form(
        "base models",
        frozenset({RECORD, f"{EXTRA}probabilities"}),
        record="balanced_accuracy",
        singular="base model",
    ),
    Kind.BANK: Form("changed models", frozenset({RECORD}), record="table"),
    Kind.TUNING: Form("tuning", frozenset({"settings", "chosen"}), table=True),
    Kind.COUNTERFACTUALS: Form(
        "counterfactuals", frozenset({"row_id", "outcome", "base_valid"}), table=True
    ),
    Kind.SURVIVAL: Form("survival", frozenset({"row_id", "survived"})),
    Kind.LIMIT: Form("limit", frozenset({"row_id", "rows"}), singular="search for the limit"),
    Kind.LETTERS: Form("letters", frozenset({"row_id", "scores", "thresholds", "lower"})),
    Kind.RENEWALS: Form("renewals", frozenset({"row_id"}), table=True),
    Kind.REFIT: Form(
        "refits",
        frozenset({RECORD, *(EXTRA + name for name in ("row_id", "judged", "refit"))}),
        record="reason",
        singular="refit",
    ),
    Kind.IMPRECISE: Form("imprecise following", frozenset({"row_id", "held"})),
    Kind.REASONS: Form(
        "reasons",
        frozenset({"row_id", "rows", "lengths", "places", "without", "low"}),
        singular="search for reasons",
    ),
}


class PieceKey(NamedTuple):
    """Which piece of a run: methods and families are "" where it belongs to none."""

    kind: Kind
    dataset: str
    base_seed: int
    method: str = ""
    family: str = ""


@dataclass(frozen=True)
class Piece:
    """One finished or unfinished bit of a run.

    `factuals` is how many people are asked at most, `feasible` whether they are told only what they
    can do. `shares_models`: its changed models are not kept, so that all that need them are made
    together. `cost` is a rough guess of its seconds, for progress bars and for starting long pieces
    first.
    """

    kind: Kind
    dataset: str
    base_seed: int
    fingerprint: str
    method: str = ""
    family: str = ""
    # What follows is part of the fingerprint, or says how to compute the piece.
    inputs: tuple[Piece, ...] = field(default=(), compare=False, repr=False)
    factuals: int = field(default=0, compare=False)
    rows: tuple[int, ...] | None = field(default=None, compare=False, repr=False)
    feasible: bool = field(default=False, compare=False, repr=False)
    shares_models: bool = field(default=True, compare=False, repr=False)
    cost: float = field(default=0.01, compare=False)

    @property
    def key(self) -> PieceKey:
        return PieceKey(self.kind, self.dataset, self.base_seed, self.method, self.family)

    @property
    def subject(self) -> str:
        """The method or else the family that it belongs to; "" for a base model."""
        return self.method or self.family

    @property
    def needed(self) -> tuple[Piece, ...]:
        """Everything that it is computed from: its inputs, and theirs."""
        every = [piece for needed in self.inputs for piece in (needed, *needed.needed)]
        return tuple(dict.fromkeys(every))

    @property
    def job(self) -> str:
        """The job that computes it; pieces of one job share work."""
        if self.family and self.shares_models:
            return f"{self.dataset}/{self.base_seed}/{self.family}"
        if self.kind is Kind.COUNTERFACTUALS:
            # Further choices follow the first, with the same fitted method.
            first = (each for each in self.inputs if each.kind is Kind.COUNTERFACTUALS)
            return next(first, self).file_stem
        if self.kind is Kind.REFIT:
            return f"{self.kind}/{self.dataset}/{self.base_seed}"
        return self.file_stem

    @property
    def label(self) -> str:
        under = f"under {self.family}" if self.method and self.family else ""
        words = (self.dataset, str(self.base_seed), self.kind.value, self.subject, under)
        return " ".join(word for word in words if word)

    @property
    def file_stem(self) -> str:
        """Its file, relative to the store, up to the checksum."""
        words = (self.kind.value, self.method, self.family)
        name = "-".join(_file_name(word) for word in words if word)
        return f"{self.dataset}/{self.base_seed}/{name}.{self.fingerprint}"


def in_order(pieces: Iterable[Piece]) -> list[Piece]:
    """Return pieces by kind, each after its inputs."""
    order = list(Kind)
    return sorted(pieces, key=lambda piece: order.index(piece.kind))


def _file_name(reference: str) -> str:
    """Return a reference as a part of a file's name on any system, and not too long."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", reference)[:80].strip("-")
