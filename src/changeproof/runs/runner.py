"""Running: take the pieces of a run, subtract what is in the store, compute the rest."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from changeproof.runs.costs import OWN_FIT, expected_seconds
from changeproof.runs.directory import claimed, write_record
from changeproof.runs.execution import Finished, compute_pieces
from changeproof.runs.piece import Kind, Piece
from changeproof.runs.plan import Plan
from changeproof.runs.resolved import ResolvedRun, resolve
from changeproof.runs.store import Inventory as Inventory
from changeproof.runs.store import Store
from changeproof.runs.timings import Session, log_piece, log_session, piece_efforts
from changeproof.workers.warm_up import warm_up

FAILED = "failed in this run"
# What is nobody's, in words.
ALONE = {Kind.BASE: "base model", Kind.LIMIT: "search for the limit"}
# Starting worker processes and ending them takes as long as two of them save on so many seconds.
WORTH_WORKERS = 6.0


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
        alike: dict[tuple[Kind, str], list[Finished]] = {}
        for item in self.failures:
            alike.setdefault((item.piece.kind, item.piece.whose), []).append(item)
        for (kind, whose), items in alike.items():
            what = f"{kind} of {whose}" if whose else ALONE[kind]
            times = f" ({len(items)} times)" if len(items) > 1 else ""
            lines.append(f"{what} failed{times}: {items[0].error}")
        return lines


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

    def started(self, pieces: list[Piece]) -> None:
        """Say that a wave of pieces begins."""

    def finished(self, item: Finished) -> None:
        """Say that a piece was computed or failed."""


def run_pieces(
    run: ResolvedRun,
    folder: Path,
    *,
    jobs: int,
    observer: Observer | None = None,
    same_plan: bool = False,
    before_work: Callable[[], None] = lambda: None,
    after_work: Callable[[ResolvedRun | None], None] = lambda part: None,
) -> None:
    """Do what is left of a run in a run directory.

    `before_work` is called when there is something to do, `after_work` with the finished part
    when all is done that can be; both while the directory is held. When pieces have failed,
    `PieceFailedError` says so after that.
    """
    observer = observer if observer is not None else Observer()
    with claimed(folder):
        store = Store(folder)
        write_record(folder, run, same_plan=same_plan)
        store.clear_unfinished()
        inventory = store.take_inventory(run.pieces)
        observer.planned(inventory)
        if not inventory.complete:
            before_work()
            for path in inventory.damaged.values():
                observer.damaged(path)
                path.unlink()
            left = [*inventory.damaged, *inventory.missing]
            session, failed = _run_waves(left, run, folder, jobs, observer)
        began = time.perf_counter()
        after_work(finished_part(run, store))
        if not inventory.complete:
            log_session(folder, replace(session, report_seconds=time.perf_counter() - began))
            if failed is not None:
                raise failed


def take_inventory(plan: Plan, folder: str | Path) -> Inventory:
    """Compare a plan with the store of a run directory, reading every file to see it is whole."""
    folder = Path(folder)
    return Store(folder).take_inventory(resolve(plan, folder).pieces)


def finished_part(run: ResolvedRun, store: Store) -> ResolvedRun | None:
    """Return the run with those methods and families only that are done everywhere.

    Without the limit or renewals, too, if those are not. None if a base model is missing, or if
    there is no method or no family left.
    """
    undone = [piece for piece in run.pieces if store.path(piece) is None]
    if any(piece.kind is Kind.BASE for piece in undone):
        return None
    lost = {piece.family for piece in undone if piece.kind is Kind.BANK}
    undone = [piece for piece in undone if piece.family not in lost]
    lost |= {piece.method for piece in undone if piece.kind is not Kind.RENEWALS}
    part = run.without(dict.fromkeys(sorted(lost - {""}), FAILED))
    if any(piece.kind is Kind.RENEWALS and store.path(piece) is None for piece in part.pieces):
        part = part.without_renewals(FAILED)
    if any(piece.kind is Kind.LIMIT and store.path(piece) is None for piece in part.pieces):
        part = part.without_limit(FAILED)
    return part if part.methods and part.families else None


def _run_waves(
    pieces: list[Piece], run: ResolvedRun, folder: Path, jobs: int, observer: Observer
) -> tuple[Session, PieceFailedError | None]:
    began, started = time.perf_counter(), datetime.now(UTC).isoformat(timespec="seconds")
    workers, compiling, store = 1, 0.0, Store(folder)
    left, failures = list(pieces), list[Finished]()
    lost: set[Piece] = set()
    for number in sorted({piece.wave for piece in pieces}):
        wave = [piece for piece in pieces if piece.wave == number]
        ready = [piece for piece in wave if not lost.intersection(piece.needed)]
        lost.update(set(wave).difference(ready))
        if not ready:
            continue
        if workers < jobs and worth_workers(run, left, ready, folder):
            observer.compiling()
            compiling = _warmed_up(left, jobs)
            workers = jobs
        observer.started(ready)
        for item in compute_pieces(ready, run, store, workers=workers):
            if item.content is not None:
                store.save(item.piece, item.content)
                log_piece(folder, item.piece, item.effort)
            else:
                lost.add(item.piece)
                failures += [item] if item.failure is not None else []
            observer.finished(item)
        left = [piece for piece in left if piece.wave > number]
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


def worth_workers(run: ResolvedRun, left: list[Piece], ready: list[Piece], folder: Path) -> bool:
    """Say whether what is left takes longer than worker processes take to start.

    What a model that is not ours takes to train is not known before the first one is.
    """
    if run.learner.stores_models:
        return expected_seconds(left) > WORTH_WORKERS
    if len(ready) == 1 and ready[0].kind is Kind.BASE:
        return False
    efforts = piece_efforts(folder).items()
    fits = [effort.seconds for stem, effort in efforts if f"/{Kind.BASE.value}." in stem]
    return expected_seconds(left, max(fits, default=OWN_FIT)) > WORTH_WORKERS


def _warmed_up(pieces: list[Piece], jobs: int) -> float:
    """Start workers, have them compile what these pieces need, and return the seconds."""
    began = time.perf_counter()
    realisable = any(piece.realisable for piece in pieces)
    limit = any(piece.kind is Kind.LIMIT for piece in pieces)
    methods = {piece.method for piece in pieces}
    warm_up(methods, jobs=jobs, realisable=realisable, limit=limit)
    return time.perf_counter() - began


def count_by_kind(pieces: Iterable[Piece]) -> dict[Kind, int]:
    """Count pieces by kind."""
    ordered = sorted(pieces, key=lambda piece: list(Kind).index(piece.kind))
    return {kind: len(list(group)) for kind, group in groupby(ordered, key=lambda p: p.kind)}
