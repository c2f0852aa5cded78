"""A piece: what is computed and kept as one file, named by all that goes into it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache

from changeproof.datasets.find import find_task
from changeproof.datasets.task import Task
from changeproof.models.find import find_learner
from changeproof.models.learner import Learner
from changeproof.models.network import NetworkLearner
from changeproof.registry import file_name
from changeproof.runs.plan import DEFAULT_MODEL


class Kind(StrEnum):
    """The kinds of pieces, in the order in which they can be made."""

    BASE = "base"
    BANK = "bank"
    TUNING = "tuning"
    COUNTERFACTUALS = "counterfactuals"
    CHANGES = "changes"
    SURVIVAL = "survival"


@dataclass(frozen=True)
class Subject:
    """Whom pieces are about: a task and the kind of model, as workers find them again.

    `alternatives` is JSON of the parameter grid and the replacements.
    """

    dataset: str
    source: str = field(compare=False)
    model: str = DEFAULT_MODEL
    alternatives: str = "{}"

    @property
    def task(self) -> Task:
        """The task."""
        return find_task(self.source)

    @property
    def learner(self) -> Learner:
        """The kind of model."""
        return _learner(self.model, self.alternatives)

    @property
    def keeps_networks(self) -> bool:
        """Whether the models are networks of ours and nothing else."""
        return _keeps_networks(self.model, self.alternatives)


@cache
def _learner(model: str, alternatives: str) -> Learner:
    return find_learner(model, **json.loads(alternatives))


@cache
def _keeps_networks(model: str, alternatives: str) -> bool:
    if model.startswith("object:"):
        return False
    learner = _learner(model, alternatives)
    return isinstance(learner, NetworkLearner) and not learner.replacements()


@dataclass(frozen=True)
class Piece:
    """One finished or unfinished bit of a run, named by everything that goes into it.

    `subject` is the family of a bank or the method of anything later; `family` is set where a
    method's survival is kept family by family. `factuals` limits the requests, `rows` names
    them; `table` is the file of counterfactuals that come from elsewhere. `cost` is a rough
    guess of the seconds that it takes, for progress bars and for starting long pieces first.
    """

    kind: Kind
    about: Subject
    base_seed: int
    subject: str
    fingerprint: str
    inputs: tuple[Piece, ...] = field(default=(), repr=False)
    family: str = ""
    factuals: int = 0
    rows: tuple[int, ...] | None = field(default=None, repr=False)
    table: str = field(default="", compare=False)
    cost: float = field(default=0.01, compare=False)

    @property
    def dataset(self) -> str:
        """The name of the task."""
        return self.about.dataset

    @property
    def suffix(self) -> str:
        """The ending of its file: networks are safetensors, tables Parquet."""
        networks = self.kind in (Kind.BASE, Kind.BANK) and self.about.keeps_networks
        return "safetensors" if networks else "parquet"

    @property
    def together(self) -> str:
        """Pieces that share this share work, and are computed by the same worker."""
        if self.family:
            return f"{self.dataset}/{self.base_seed}/{self.family}"
        return self.file_stem

    @property
    def label(self) -> str:
        """What people call it."""
        names = [self.dataset, str(self.base_seed), self.kind.value, self.subject]
        under = [f"under {self.family}"] if self.family and self.family != self.subject else []
        return " ".join(word for word in [*names, *under] if word)

    @property
    def file_stem(self) -> str:
        """Its file, relative to the store, up to the checksum."""
        family = "" if self.family == self.subject else self.family
        words = (self.kind.value, file_name(self.subject), file_name(family))
        name = "-".join(word for word in words if word)
        return f"{self.dataset}/{self.base_seed}/{name}.{self.fingerprint}"
