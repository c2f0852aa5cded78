"""The real change: the models that came after today's, as they are."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from changeproof.changes import MARK as MARK
from changeproof.changes import SUCCESSOR as SUCCESSOR
from changeproof.changes.family import BaseModel, Family, Variant
from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.fingerprints.things import class_fingerprint
from changeproof.models.learner import Learner

if TYPE_CHECKING:
    from changeproof.changes.came_next import Successor


class Successors(Family):
    """What really came next: finished models, used as they are.

    Parameters
    ----------
    records
        What plans say of the successors, by name.
    models
        The successors, where they are at hand: a run can be read without them.
    """

    name = SUCCESSOR
    summary = "the models that came after today's, as they are"
    source = "changeproof, docs/successor.md"
    trains = False
    real = True

    def __init__(
        self, *, records: Mapping[str, str], models: Mapping[str, Successor] | None = None
    ) -> None:
        self.records, self.models = dict(records), models

    @classmethod
    def of(cls, models: Mapping[str, Successor]) -> Successors:
        """Return the family of successors that are at hand."""
        return cls(records={name: each.record for name, each in models.items()}, models=models)

    def __repr__(self) -> str:
        return f"Successors({', '.join(self.records)})"

    @property
    def fingerprint(self) -> str:
        """Hash of the code, and of what the successors are."""
        digest = hashlib.sha256(repr(self.records).encode()).hexdigest()
        return f"{class_fingerprint(type(self))} {digest}"

    @property
    def at_hand(self) -> Mapping[str, Successor]:
        """The successors themselves."""
        if self.models is None:
            names = ", ".join(self.records)
            raise InputError(f"the successors {names} are from another session; pass them again")
        return self.models

    @property
    def only_letters(self) -> str:
        """Why nothing but the letters can be put to all successors; "" if all can."""
        reasons = [each.only_letters for each in (self.models or {}).values()]
        return next(filter(None, reasons), "")

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        """Return the successors, each a level of its own."""
        return [Variant(name, 0, each.model(task)) for name, each in self.at_hand.items()]
