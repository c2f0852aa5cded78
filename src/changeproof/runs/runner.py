"""Running a plan: compute its pieces, subtract what is in the store, do the rest."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from changeproof.runs.costs import expected_seconds
from changeproof.runs.directory import claimed, write_plan
from changeproof.runs.piece import Kind, Piece
from changeproof.runs.pieces import plan_pieces
from changeproof.runs.plan import Plan
from changeproof.runs.store import DamagedPieceError, Store
from changeproof.runs.timings import Session, log_piece, log_session, piece_efforts
from changeproof.workers.execution import BACKEND, Finished, execute
from changeproof.workers.warm_up import warm_up

FAILED = "failed in this run"
# Starting worker processes and ending them takes as long as two of them save on so many seconds.
WORTH_WORKERS = 6.0
# Kinds that can be computed side by side, wave after wave.
WAVES: tuple[tuple[Kind, ...], ...] = (
    (Kind.BASE,),
    (Kind.BANK, Kind.TUNING),
    (Kind.COUNTERFACTUALS,),
    (Kind.CHANGES, Kind.SURVIVAL),
)


class PieceFailedError(RuntimeError):
    """Some pieces could not be computed; everything else was done and kept."""

    def __init__(self, failures: list[Finished], skipped: int) -> None:
        reasons = [f"{item.piece.label}\n{item.failure}" for item in failures]
        also = f" ({skipped} pieces that need them were not tried)" if skipped else ""
        super().__init__(f"{len(failures)} pieces failed{also}:\n\n" + "\n".join(reasons))
        self.failures = failures

    @property
    def refused(self) -> bool:
        """Whether all that failed is something that was given and does not fit."""
        return all(item.refused for item in self.failures)

    @property
    def summary(self) -> list[str]:
        """One line per method, family or kind: what failed how often, and its first error."""
        lines = []
        by_subject: dict[tuple[str, str], list[Finished]] = {}
        for item in self.failures:
            key = (item.piece.kind.value, item.piece.subject)
            by_subject.setdefault(key, []).append(item)
        for (kind, subject), items in by_subject.items():
            what = f"{kind} of {subject}" if subject else f"{kind} model"
            times = f" ({len(items)} times)" if len(items) > 1 else ""
            lines.append(f"{what} failed{times}: {items[0].error}")
        return lines


@dataclass(frozen=True)
class Inventory:
    """What of a plan is done, what is damaged and what is missing."""

    done: list[Piece] = field(default_factory=list)
    damaged: dict[Piece, Path] = field(default_factory=dict)
    missing: list[Piece] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether nothing is left to do."""
        return not self.damaged and not self.missing


class Observer:
    """Follows a run; override what is of interest."""

    def planned(self, inventory: Inventory) -> None:
        """Say what is there and what is to be done."""

    def told(self, text: str) -> None:
        """Pass on what people should know of what they gave."""

    def damaged(self, path: Path) -> None:
        """Name a damaged file, which is going to be computed again."""

    def compiling(self) -> None:
        """Say that kernels are being compiled (seconds, the first time only)."""

    def started(self, kinds: tuple[Kind, ...], pieces: list[Piece]) -> None:
        """Say that a wave of pieces begins."""

    def finished(self, item: Finished) -> None:
        """Say that a piece was computed or failed."""


def take_inventory(plan: Plan, folder: Path) -> Inventory:
    """Compare the plan with the store, reading every file to see whether it is whole."""
    store, inventory = Store(folder), Inventory()
    for piece in plan_pieces(plan, folder):
        try:
            (inventory.done if store.has(piece) else inventory.missing).append(piece)
        except DamagedPieceError as error:
            inventory.damaged[piece] = error.path
    return inventory


def run_pieces(
    plan: Plan,
    folder: Path,
    *,
    jobs: int,
    observer: Observer | None = None,
    before_work: Callable[[], None] = lambda: None,
    after_work: Callable[[], None] = lambda: None,
) -> None:
    """Do what is left of a plan in a run directory.

    `before_work` is called when there is something to do, `after_work` when all is done that
    can be; both while the directory is held. When pieces have failed, `PieceFailedError` says so
    after that.
    """
    observer = observer if observer is not None else Observer()
    with claimed(folder):
        inventory = take_inventory(plan, folder)
        observer.planned(inventory)
        write_plan(folder, plan)
        Store(folder).clear_unfinished()
        if not inventory.complete:
            before_work()
            for path in inventory.damaged.values():
                observer.damaged(path)
                path.unlink()
            log, failed = _run([*inventory.damaged, *inventory.missing], folder, jobs, observer)
            if failed is not None and (possible := _possible_still(plan, folder)):
                log_session(folder, _run(possible, folder, jobs, observer)[0])
        began = time.perf_counter()
        after_work()
        if not inventory.complete:
            log_session(folder, replace(log, report_seconds=time.perf_counter() - began))
            if failed is not None:
                raise failed


def finished_part(plan: Plan, folder: Path) -> Plan | None:
    """Return the plan with those methods and families only that are done everywhere.

    None if a base model is missing, or if there is no method or no family left.
    """
    part = _with_families_done(plan, folder)
    if part is None:
        return None
    lost = {piece.subject for piece in _undone(part, folder)}
    methods = tuple(method for method in part.methods if method not in lost)
    given = {name: path for name, path in part.counterfactuals.items() if name not in lost}
    if not methods and not given:
        return None
    left_out = part.left_out | dict.fromkeys(sorted(lost), FAILED)
    return part.model_copy(
        update={"methods": methods, "counterfactuals": given, "left_out": left_out}
    )


def _with_families_done(plan: Plan, folder: Path) -> Plan | None:
    undone = _undone(plan, folder)
    lost = {piece.subject for piece in undone if piece.kind in (Kind.BANK, Kind.CHANGES)}
    families = tuple(family for family in plan.families if family not in lost)
    if not families or any(piece.kind is Kind.BASE for piece in undone):
        return None
    left_out = plan.left_out | dict.fromkeys(sorted(lost), FAILED)
    return plan.model_copy(update={"families": families, "left_out": left_out})


def _possible_still(plan: Plan, folder: Path) -> list[Piece]:
    """Return the pieces of the plan without its failed families that can be computed."""
    part, store = _with_families_done(plan, folder), Store(folder)
    return [
        piece
        for piece in (_undone(part, folder) if part is not None else ())
        if piece.kind is Kind.SURVIVAL
        and all(store.path(needed) is not None for needed in piece.inputs)
    ]


def _undone(plan: Plan, folder: Path) -> list[Piece]:
    store = Store(folder)
    return [piece for piece in plan_pieces(plan, folder) if store.path(piece) is None]


def _run(
    pieces: list[Piece], folder: Path, jobs: int, observer: Observer
) -> tuple[Session, PieceFailedError | None]:
    began, started = time.perf_counter(), datetime.now(UTC).isoformat(timespec="seconds")
    workers, compiling = 1, 0.0
    left = list(pieces)
    failures: list[Finished] = []
    lost: set[Piece] = set()
    for kinds in WAVES:
        wave = [piece for piece in pieces if piece.kind in kinds]
        ready = [piece for piece in wave if not lost.intersection(piece.inputs)]
        lost.update(set(wave).difference(ready))
        if not ready:
            continue
        if workers < jobs and worth_workers(left, ready, folder):
            observer.compiling()
            compiling = _warmed_up(left, jobs)
            workers = jobs
        observer.started(kinds, ready)
        for item in execute(ready, folder, jobs=workers):
            observer.finished(item)
            if item.failure is None:
                log_piece(folder, item.piece, item.effort)
            else:
                failures.append(item)
                lost.add(item.piece)
        left = [piece for piece in left if piece not in wave]
    session = Session(
        started=started,
        jobs=workers,
        pieces=len(pieces) - len(lost),
        compile_seconds=compiling,
        work_seconds=time.perf_counter() - began - compiling,
        report_seconds=0.0,
    )
    failed = PieceFailedError(failures, len(lost) - len(failures)) if failures else None
    return session, failed


def worth_workers(left: list[Piece], ready: list[Piece], folder: Path) -> bool:
    """Say whether what is left takes longer than worker processes take to start.

    What a model that is not ours takes to train is not known before the first one is.
    """
    base = next((piece for piece in left if not piece.about.keeps_networks), None)
    if base is None:
        return expected_seconds(left) > WORTH_WORKERS
    if ready == [base] and base.kind is Kind.BASE:
        return False
    fits = [
        effort.seconds
        for stem, effort in piece_efforts(folder).items()
        if f"/{Kind.BASE.value}." in stem
    ]
    return expected_seconds(left, max(fits, default=None)) > WORTH_WORKERS


def _warmed_up(pieces: list[Piece], jobs: int) -> float:
    """Start workers, have them compile what these pieces need, and return the seconds."""
    began = time.perf_counter()
    warm_up({piece.subject for piece in pieces}, jobs=jobs, backend=BACKEND)
    return time.perf_counter() - began


def count_by_kind(pieces: Iterable[Piece]) -> dict[Kind, int]:
    """Count pieces by kind."""
    ordered = sorted(pieces, key=lambda piece: list(Kind).index(piece.kind))
    return {kind: len(list(group)) for kind, group in groupby(ordered, key=lambda p: p.kind)}
