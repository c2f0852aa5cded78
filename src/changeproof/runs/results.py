"""Reading a finished run."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import balanced_accuracy_score

from changeproof.changes.bank import Bank
from changeproof.datasets.task import Task
from changeproof.errors import InputError, unknown
from changeproof.evaluation.survival import unpack_bits
from changeproof.methods.method import Counterfactuals
from changeproof.model import Booleans
from changeproof.networks.network import Network
from changeproof.networks.stack import NetworkStack
from changeproof.runs.directory import read_plan
from changeproof.runs.piece import Kind, Piece
from changeproof.runs.pieces import plan_pieces, plan_subjects
from changeproof.runs.plan import Plan
from changeproof.runs.store import Store
from changeproof.runs.timings import piece_efforts, timings_table


class Results:
    """Everything that a run has computed, piece by piece.

    Parameters
    ----------
    folder
        The run directory.
    plan
        What of it to read; all of the directory's plan by default.

    Examples
    --------
    >>> results = Results("runs/paper")
    >>> answers = results.counterfactuals("heloc", 2026, "wachter")
    >>> survived = results.survival("heloc", 2026, "wachter")  # [requests, changed networks]
    """

    def __init__(self, folder: str | Path, plan: Plan | None = None) -> None:
        self.folder = Path(folder)
        self.plan: Plan = plan if plan is not None else read_plan(self.folder)
        self._store = Store(self.folder)
        self._about = {about.dataset: about for about in plan_subjects(self.plan, self.folder)}
        self._pieces = {
            (piece.kind, piece.dataset, piece.base_seed, piece.subject, piece.family): piece
            for piece in plan_pieces(self.plan, self.folder)
        }
        self._variants: dict[tuple[str, int], pd.DataFrame] = {}

    def __repr__(self) -> str:
        return f"Results({str(self.folder)!r})"

    @property
    def shown(self) -> Plan:
        """The plan as people read it: tasks by name, given counterfactuals as methods."""
        methods = (*self.plan.methods, *self.plan.counterfactuals)
        return self.plan.model_copy(update={"datasets": tuple(self._about), "methods": methods})

    def task(self, dataset: str) -> Task:
        """Return a task."""
        try:
            return self._about[dataset].task
        except KeyError:
            raise unknown("dataset", dataset, tuple(self._about)) from None

    def base_network(self, dataset: str, base_seed: int) -> Network:
        """Return a base network."""
        return self._store.load_network(self._piece(Kind.BASE, dataset, base_seed))

    def balanced_accuracy(self, dataset: str, base_seed: int) -> float:
        """Return the balanced accuracy of a base model on the test rows."""
        piece = self._piece(Kind.BASE, dataset, base_seed)
        if self._about[dataset].keeps_networks:
            return float(self._store.load_networks(piece)[1]["balanced_accuracy"])
        predicted = self._store.load_table(piece)["probability"] >= 0.5
        labels = self.task(dataset).labels_of("test")
        return float(balanced_accuracy_score(labels, predicted))

    def bank(self, dataset: str, base_seed: int) -> Bank:
        """Return the changed networks of a base network, and their table with magnitudes."""
        loaded = [
            self._store.load_networks(self._piece(Kind.BANK, dataset, base_seed, family))
            for family in self.plan.families
        ]
        tables = [pd.DataFrame(record["table"]) for _, record in loaded]
        stack = NetworkStack.joined([stack for stack, _ in loaded])
        return Bank(stack, pd.concat(tables, ignore_index=True))

    def variants(self, dataset: str, base_seed: int) -> pd.DataFrame:
        """Return what was changed in each changed model, and by how much."""
        key = (dataset, base_seed)
        if key not in self._variants:
            tables = [self._changed(dataset, base_seed, family) for family in self.plan.families]
            self._variants[key] = pd.concat(tables, ignore_index=True)
        return self._variants[key].copy()

    def _changed(self, dataset: str, base_seed: int, family: str) -> pd.DataFrame:
        if self._about[dataset].keeps_networks:
            piece = self._piece(Kind.BANK, dataset, base_seed, family)
            return pd.DataFrame(self._store.load_networks(piece)[1]["table"])
        return self._store.load_table(self._piece(Kind.CHANGES, dataset, base_seed, family, family))

    @property
    def timings(self) -> pd.DataFrame:
        """Seconds by stage and subject: how long the pieces took when they were computed."""
        return timings_table(self.folder, list(self._pieces.values()))

    @cached_property
    def _search_seconds(self) -> dict[str, float]:
        found = {stem: each.search_seconds for stem, each in piece_efforts(self.folder).items()}
        return {stem: seconds for stem, seconds in found.items() if seconds is not None}

    @property
    def tuned_methods(self) -> list[str]:
        """The methods of the plan whose settings were tuned."""
        tuned = {piece.subject for piece in self._pieces.values() if piece.kind is Kind.TUNING}
        return sorted(tuned)

    def tuning(self, dataset: str, method: str) -> pd.DataFrame:
        """Return the scores of a tuned method's candidate settings."""
        for piece in self._pieces.values():
            if (piece.kind, piece.dataset, piece.subject) == (Kind.TUNING, dataset, method):
                return self._store.load_table(piece)
        raise InputError(f"no tuning of {method!r} on {dataset!r} in {self.folder}")

    def counterfactuals(self, dataset: str, base_seed: int, method: str) -> Counterfactuals:
        """Return a method's counterfactuals for the factuals of a base network.

        Their `seconds` are NaN where the time was not recorded.
        """
        piece = self._piece(Kind.COUNTERFACTUALS, dataset, base_seed, method)
        names = self.task(dataset).feature_names
        seconds = self._search_seconds.get(piece.file_stem, np.nan)
        return Counterfactuals.from_frame(self._store.load_table(piece), names, seconds)

    def survival(self, dataset: str, base_seed: int, method: str) -> Booleans:
        """Return [requests, changed models], models in the order of `variants`."""
        models = self.variants(dataset, base_seed)
        if self._about[dataset].keeps_networks:
            return self._survived(len(models), dataset, base_seed, method)
        sizes = models.groupby("family").size()
        parts = [
            self._survived(sizes[family], dataset, base_seed, method, family)
            for family in self.plan.families
        ]
        return np.concatenate(parts, axis=1)

    def _survived(self, models: int, *where: Any) -> Booleans:
        piece = self._piece(Kind.SURVIVAL, *where)
        return unpack_bits(self._store.load_table(piece)["survived"].to_list(), models)

    def _piece(
        self, kind: Kind, dataset: str, base_seed: int, subject: str = "", family: str = ""
    ) -> Piece:
        try:
            return self._pieces[kind, dataset, base_seed, subject, family]
        except KeyError:
            asked = " ".join(filter(None, (dataset, str(base_seed), kind.value, subject, family)))
            raise InputError(f"{asked!r} is not part of the plan in {self.folder}") from None
