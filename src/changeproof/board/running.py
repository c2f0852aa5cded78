"""Running a part of a track, in a run directory that is kept: what is computed once is kept.

Base models and changed models are the same for every entry. They are in the user's cache, or where
`--store` says, in one run directory for every part of a track.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import platformdirs

from changeproof.board.answers import Cell
from changeproof.board.frozen import (
    FrozenCell,
    check_same,
    data_hash,
    model_hash,
    people_hash,
    read_frozen,
    split_hash,
    stack_hash,
)
from changeproof.board.tracks import VERSION, Part, Track
from changeproof.changes.bank import Bank
from changeproof.evaluation.factuals import evaluation_factuals
from changeproof.files import write_whole
from changeproof.methods.method import Factuals
from changeproof.model import Model
from changeproof.models.cache import model_cache
from changeproof.runs.content import models_from_bytes
from changeproof.runs.execute import Observer, run_pieces
from changeproof.runs.pieces import Kind, Piece
from changeproof.runs.resolve import ResolvedRun
from changeproof.runs.store import Store
from changeproof.runs.work import kept_base, made_bank, pieces_of
from changeproof.workers.processes import engine_for
from changeproof.workflow import Results

# What changed models that are not kept decide, by the fingerprint of their piece.
DECISIONS = "decisions.json"
Watching = Callable[[], AbstractContextManager[Observer]]


@dataclass(frozen=True)
class Setting:
    """How work is done: where it is kept, by how many worker processes, and who follows it.

    By default in the user's cache, with a worker per core, and nobody.
    """

    store: Path | None = None
    jobs: int | None = None
    watching: Watching = lambda: nullcontext(Observer())

    def folder(self, part: Part, number: int, bank: str = "public") -> Path:
        """Return the run directory of a part."""
        store = self.store
        if store is None:
            store = platformdirs.user_cache_path("changeproof", appauthor=False) / "board"
        return store / VERSION / bank / f"{part.track}-{number + 1}"


@dataclass(frozen=True, eq=False)
class PartRun:
    """A part of a track that is asked or judged: a resolved run in its directory."""

    part: Part
    run: ResolvedRun
    folder: Path
    setting: Setting

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        return pieces_of(self.run)

    @cached_property
    def store(self) -> Store:
        return Store(self.folder)

    @property
    def results(self) -> Results:
        """What there is of the run."""
        return Results(self.folder, tasks=self.run.tasks)

    def compute(self, kinds: Collection[Kind] = tuple(Kind)) -> None:
        """Do what is left of some kinds of pieces."""
        wanted = [piece for piece in self.pieces if piece.kind in kinds]
        engine = engine_for(self.setting.jobs)
        inventory = self.store.take_inventory(wanted)
        same = not (inventory.missing or inventory.damaged)
        # The plan is written anew in any case: it names whose answers are read.
        watching = nullcontext(Observer()) if same else self.setting.watching()
        with watching as observer:
            run_pieces(self.run, self.folder, engine=engine, observer=observer, kinds=kinds)

    @property
    def cells(self) -> list[Cell]:
        """The people of which base models are asked, in the order of the plan."""
        return [
            Cell(self.part.track, self.part.model, dataset, seed)
            for dataset in self.run.tasks
            for seed in self.run.plan.base_seeds
        ]

    def base(self, cell: Cell) -> Model:
        """Return a base model that is there."""
        piece = self._piece(Kind.BASE, cell)
        return kept_base(self.run, piece, self.store.load(piece))

    def people(self, cell: Cell) -> Factuals:
        """Return who is asked."""
        task, limit = self.run.tasks[cell.dataset], self.run.plan.factuals
        return evaluation_factuals(task, self.base(cell), cell.base_seed, limit)

    def basis(self, cell: Cell) -> dict[str, str]:
        """Return the hashes of data, split, people and base model; base models have to be there."""
        task = self.run.tasks[cell.dataset]
        return {
            "split": split_hash(task),
            "data": data_hash(task),
            "base": model_hash(self.base(cell), task),
            "people": people_hash(self.people(cell)),
        }

    def changed(self, cell: Cell) -> dict[str, str]:
        """Return the hashes of the changed models of every family; base models have to be there.

        Networks are read from their pieces. Others are made for it, once per store.
        """
        return {family: self._changed(cell, family) for family in self.run.families}

    def _changed(self, cell: Cell, family: str) -> str:
        piece, task = self._piece(Kind.BANK, cell, family), self.run.tasks[cell.dataset]
        if self.run.learner.stores_models:
            kept = models_from_bytes(self.store.load(piece)).stack
            if kept is not None:
                return stack_hash(kept, task)
        known = self._decisions()
        if piece.fingerprint not in known:
            known[piece.fingerprint] = stack_hash(self.bank(cell, family).stack, task)
            content = json.dumps(known, indent=1).encode()
            write_whole(self.folder / DECISIONS, content, self.folder)
        return known[piece.fingerprint]

    def bank(self, cell: Cell, family: str) -> Bank:
        """Make the changed models of a family; models that are remembered are not trained again."""
        piece = self._piece(Kind.BANK, cell, family)
        base = self.store.load(piece.inputs[0])
        with model_cache(base):
            return made_bank(self.run, piece, base)

    def _decisions(self) -> dict[str, str]:
        path = self.folder / DECISIONS
        if not path.exists():
            return {}
        return {str(key): str(value) for key, value in json.loads(path.read_bytes()).items()}

    def _piece(self, kind: Kind, cell: Cell, family: str = "") -> Piece:
        wanted = (kind, cell.dataset, cell.base_seed, "", family)
        return next(piece for piece in self.pieces if tuple(piece.key) == wanted)


def frozen_cells(track: Track) -> dict[tuple[str, str, int], FrozenCell]:
    """Return the hashes of a track by dataset, model and base seed."""
    return {cell.where: cell for cell in read_frozen(track.name).cells}


def check_basis(run: PartRun, frozen: Mapping[tuple[str, str, int], FrozenCell]) -> None:
    """Refuse data, people or base models that are not those of the version."""
    for cell in run.cells:
        check_same(cell.track, _cell(cell, frozen), run.basis(cell))


def check_changed(run: PartRun, frozen: Mapping[tuple[str, str, int], FrozenCell]) -> None:
    """Refuse changed models that are not those of the version."""
    for cell in run.cells:
        check_same(cell.track, _cell(cell, frozen), run.changed(cell))


def _cell(cell: Cell, frozen: Mapping[tuple[str, str, int], FrozenCell]) -> FrozenCell:
    return frozen[cell.dataset, cell.model, cell.base_seed]
