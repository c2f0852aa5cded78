"""A run as its directory keeps it, read by name.

Nothing is imported of what made it: methods, families and models may be gone, or be others by now,
and the run may have been made by another version of changeproof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TypeVar

import pandas as pd

from changeproof.changes import sequence_family_names
from changeproof.changes.successors import SUCCESSOR
from changeproof.datasets.find import find_task
from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.evaluation.counting import changes_nothing, counted
from changeproof.methods.answers import Counterfactuals
from changeproof.model import Booleans
from changeproof.plugins import parsed
from changeproof.runs.brought import Recorded
from changeproof.runs.content import arrays_from_bytes, models_from_bytes, table_from_bytes
from changeproof.runs.directory import read_record
from changeproof.runs.piece import Kind, Piece
from changeproof.runs.store import PIECES, Store, is_whole, understood
from changeproof.runs.timings import piece_efforts

T = TypeVar("T")
CHANGE = ["level", "replicate"]


class KeptRun:
    """The answers and what became of them, as far as they are finished.

    Parameters
    ----------
    folder
        The run directory.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.plan, _, self._brought = read_record(self.folder)
        self._answers: dict[tuple[str, int, str], Counterfactuals | None] = {}
        self._variants: dict[tuple[str, int, str], pd.DataFrame | None] = {}
        self._survived: dict[tuple[str, int, str, str], Booleans | None] = {}

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods, and counterfactuals from elsewhere."""
        return (*self.plan.methods, *self.plan.counterfactuals)

    @cached_property
    def families(self) -> dict[str, Recorded]:
        """The families by name, and what is known of them: whether they are sequences, or real."""
        own = self._brought.families
        built_in = sequence_family_names()
        found = {
            name: own.get(name, Recorded(fingerprint="", sequence=parsed(name)[0] in built_in))
            for name in self.plan.families
        }
        if self.plan.successors:
            found[SUCCESSOR] = Recorded(fingerprint="", real=True)
        return found

    @cached_property
    def unchanged(self) -> frozenset[str]:
        """The families that change nothing about any model, as far as is finished."""
        return changes_nothing(
            (
                table
                for dataset in self.tasks
                for seed in self.plan.base_seeds
                for family in self.families
                if (table := self.variants(dataset, seed, family)) is not None
            ),
            self._held(),
        )

    @cached_property
    def counted(self) -> tuple[str, ...]:
        """The families that numbers over all families are about."""
        return counted(self.families, self.unchanged)

    def _held(self) -> Iterator[tuple[pd.Series[str], Booleans]]:
        """Yield which valid answers hold under the changed models of a family."""
        asked = product(self.tasks, self.plan.base_seeds, self.methods, self.families)
        for dataset, seed, method, family in asked:
            answers, table = (
                self.answers(dataset, seed, method),
                self.variants(dataset, seed, family),
            )
            survived = self.survived(dataset, seed, method, family)
            if answers is not None and table is not None and survived is not None:
                yield table["family"], survived[answers.base_valid]

    @cached_property
    def tasks(self) -> dict[str, Task]:
        """The tasks by name."""
        found = {}
        for reference in self.plan.datasets:
            inside = self.folder / reference
            task = find_task(str(inside) if inside.exists() else reference)
            found[task.name] = task
        return found

    def answers(self, dataset: str, seed: int, method: str) -> Counterfactuals | None:
        """Return a method's answers to the people of a base model, if they are there."""
        key = (dataset, seed, method)
        alike = [name for name in self.methods if _stem(method) == _stem(name) and name != method]
        if alike:
            raise InputError(
                f"{self.folder} keeps {method!r} and {alike[0]!r} in files of the same name, which "
                "cannot be told apart"
            )
        if key not in self._answers:
            names = self.tasks[dataset].feature_names
            self._answers[key] = self._read(
                lambda held: Counterfactuals.from_frame(table_from_bytes(held), names),
                Piece(Kind.COUNTERFACTUALS, dataset, seed, "", method),
            )
        return self._answers[key]

    def variants(self, dataset: str, seed: int, family: str) -> pd.DataFrame | None:
        """Return a family's changed models with their magnitudes, if they are there."""
        key = (dataset, seed, family)
        if key not in self._variants:
            self._variants[key] = self._read(
                lambda held: pd.DataFrame(models_from_bytes(held).record["table"]),
                Piece(Kind.BANK, dataset, seed, "", "", family),
            )
        return self._variants[key]

    def changes(self, dataset: str, seed: int, family: str) -> pd.DataFrame | None:
        """Return level and replicate of a family's changed models as text, if they are there."""
        table = self.variants(dataset, seed, family)
        return None if table is None else table[CHANGE].astype(str)

    def survived(self, dataset: str, seed: int, method: str, family: str) -> Booleans | None:
        """Return which answers hold under which changed models, if that is there and fits."""
        key = (dataset, seed, method, family)
        if key not in self._survived:
            self._survived[key] = self._fitting(*key)
        return self._survived[key]

    def _fitting(self, dataset: str, seed: int, method: str, family: str) -> Booleans | None:
        answers = self.answers(dataset, seed, method)
        changes = self.changes(dataset, seed, family)
        piece = Piece(Kind.SURVIVAL, dataset, seed, "", method, family)
        arrays = self._read(arrays_from_bytes, piece)
        if answers is None or changes is None or arrays is None:
            return None
        fits = arrays["survived"].shape == (len(answers), len(changes))
        return arrays["survived"] if fits and (arrays["row_id"] == answers.row_ids).all() else None

    def _read(self, parse: Callable[[bytes], T], piece: Piece) -> T | None:
        """Return what a piece says, the one computed last where there are several."""
        stem = piece.file_stem.removesuffix(".")
        candidates = self._files.get(stem, [])
        if not candidates:
            return None
        path = max(candidates, key=lambda path: (self._computed(path), path.stat().st_mtime))
        if not is_whole(path, piece.kind):
            raise InputError(
                f"damaged file {path}; compute it again: changeproof run --out {self.folder}"
            )
        return understood(path, path.read_bytes(), parse)

    @cached_property
    def _files(self) -> dict[str, list[Path]]:
        """The files of the store by what they hold, without fingerprint and checksum."""
        found: dict[str, list[Path]] = {}
        store = Store(self.folder)
        for path in store.files:
            found.setdefault(store.label(path), []).append(path)
        return found

    @cached_property
    def _log(self) -> dict[str, int]:
        return {stem: place for place, stem in enumerate(piece_efforts(self.folder))}

    def _computed(self, path: Path) -> int:
        """Return when a piece was computed, as a place in the log; -1 if nothing says so."""
        return self._log.get(self._stem(path), -1)

    def _stem(self, path: Path) -> str:
        """Return a file relative to the store, up to the checksum."""
        words = path.relative_to(self.folder / PIECES).as_posix()
        return words.rsplit(".", 2)[0]


def _stem(method: str) -> str:
    return Piece(Kind.COUNTERFACTUALS, "", 0, "", method).file_stem


def _change(content: bytes) -> pd.DataFrame:
    return pd.DataFrame(models_from_bytes(content).record["table"])[CHANGE].astype(str)
