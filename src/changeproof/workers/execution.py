"""Where pieces are computed: here, or in processes through joblib."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import joblib

from changeproof.errors import InputError
from changeproof.models.find import install_learners, live_learners
from changeproof.models.learner import Learner
from changeproof.registry import one_line
from changeproof.runs.piece import Piece
from changeproof.runs.store import Store
from changeproof.runs.timings import Effort, peak_memory
from changeproof.runs.work import compute
from changeproof.workers.extensions import Shipment, install, registered
from changeproof.workers.threads import one_thread


class Finished(NamedTuple):
    """What became of a piece: what it took and, where it failed, why.

    `failure` is the traceback, `error` its last words in one line; `refused` says that it was
    an `InputError`: something that was given does not fit.
    """

    piece: Piece
    effort: Effort
    failure: str | None
    error: str = ""
    refused: bool = False


BACKEND = "loky"


def execute(
    pieces: Sequence[Piece], folder: Path, *, jobs: int, backend: str = BACKEND
) -> Iterator[Finished]:
    """Compute pieces that do not depend on each other; yield each as it is done.

    Parameters
    ----------
    jobs
        Worker processes; with 1 everything happens in this process.
    backend
        A joblib backend; "dask" or "ray" spread the work over a cluster that shares `folder`.
    """
    groups: dict[str, list[Piece]] = {}
    for piece in _start_order(pieces):
        groups.setdefault(piece.together, []).append(piece)
    if jobs == 1 or len(groups) == 1:
        yield from (_compute(piece, folder) for group in groups.values() for piece in group)
        return
    shipment, learners = registered(), live_learners()
    with joblib.parallel_config(backend=backend, n_jobs=jobs):
        parallel = joblib.Parallel(return_as="generator_unordered", batch_size=1)
        work = (
            joblib.delayed(_compute_group)(group, folder, shipment, learners)
            for group in groups.values()
        )
        for finished in parallel(work):
            yield from finished


def _start_order(pieces: Sequence[Piece]) -> list[Piece]:
    """Long pieces first; before them one of every kind and subject.

    What a subject has to have compiled the first time is then compiled once, by one worker,
    and found in the cache by the others.
    """
    longest_first = sorted(pieces, key=lambda piece: -piece.cost)
    firsts: dict[tuple[str, str], Piece] = {}
    for piece in longest_first:
        firsts.setdefault((piece.kind, piece.subject), piece)
    return list(dict.fromkeys([*firsts.values(), *longest_first]))


def _compute_group(
    pieces: Sequence[Piece], folder: Path, shipment: Shipment, learners: Mapping[str, Learner]
) -> list[Finished]:
    install_learners(learners)
    return [_compute(piece, folder, shipment) for piece in pieces]


def _compute(piece: Piece, folder: Path, shipment: Shipment | None = None) -> Finished:
    wall, processor = time.perf_counter(), time.process_time()
    failure, error_line, refused, search_seconds = None, "", False, None
    try:
        if shipment is not None:
            install(shipment)
        with one_thread():
            search_seconds = compute(piece, Store(folder))
    except Exception as error:
        # Not hidden: the runner goes on with what it can and then fails with all of these.
        failure, refused = traceback.format_exc(), isinstance(error, InputError)
        error_line = one_line(error)
    effort = Effort(
        time.perf_counter() - wall,
        time.process_time() - processor,
        round(peak_memory(), 1),
        search_seconds,
    )
    return Finished(piece, effort, failure, error_line, refused)
