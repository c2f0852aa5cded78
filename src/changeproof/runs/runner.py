"""Running: take the pieces of a run, subtract what is in the store, compute the rest."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from changeproof.files import clear_unfinished
from changeproof.runs.directory import FOLDERS, claimed, write_record
from changeproof.runs.execution import Finished
from changeproof.runs.observer import Observer
from changeproof.runs.piece import Kind, Piece
from changeproof.runs.plan import Plan
from changeproof.runs.resolved import ResolvedRun, resolve
from changeproof.runs.stages import compute_left
from changeproof.runs.store import Inventory as Inventory
from changeproof.runs.store import Store
from changeproof.runs.timings import log_session
from changeproof.workers.workplace import Workplace

FAILED = "failed in this run"
# What is nobody's, in words.
ALONE = {Kind.BASE: "base model", Kind.LIMIT: "search for the limit"}


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


def run_pieces(
    run: ResolvedRun,
    folder: Path,
    *,
    workplace: Workplace,
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
    for task in run.tasks.values():
        for note in task.notes:
            observer.told(note)
    with claimed(folder):
        store = Store(folder)
        write_record(folder, run, same_plan=same_plan)
        clear_unfinished(folder, *FOLDERS)
        inventory = store.take_inventory(run.pieces)
        observer.planned(inventory)
        if not inventory.complete:
            left = [*inventory.damaged, *inventory.missing]
            store.check_writable(left)
            for path in inventory.damaged.values():
                store.remove_damaged(path)
                observer.damaged(path)
            before_work()
            computed = compute_left(left, run, folder, workplace, observer)
        began = time.perf_counter()
        after_work(finished_part(run, store))
        if not inventory.complete:
            session = replace(computed.session, report_seconds=time.perf_counter() - began)
            log_session(folder, session)
            if computed.failures:
                raise PieceFailedError(computed.failures, computed.skipped)


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


def count_by_kind(pieces: Iterable[Piece]) -> dict[Kind, int]:
    """Count pieces by kind."""
    ordered = sorted(pieces, key=lambda piece: list(Kind).index(piece.kind))
    return {kind: len(list(group)) for kind, group in groupby(ordered, key=lambda p: p.kind)}
