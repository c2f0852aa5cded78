"""What is left of a run, computed: by how many workers, and in which stages."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from changeproof.runs.costs import OWN_FIT, expected_seconds
from changeproof.runs.execution import Finished, compute_pieces
from changeproof.runs.observer import Observer
from changeproof.runs.piece import Kind, Piece
from changeproof.runs.resolved import ResolvedRun
from changeproof.runs.store import Store
from changeproof.runs.timings import Session, log_piece, piece_efforts
from changeproof.workers.here import Here
from changeproof.workers.jobs import Engine
from changeproof.workers.warm_up import Kernels
from changeproof.workers.workplace import Needs, Workplace

# Starting worker processes and ending them takes as long as two of them save on so many seconds.
WORTH_WORKERS = 6.0


@dataclass
class Computed:
    """What was computed, what failed, and how many pieces were skipped because of that."""

    session: Session
    done: int = 0
    failures: list[Finished] = field(default_factory=list)
    skipped: int = 0


def compute_left(
    pieces: list[Piece], run: ResolvedRun, folder: Path, workplace: Workplace, observer: Observer
) -> Computed:
    """Compute pieces and keep them; what needs a failed one is skipped."""
    began, started = time.perf_counter(), datetime.now(UTC).isoformat(timespec="seconds")
    computed, store = Computed(Session(started=started)), Store(folder)
    workers, starting = 1, 0.0
    for stage in _stages(pieces, run, workplace):
        left = [piece for piece in pieces if store.path(piece) is None]
        engine: Engine = Here()
        if workplace.elsewhere or (
            workplace.workers > 1 and worth_workers(run, left, stage, folder)
        ):
            observer.compiling()
            before = time.perf_counter()
            engine = workplace.start(_needs(run, left), observer)
            starting += time.perf_counter() - before
            workers = workplace.workers
        with closing(engine):
            observer.started(stage)
            for item in compute_pieces(stage, run, store, engine, observer.begun):
                _keep(item, store, folder, computed)
                observer.finished(item)
    computed.session = Session(
        started=started,
        jobs=workers,
        pieces=computed.done,
        compile_seconds=starting,
        work_seconds=time.perf_counter() - began - starting,
    )
    return computed


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


def _stages(pieces: list[Piece], run: ResolvedRun, workplace: Workplace) -> list[list[Piece]]:
    """Return all at once or, for models of unknown cost, first the base models."""
    if run.learner.stores_models or workplace.elsewhere:
        return [pieces]
    bases = [piece for piece in pieces if piece.kind is Kind.BASE]
    rest = [piece for piece in pieces if piece.kind is not Kind.BASE]
    return [stage for stage in (bases, rest) if stage]


def _needs(run: ResolvedRun, pieces: list[Piece]) -> Needs:
    """Return what workers have to have for these pieces."""
    kernels = Kernels(
        frozenset(piece.method for piece in pieces),
        realisable=any(piece.realisable for piece in pieces),
        limit=any(piece.kind is Kind.LIMIT for piece in pieces),
    )
    things = [run.learner, run.renewer, *run.methods.values(), *run.families.values()]
    return Needs(kernels, tuple(thing for thing in things if thing is not None))


def _keep(item: Finished, store: Store, folder: Path, computed: Computed) -> None:
    if item.content is not None:
        store.save(item.piece, item.content)
        log_piece(folder, item.piece, item.effort)
        computed.done += 1
    elif item.failure is not None:
        computed.failures.append(item)
    else:
        computed.skipped += 1
