"""Reading a run: everything that it has computed, or the finished part of an unfinished one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from changeproof.changes import SUCCESSOR
from changeproof.changes.bank import Bank
from changeproof.datasets.task import Task
from changeproof.errors import InputError, unknown
from changeproof.evaluation.counting import changes_nothing, counting_families
from changeproof.evaluation.imprecise import WAYS
from changeproof.evaluation.letters import LetterScores
from changeproof.evaluation.limit import Limit
from changeproof.evaluation.reasons import Reasons
from changeproof.methods.answers import Counterfactuals
from changeproof.model import Booleans, Floats
from changeproof.networks.network import Network
from changeproof.networks.stack import NetworkStack
from changeproof.runs.content import (
    Refit,
    arrays_from_bytes,
    models_from_bytes,
    survived_from_bytes,
    table_from_bytes,
)
from changeproof.runs.manifest import Description, Manifest, read_manifest
from changeproof.runs.pieces import FUTURES, Kind, Piece, PieceKey, further_choice
from changeproof.runs.plan import TUNING_SEED, Plan
from changeproof.runs.resolve import load_tasks
from changeproof.runs.store import Inventory, Store
from changeproof.runs.timings import piece_efforts, timings_table

# What tables call all families together.
ALL_FAMILIES = "all"
T = TypeVar("T")


class AnswerKey(NamedTuple):
    """Whose answers: a method's for the people of a base model."""

    dataset: str
    base_seed: int
    method: str


class StoredResults:
    """Everything that a run has computed, piece by piece.

    By the manifest of its directory or, for a part of it, another; nothing that the directory names
    is imported. Tasks need not be loaded where they are given.
    """

    def __init__(
        self,
        folder: str | Path,
        manifest: Manifest | None = None,
        tasks: Mapping[str, Task] | None = None,
    ) -> None:
        self.folder = Path(folder)
        self.manifest = manifest if manifest is not None else read_manifest(self.folder)
        self._tasks = tasks
        self._store = Store(self.folder)
        self._pieces = {piece.key: piece for piece in self.manifest.pieces}
        self._kept: dict[tuple[Any, ...], Any] = {}

    def __repr__(self) -> str:
        plan = self.shown
        counts = {
            ("dataset", "datasets"): plan.datasets,
            ("method", "methods"): plan.methods,
            ("family", "families"): plan.families,
            ("base model", "base models"): plan.base_seeds,
        }
        words = [f"{len(each)} {name[len(each) != 1]}" for name, each in counts.items()]
        return f"{type(self).__name__}({str(self.folder)!r}: {', '.join(words)})"

    @property
    def plan(self) -> Plan:
        """What was asked."""
        return self.manifest.plan

    @property
    def methods(self) -> Mapping[str, Description]:
        """The methods by name, and what is known of them."""
        return self.manifest.methods

    @property
    def families(self) -> Mapping[str, Description]:
        """The families by name, and what is known of them."""
        return self.manifest.families

    @cached_property
    def tasks(self) -> Mapping[str, Task]:
        """The tasks by name."""
        return self._tasks or load_tasks(self.plan, self.folder)

    @cached_property
    def shown(self) -> Plan:
        """The plan as people read it: tasks by name, all methods and all families."""
        run = self.manifest
        names = {"datasets": run.tasks, "methods": run.methods, "families": run.families}
        return self.plan.model_copy(update={key: tuple(found) for key, found in names.items()})

    @cached_property
    def inventory(self) -> Inventory:
        """What of the run is done, damaged and missing, each file read once to see."""
        return self._store.take_inventory(self.manifest.pieces)

    @cached_property
    def answered(self) -> list[AnswerKey]:
        """Whose answers are there and were put to every changed model, in the plan's order."""
        keys = [AnswerKey(*base, method) for base in self._bases for method in self.methods]
        return [key for key in keys if self._under_all(Kind.SURVIVAL, *key)]

    def choices(self, key: AnswerKey) -> list[AnswerKey]:
        """Return a method's answers and its further choices, as far as they are there."""
        numbers = range(2, self.plan.alternatives + 1)
        further = [key._replace(method=further_choice(key.method, number)) for number in numbers]
        return [key, *(each for each in further if self._under_all(Kind.SURVIVAL, *each))]

    @cached_property
    def banks(self) -> list[tuple[str, int]]:
        """The base models, by dataset and seed, that have all their changed models."""
        return [key for key in self._bases if self._under_all(Kind.BANK, *key)]

    def _under_all(self, kind: Kind, dataset: str, base_seed: int, method: str = "") -> bool:
        where = (kind, dataset, base_seed, method)
        return all(self.finished(*where, family) for family in self.families)

    @cached_property
    def limits(self) -> list[tuple[str, int]]:
        """The base models, by dataset and seed, whose people have a limit."""
        return [key for key in self._bases if self.finished(Kind.LIMIT, *key)]

    @cached_property
    def tunings(self) -> list[tuple[str, str]]:
        """Datasets and methods with a table of tuning scores."""
        keys = [(dataset, m) for dataset in self.manifest.tasks for m in sorted(self.methods)]
        return [key for key in keys if self.finished(Kind.TUNING, key[0], TUNING_SEED, key[1])]

    @cached_property
    def unchanged(self) -> tuple[str, ...]:
        """The families whose changed models all decide and score just as their base models do.

        As a new seed does where training does not depend on it. They test nothing. Of an unfinished
        run, as far as is known.
        """

        def variants(piece: Piece) -> pd.DataFrame:
            return self.changed(piece.dataset, piece.base_seed, piece.family)

        def holding(piece: Piece) -> tuple[pd.Series[str], Booleans]:
            key = (piece.dataset, piece.base_seed, piece.method)
            valid = self.counterfactuals(*key).base_valid
            return variants(piece)["family"], self.held(*key, piece.family)[valid]

        whole = [piece for piece in self.inventory.done if self._is_whole(piece)]
        banks = (piece for piece in whole if piece.kind is Kind.BANK)
        judged = (piece for piece in whole if piece.kind is Kind.SURVIVAL)
        names = changes_nothing(map(variants, banks), map(holding, judged))
        return tuple(name for name in self.families if name in names)

    @cached_property
    def counting_families(self) -> tuple[str, ...]:
        """The families that averages are about; see `evaluation.counting`."""
        return counting_families(self.families, self.unchanged)

    @property
    def limit_families(self) -> tuple[str, ...]:
        """The families that the limit is about: known before anything is trained."""
        return counting_families(self.families)

    def trials(self, dataset: str, base_seed: int) -> int | None:
        """Return how many of the changed models that averages are about are independent.

        None where all are. Models of one future follow from each other: of sequences, futures are
        counted.
        """
        if not all(self.families[name].sequence for name in self.counting_families):
            return None
        variants = self.variants(dataset, base_seed)
        return int(variants["replicate"][variants["family"].isin(self.counting_families)].nunique())

    def one_base(self, dataset: str) -> bool:
        """Say whether the base models of a dataset, of several seeds, are all the same."""
        bases = [key for key in self.banks if key[0] == dataset]
        kept = [self._read(models_from_bytes, Kind.BASE, *key) for key in bases]
        scored = [each.arrays["probabilities"] for each in kept]
        return len(scored) > 1 and all(np.array_equal(scored[0], each) for each in scored[1:])

    def task(self, dataset: str) -> Task:
        """Return a task."""
        if dataset not in self.tasks:
            raise unknown("dataset", dataset, self.tasks)
        return self.tasks[dataset]

    def base_network(self, dataset: str, base_seed: int) -> Network:
        """Return a base network."""
        return self._networks(Kind.BASE, dataset, base_seed)[0]

    def balanced_accuracy(self, dataset: str, base_seed: int) -> float:
        """Return the balanced accuracy of a base model on the test rows."""
        kept = self._read(models_from_bytes, Kind.BASE, dataset, base_seed)
        return float(kept.record["balanced_accuracy"])

    def bank(self, dataset: str, base_seed: int) -> Bank:
        """Return the changed networks of a base network, and their table with magnitudes."""
        where = (Kind.BANK, dataset, base_seed, "")
        stacks = [self._networks(*where, family) for family in self.families]
        return Bank(NetworkStack.joined(stacks), self.variants(dataset, base_seed))

    def variants(self, dataset: str, base_seed: int) -> pd.DataFrame:
        """Return what was changed in each changed model, and by how much."""
        key = (dataset, base_seed)
        if key not in self._kept:
            tables = [self.changed(*key, family) for family in self.families]
            self._kept[key] = pd.concat(tables, ignore_index=True)
        table: pd.DataFrame = self._kept[key].copy()
        return table

    def changed(self, dataset: str, base_seed: int, family: str) -> pd.DataFrame:
        """Return the same of one family."""

        def table(held: bytes) -> pd.DataFrame:
            return pd.DataFrame(models_from_bytes(held).record["table"])

        return self._read_once(table, Kind.BANK, dataset, base_seed, "", family)

    def counterfactuals(self, dataset: str, base_seed: int, method: str) -> Counterfactuals:
        """Return a method's counterfactuals for the factuals of a base model.

        Their `seconds` are NaN where the time was not recorded.
        """
        where = (Kind.COUNTERFACTUALS, dataset, base_seed, method)
        seconds = self._search_seconds.get(self._piece(*where).file_stem, np.nan)

        def answers(held: bytes) -> Counterfactuals:
            names = self.task(dataset).feature_names
            return Counterfactuals.from_frame(table_from_bytes(held), names, seconds)

        return self._read_once(answers, *where)

    def tuning(self, dataset: str, method: str) -> pd.DataFrame:
        """Return the scores of a tuned method's candidate settings."""
        return self._read(table_from_bytes, Kind.TUNING, dataset, TUNING_SEED, method)

    def survived(self, dataset: str, base_seed: int, method: str) -> Booleans:
        """Return [requests, changed models], models in the order of `variants`."""
        key = (dataset, base_seed, method)
        return np.concatenate([self.held(*key, family) for family in self.families], axis=1)

    def held(self, dataset: str, base_seed: int, method: str, family: str) -> Booleans:
        """Return the same for the changed models of one family."""
        key = (dataset, base_seed, method)
        parse = partial(survived_from_bytes, len(self.counterfactuals(*key)))
        return self._read_once(parse, Kind.SURVIVAL, *key, family)

    def finished(
        self, kind: Kind, dataset: str, base_seed: int, method: str = "", family: str = ""
    ) -> bool:
        """Say whether a piece is there and can be read, and all that it was made from."""
        piece = self._pieces.get(PieceKey(kind, dataset, base_seed, method, family))
        return piece is not None and self._is_whole(piece)

    def limit(self, dataset: str, base_seed: int) -> Limit:
        """Return how far the people of a base model would have to go at least, as was found."""
        arrays = self._read(arrays_from_bytes, Kind.LIMIT, dataset, base_seed)
        futures = {name: arrays[key] for name in self.families if (key := FUTURES + name) in arrays}
        return Limit(arrays["row_id"], arrays["rows"], arrays.get("changing"), futures)

    @cached_property
    def with_letters(self) -> list[AnswerKey]:
        """Whose letters were put to the successors."""
        return [key for key in self.answered if self.finished(Kind.LETTERS, *key, SUCCESSOR)]

    def letters(self, dataset: str, base_seed: int, method: str) -> LetterScores:
        """Return what today's model and its successors say of letters."""
        where = (dataset, base_seed, method, SUCCESSOR)
        return LetterScores.from_arrays(self._read(arrays_from_bytes, Kind.LETTERS, *where))

    def renewals(self, dataset: str, base_seed: int, method: str) -> pd.DataFrame:
        """Return the answers to people whose letters a successor breaks; see `renewal`."""
        where = (dataset, base_seed, method, SUCCESSOR)
        return self._read(table_from_bytes, Kind.RENEWALS, *where)

    def refit(self, dataset: str, base_seed: int, method: str = "") -> Refit:
        """Return whom a refit of the judged model accepts of the test rows, or whose answers."""
        return self._read(Refit.from_bytes, Kind.REFIT, dataset, base_seed, method)

    def imprecise(self, dataset: str, base_seed: int, method: str) -> Floats:
        """Return the share of tries [people, ways] in which answers hold; see `imprecise.py`."""
        where = (Kind.IMPRECISE, dataset, base_seed, method)
        people = len(self.counterfactuals(dataset, base_seed, method))

        def shares(held: bytes) -> Floats:
            found: Floats = arrays_from_bytes(held)["held"]
            if found.shape != (people, len(WAYS)) or found.dtype != np.float64:
                raise InputError(f"{found.dtype} of shape {found.shape} for {people} people")
            return found

        return self._read_once(shares, *where)

    def reasons(self, dataset: str, base_seed: int) -> Reasons:
        """Return why a base model rejects its people, as was found."""
        where = (Kind.REASONS, dataset, base_seed)
        return self._read_once(lambda held: Reasons.from_arrays(arrays_from_bytes(held)), *where)

    @property
    def timings(self) -> pd.DataFrame:
        """Seconds by stage and method or family: how long the pieces took when computed."""
        return timings_table(self.folder, self.manifest.pieces)

    @property
    def _bases(self) -> list[tuple[str, int]]:
        return [(dataset, seed) for dataset in self.manifest.tasks for seed in self.plan.base_seeds]

    @cached_property
    def _search_seconds(self) -> dict[str, float]:
        found = {stem: each.search_seconds for stem, each in piece_efforts(self.folder).items()}
        return {stem: seconds for stem, seconds in found.items() if seconds is not None}

    def _networks(self, kind: Kind, *where: Any) -> NetworkStack:
        stack = self._read(models_from_bytes, kind, *where).stack
        if stack is None and kind is Kind.BANK and self.manifest.keeps_models:
            raise InputError(
                f"not all changed models of family {where[-1]!r} are networks; they are not kept"
            )
        if stack is None:
            raise InputError(f"models of the kind {self.manifest.model} are not kept")
        return stack

    def _is_whole(self, piece: Piece) -> bool:
        return self._done.issuperset((piece, *piece.needed))

    @cached_property
    def _done(self) -> frozenset[Piece]:
        return frozenset(self.inventory.done)

    def _read(self, parse: Callable[[bytes], T], *where: Any) -> T:
        return self._store.read(self._piece(*where), parse)

    def _read_once(self, parse: Callable[[bytes], T], *where: Any) -> T:
        if where not in self._kept:
            self._kept[where] = self._read(parse, *where)
        kept: T = self._kept[where]
        return kept

    def _piece(self, *where: Any) -> Piece:
        key = PieceKey(*where)
        if key not in self._pieces:
            words = (key.dataset, key.base_seed, key.kind, key.method, key.family)
            asked = " ".join(str(word) for word in words if word)
            raise InputError(f"{asked!r} is not part of the plan in {self.folder}")
        return self._pieces[key]
