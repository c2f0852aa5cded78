"""The real change: the models that came after today's, used as they are.

A successor is a fitted model, or a table of the scores that it gave the letters.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from changeproof.adapters.scores import ScoreTable
from changeproof.changes import HASH_SIGN, SUCCESSOR
from changeproof.changes.family import BaseModel, Family, Label, Variant
from changeproof.datasets.task import Task
from changeproof.datasets.threshold import Threshold
from changeproof.errors import InputError
from changeproof.fingerprints.things import class_fingerprint
from changeproof.methods.method import Method
from changeproof.model import Model
from changeproof.models.find import as_shipped, find_shipped
from changeproof.models.learner import Learner
from changeproof.models.shipped import ShippedLearner, ShippedModel, check_decides
from changeproof.models.thresholds import at_threshold

SCORES = "scores:"


@dataclass(frozen=True, eq=False)
class Successor:
    """A model that came after today's, or its scores of the letters, with its threshold."""

    source: ShippedModel | ScoreTable
    threshold: Threshold | None

    @property
    def record(self) -> str:
        """Its entry in plans: where it is from, its threshold and its hash."""
        at = "" if self.threshold is None else f"@{self.threshold}"
        return f"{self.source.reference}{at}{HASH_SIGN}{self.source.digest[:12]}"

    @property
    def only_letters(self) -> str:
        """Why it can judge nothing but the letters; "" if it can judge any row."""
        if not isinstance(self.source, ScoreTable):
            return ""
        return f"{self.source.name} is a table of scores, which is known on the letters only"

    def model(self, task: Task) -> Model:
        return self.source.model(task, self.threshold)

    def learner(self, task: Task) -> Learner:
        """Return it as a learner, for methods that train models of their own."""
        if isinstance(self.source, ScoreTable):
            raise InputError(self.only_letters)
        decides_at = self.source.decides_at(task, self.threshold)
        return at_threshold(ShippedLearner(self.source, task), decides_at)

    def reason_against(self, method: Method, task: Task) -> str:
        """Return why a method cannot renew advice under it; "" if it can."""
        if isinstance(self.source, ScoreTable):
            return self.only_letters
        offers = self.model(task).offers
        if method.needs not in offers:
            return f"{method.name} needs {method.needs} of a model; this one offers {offers}"
        reason = self.source.refits(task).traits.no_training if method.trains else ""
        return f"{method.name} trains models of its own; {reason}" if reason else ""


class Successors(Family):
    """What really came next: finished models, used as they are.

    Parameters
    ----------
    records
        What plans say of the successors, by name.
    models
        The successors themselves, if they were loaded: a run can be read without them.
    """

    name = SUCCESSOR
    label = Label("Successor", "succ.", "Succes- sor")
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
        return cls(records={name: each.record for name, each in models.items()}, models=models)

    def __repr__(self) -> str:
        return f"Successors({', '.join(self.records)})"

    @property
    def fingerprint(self) -> str:
        digest = hashlib.sha256(repr(self.records).encode()).hexdigest()
        return f"{class_fingerprint(type(self))} {digest}"

    @property
    def at_hand(self) -> Mapping[str, Successor]:
        if self.models is None:
            names = ", ".join(self.records)
            raise InputError(f"the successors {names} are from another session; pass them again")
        return self.models

    @property
    def only_letters(self) -> str:
        """Why a successor can judge nothing but the letters; "" if all can judge any row."""
        reasons = [each.only_letters for each in (self.models or {}).values()]
        return next(filter(None, reasons), "")

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        return [Variant(name, 0, each.model(task)) for name, each in self.at_hand.items()]


def read_successors(
    given: Mapping[str, Any],
    task: Task,
    letters: Mapping[str, pd.DataFrame],
    threshold: str | None = None,
    id_column: str | None = None,
) -> Successors:
    """Return successors that are given by name, checked on the task.

    Each is a reference ("python:module:name", "onnx:FILE", "scores:FILE", with @THRESHOLD appended
    for a different threshold), a fitted estimator, a function of a DataFrame, a DataFrame of
    scores, or one of these with a threshold. `threshold` is that of all others, `letters` the
    tables of `read_counterfactuals`, `id_column` the column of score tables that has the ids.
    """
    models = {}
    for name, thing in given.items():
        source, own = _with_threshold(thing)
        at = own if own is not None else threshold
        found: ShippedModel | ScoreTable
        if isinstance(source, str) and source.startswith(SCORES):
            found = ScoreTable.read(source.removeprefix(SCORES), name, id_column)
        elif isinstance(source, pd.DataFrame):
            found = ScoreTable.read(source, name, id_column)
        elif isinstance(source, str):
            found = find_shipped(source, what="successor", other_forms=["scores:FILE"])
        else:
            found = as_shipped(source)
        if isinstance(found, ScoreTable):
            found = found.of_letters(task, _the_letters(found, letters))
        models[name] = Successor(found, None if at is None else Threshold.of(at))
        model = models[name].model(task)
        if isinstance(found, ShippedModel):
            check_decides(name, model, task)
    return Successors.of(models)


def _the_letters(scores: ScoreTable, letters: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    if len(letters) != 1:
        raise InputError(
            f"{scores.reference} has scores of letters; expected one table of counterfactuals that "
            f"they are about, and there {'is none' if not letters else f'are {len(letters)}'}"
        )
    (table,) = letters.values()
    return table


def split_threshold(reference: str) -> tuple[str, str | None]:
    """Return a reference without the threshold behind it, and the threshold.

    >>> split_threshold("pickle:next.pkl@0.55")
    ('pickle:next.pkl', '0.55')
    """
    before, sign, after = reference.rpartition("@")
    if not sign:
        return reference, None
    try:
        Threshold.of(after)
    except InputError:
        # A file, a folder or an address with an @ in its name, or an alias of MLflow's.
        if "." in after or "/" in after or reference.startswith("mlflow:"):
            return reference, None
        raise
    return before, after


def _with_threshold(thing: Any) -> tuple[Any, str | None]:
    if isinstance(thing, tuple):
        source, threshold = thing
        return source, None if threshold is None else str(Threshold.of(threshold))
    return split_threshold(thing) if isinstance(thing, str) else (thing, None)
