"""A piece: what is computed and kept as one file, named by all that goes into it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum


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


# Tables are kept as Parquet, models and arrays as safetensors.
TABLES = (Kind.TUNING, Kind.COUNTERFACTUALS, Kind.RENEWALS)
SUFFIXES = dict.fromkeys(TABLES, "parquet")


@dataclass(frozen=True)
class Piece:
    """One finished or unfinished bit of a run.

    `method` and `family` say whose it is, where it is somebody's. `factuals` limits the requests,
    `rows` names them, and `realisable` says that people are only told what they can do. `alone`
    says that it shares no work with others of its family. `cost` is a rough guess of the seconds
    that it takes, for progress bars and for starting long pieces first.
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
    realisable: bool = field(default=False, compare=False, repr=False)
    alone: bool = field(default=False, compare=False, repr=False)
    cost: float = field(default=0.01, compare=False)

    @property
    def whose(self) -> str:
        """The method or else the family that it belongs to; "" for a base model."""
        return self.method or self.family

    @property
    def needed(self) -> tuple[Piece, ...]:
        """Everything that it is computed from: its inputs, and theirs."""
        every = [piece for needed in self.inputs for piece in (needed, *needed.needed)]
        return tuple(dict.fromkeys(every))

    @property
    def suffix(self) -> str:
        """The ending of its file."""
        return SUFFIXES.get(self.kind, "safetensors")

    @property
    def together(self) -> str:
        """Pieces that share this share work, and are computed by the same worker."""
        if self.family and not self.alone:
            return f"{self.dataset}/{self.base_seed}/{self.family}"
        return self.file_stem

    @property
    def label(self) -> str:
        """What people call it."""
        under = f"under {self.family}" if self.method and self.family else ""
        words = (self.dataset, str(self.base_seed), self.kind.value, self.whose, under)
        return " ".join(word for word in words if word)

    @property
    def file_stem(self) -> str:
        """Its file, relative to the store, up to the checksum."""
        words = (self.kind.value, self.method, self.family)
        name = "-".join(_file_name(word) for word in words if word)
        return f"{self.dataset}/{self.base_seed}/{name}.{self.fingerprint}"


def _file_name(reference: str) -> str:
    """Return a reference as a part of a file's name on any system, and not too long."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", reference)[:80].strip("-")
