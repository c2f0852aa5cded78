"""Where pieces are computed: here, or in processes through joblib."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import joblib
import numpy as np
import torch
from threadpoolctl import threadpool_limits

from changeproof.networks.network import Network
from changeproof.networks.training import TrainingData, TrainingRecipe, train
from changeproof.protocol.pieces import Piece
from changeproof.protocol.store import Store
from changeproof.protocol.work import compute


class Finished(NamedTuple):
    """What became of a piece: the time it took and, where it failed, the traceback."""

    piece: Piece
    seconds: float
    failure: str | None


def execute(
    pieces: Sequence[Piece], folder: Path, *, jobs: int, backend: str = "loky"
) -> Iterator[Finished]:
    """Compute pieces that do not depend on each other; yield each as it is done.

    Parameters
    ----------
    jobs
        Worker processes; with 1 everything happens in this process.
    backend
        A joblib backend; "dask" or "ray" spread the work over a cluster that shares `folder`.
    """
    ordered = _start_order(pieces)
    if jobs == 1 or len(pieces) == 1:
        yield from (_compute(piece, folder) for piece in ordered)
        return
    with joblib.parallel_config(backend=backend, n_jobs=jobs):
        parallel = joblib.Parallel(return_as="generator_unordered", batch_size=1)
        yield from parallel(joblib.delayed(_compute)(piece, folder) for piece in ordered)


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


def compile_kernels() -> None:
    """Have the kernels compiled and cached once, before workers would all do it."""
    rows = np.zeros((4, 2), np.float32)
    labels = np.array([0, 1, 0, 1], np.float32)
    data = TrainingData(rows, labels, 4, rows, labels)
    train([TrainingRecipe(initialisation_seed=0, hidden=(2,), max_epochs=1)], data)
    network = Network.initialised(2, (2,), 0)
    network.logits(np.zeros((1, 2)))
    network.logits_and_gradients(np.zeros((1, 2)))


def _compute(piece: Piece, folder: Path) -> Finished:
    # One thread each: sums come out the same whatever the machine, and workers do not compete.
    torch.set_num_threads(1)
    started = time.perf_counter()
    try:
        with threadpool_limits(limits=1):
            compute(piece, Store(folder))
    except Exception:
        # Not hidden: the runner goes on with what it can and then fails with all of these.
        return Finished(piece, time.perf_counter() - started, traceback.format_exc())
    return Finished(piece, time.perf_counter() - started, None)
