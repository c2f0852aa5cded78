"""What of a run can be read: everything, or the finished part of an unfinished one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import pandas as pd

from changeproof.methods.method import Counterfactuals
from changeproof.model import Booleans
from changeproof.runs.piece import Kind, Piece
from changeproof.runs.results import Results
from changeproof.runs.runner import Inventory, take_inventory


class Answered(NamedTuple):
    """Whose answers: a method's for the people of a base model."""

    dataset: str
    base_seed: int
    method: str


class Readings:
    """The finished pieces of a run, each read once.

    Parameters
    ----------
    results
        The run.

    Attributes
    ----------
    inventory
        What of the plan is done, damaged and missing.
    """

    def __init__(self, results: Results) -> None:
        self.results = results
        self.inventory: Inventory = take_inventory(results.plan, results.folder)
        self._done = frozenset(self.inventory.done)
        self._counterfactuals: dict[Answered, Counterfactuals] = {}
        self._survival: dict[Answered, Booleans] = {}

    @cached_property
    def answered(self) -> list[Answered]:
        """Whose answers are there and were put to every changed model, in the plan's order."""
        # The survival under models that are not kept is in a piece per family.
        families: dict[Answered, set[str]] = {}
        for piece in self._whole(Kind.SURVIVAL):
            key = Answered(piece.dataset, piece.base_seed, piece.subject)
            families.setdefault(key, set()).add(piece.family)
        plan = self.results.shown
        return [
            Answered(dataset, seed, method)
            for dataset in plan.datasets
            for seed in plan.base_seeds
            for method in plan.methods
            if families.get(Answered(dataset, seed, method), set()) in ({""}, set(plan.families))
        ]

    @cached_property
    def banks(self) -> list[tuple[str, int]]:
        """The base models, by dataset and seed, that have all their changed models."""
        pieces = [*self._whole(Kind.BANK), *self._whole(Kind.CHANGES)]
        full = pd.Series([(p.dataset, p.base_seed) for p in pieces], dtype=object).value_counts()
        plan = self.results.shown
        every = [(dataset, seed) for dataset in plan.datasets for seed in plan.base_seeds]
        return [key for key in every if full.get(key, 0) == len(plan.families)]

    @cached_property
    def tunings(self) -> list[tuple[str, str]]:
        """Datasets and methods with a table of tuning scores."""
        done = {(piece.dataset, piece.subject) for piece in self._whole(Kind.TUNING)}
        plan = self.results.shown
        methods = self.results.tuned_methods
        return [(d, m) for d in plan.datasets for m in methods if (d, m) in done]

    def variants(self, dataset: str, base_seed: int) -> pd.DataFrame:
        """Return what was changed in each changed model, and by how much."""
        return self.results.variants(dataset, base_seed)

    def counterfactuals(self, key: Answered) -> Counterfactuals:
        """Return a method's answers."""
        if key not in self._counterfactuals:
            self._counterfactuals[key] = self.results.counterfactuals(*key)
        return self._counterfactuals[key]

    def survival(self, key: Answered) -> Booleans:
        """Return [requests, changed models]."""
        if key not in self._survival:
            self._survival[key] = self.results.survival(*key)
        return self._survival[key]

    def _whole(self, kind: Kind) -> Iterator[Piece]:
        """Yield the finished pieces of a kind whose inputs can all be read as well."""
        for piece in self.inventory.done:
            if piece.kind is kind and self._readable(piece):
                yield piece

    def _readable(self, piece: Piece) -> bool:
        return piece in self._done and all(self._readable(part) for part in piece.inputs)
