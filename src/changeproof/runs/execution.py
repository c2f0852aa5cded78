"""Pieces computed by an engine: what a worker does, and what is made of its answer."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from changeproof.errors import InputError, one_line
from changeproof.runs.orders import Order, Orders
from changeproof.runs.piece import Piece
from changeproof.runs.resolved import ResolvedRun
from changeproof.runs.store import Store, checksum
from changeproof.runs.timings import Effort, peak_memory
from changeproof.runs.work import Ingredients, compute
from changeproof.workers.jobs import Done, Engine, Result
from changeproof.workers.processor import processor_name
from changeproof.workers.threads import one_thread

NOTHING = Effort(0.0, 0.0, 0.0)


class Finished(NamedTuple):
    """What became of a piece: its content and what it took or, where it failed, why.

    `failure` is the traceback, `error` its last words in one line; `refused` says that it was
    an `InputError`: something that was given does not fit. Both are None where something that
    the piece needs had failed.
    """

    piece: Piece
    content: bytes | None
    effort: Effort
    failure: str | None = None
    error: str = ""
    refused: bool = False


class Said(NamedTuple):
    """What a worker says of a piece: what it took, the checksum of its bytes, or why it failed.

    `again` says that it failed for want of memory, disk or the like.
    """

    effort: Effort
    checksum: str = ""
    failure: str | None = None
    error: str = ""
    refused: bool = False
    again: bool = False


def compute_pieces(
    pieces: Sequence[Piece],
    run: ResolvedRun,
    store: Store,
    engine: Engine,
    begun: Callable[[list[Piece]], None] = lambda pieces: None,
) -> Iterator[Finished]:
    """Compute pieces; yield each as it is done. Only this process uses the store.

    What is yielded has to be in the store before the next one is asked for. `begun` is told of
    pieces that are made together when work on them begins, by engines that know.
    """
    engine.begun = lambda job: begun([piece for piece, _ in job.told.pieces])
    orders = Orders(run, work_on, packing=engine.packs, far=engine.far)
    jobs = orders.jobs(pieces)
    by_mark = {part.fingerprint: part for piece in pieces for part in (piece, *piece.needed)}

    def supply(mark: str) -> bytes | None:
        if (content := orders.parcels.get(mark)) is not None:
            return content
        return store.load(by_mark[mark]) if store.path(by_mark[mark]) is not None else None

    for done in engine.run(jobs, supply):
        yield from _finished(done)


def work_on(order: Order, contents: Mapping[str, bytes]) -> Result:
    """Compute pieces that share work, wherever this is."""
    made: dict[str, bytes] = {}
    said = []
    # Opened first: only libraries that are imported by then are kept to one thread.
    opened = order.opened(contents)
    with one_thread():
        for piece, kit in opened:
            marks = [part.fingerprint for part in piece.needed]
            inputs = {mark: contents[mark] for mark in marks if mark in contents}
            inputs |= {mark: made[mark] for mark in marks if mark in made}
            content, what = _compute(piece, kit, inputs)
            if content is not None:
                made[piece.fingerprint] = content
            said.append(what)
    return Result(made, tuple(said), any(what.again for what in said))


def _finished(done: Done) -> Iterator[Finished]:
    """Yield what became of the pieces of a job."""
    pieces = [piece for piece, _ in done.job.told.pieces]
    if done.result is None:
        for piece in pieces[:1]:  # the others need it, or were not reached
            yield Finished(piece, None, NOTHING, done.reason or None, done.reason)
        for piece in pieces[1:]:
            yield Finished(piece, None, NOTHING)
        return
    for piece, said in zip(pieces, done.result.said, strict=True):
        content = done.result.made.get(piece.fingerprint)
        if content is not None and checksum(content) != said.checksum:
            why = "its bytes arrived with another checksum than they left the worker with"
            yield Finished(piece, None, said.effort, why, why)
        else:
            yield Finished(piece, content, said.effort, said.failure, said.error, said.refused)


def _compute(
    piece: Piece, kit: Ingredients | InputError, inputs: Mapping[str, bytes]
) -> tuple[bytes | None, Said]:
    wall, processor = time.perf_counter(), time.process_time()
    spent = partial(_spent, wall, processor)
    if any(part.fingerprint not in inputs for part in piece.inputs):
        return None, Said(spent())
    try:
        if isinstance(kit, InputError):
            raise kit
        made = compute(piece, kit, inputs)
    except Exception as error:
        # Not hidden: the runner goes on with what it can and then fails with all of these.
        refused = isinstance(error, InputError)
        again = isinstance(error, OSError | MemoryError)
        return None, Said(spent(), "", traceback.format_exc(), one_line(error), refused, again)
    return made.content, Said(spent(made.search_seconds), checksum(made.content))


def _spent(wall: float, processor: float, search_seconds: float | None = None) -> Effort:
    return Effort(
        time.perf_counter() - wall,
        time.process_time() - processor,
        round(peak_memory(), 1),
        search_seconds,
        processor_name(),
    )
