"""The pieces of a wave, computed group by group: here, or in worker processes."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from changeproof.errors import InputError, one_line
from changeproof.runs.piece import Kind, Piece
from changeproof.runs.resolved import ResolvedRun
from changeproof.runs.store import Store
from changeproof.runs.timings import Effort, peak_memory
from changeproof.runs.work import Ingredients, compute
from changeproof.workers.execution import execute
from changeproof.workers.parcels import Parcel, packed
from changeproof.workers.threads import one_thread


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


class Group(NamedTuple):
    """Pieces that share work, with what each is made with, and their inputs by fingerprint.

    What they are made with is packed for another process, if they go to one.
    """

    pieces: tuple[tuple[Piece, Ingredients], ...]
    inputs: dict[str, bytes]


def compute_pieces(
    pieces: Sequence[Piece], run: ResolvedRun, store: Store, *, workers: int
) -> Iterator[Finished]:
    """Compute pieces of one wave; yield each as it is done. Only this process uses the store."""
    shared: dict[str, list[Piece]] = {}
    for piece in _start_order(pieces):
        shared.setdefault(piece.together, []).append(piece)
    workers = min(workers, len(shared))
    kits = _Kits(run, packing=workers > 1)
    groups = (_group(group, kits, store) for group in shared.values())
    for finished in execute(_compute_group, groups, workers=workers):
        yield from finished


class _Kits:
    """What pieces are made with, every object packed once."""

    def __init__(self, run: ResolvedRun, *, packing: bool) -> None:
        self.run, self.packing = run, packing
        self.parcels: dict[int, Any] = {}

    def of(self, piece: Piece) -> Ingredients:
        run, given = self.run, self._given
        # Methods are told what the families reserve; the limit may have to make their models.
        asked = () if piece.family or piece.kind is Kind.BASE else run.families.values()
        renewing = piece.kind is Kind.RENEWALS
        return Ingredients(
            given(run.tasks[piece.dataset]),
            given(run.learner),
            given(run.renewer if renewing else run.methods.get(piece.method)),
            given(run.families.get(piece.family)),
            tuple(map(given, asked)),
        )

    def _given(self, thing: Any) -> Any:
        if not self.packing or thing is None:
            return thing
        if id(thing) not in self.parcels:
            self.parcels[id(thing)] = packed(thing.name, thing)
        return self.parcels[id(thing)]


def _unpacked(thing: Any) -> Any:
    """Return what was packed; of several things those that could be sent."""
    if isinstance(thing, tuple) and not isinstance(thing, Parcel):
        return tuple(_unpacked(each) for each in thing if not getattr(each, "reason", ""))
    return thing.unpacked() if isinstance(thing, Parcel) else thing


def _opened(kit: Ingredients) -> Ingredients | InputError:
    """Return ingredients as objects, or why they cannot be had here."""
    try:
        return Ingredients(*map(_unpacked, kit))
    except InputError as error:
        return error


def _group(pieces: Sequence[Piece], kits: _Kits, store: Store) -> Group:
    """Collect what pieces need that is in the store; the rest they make for each other."""
    ordered = sorted(pieces, key=lambda piece: list(Kind).index(piece.kind))
    needed = dict.fromkeys(part for piece in ordered for part in piece.needed)
    inputs = {part.fingerprint: store.load(part) for part in needed if store.path(part) is not None}
    return Group(tuple((piece, kits.of(piece)) for piece in ordered), inputs)


def _start_order(pieces: Sequence[Piece]) -> list[Piece]:
    """Long pieces first; before them one of every kind and method or family.

    What somebody has to have compiled the first time is then compiled once, by one worker, and
    found in the cache by the others.
    """
    longest_first = sorted(pieces, key=lambda piece: -piece.cost)
    firsts: dict[tuple[str, str], Piece] = {}
    for piece in longest_first:
        firsts.setdefault((piece.kind, piece.whose), piece)
    return list(dict.fromkeys([*firsts.values(), *longest_first]))


def _compute_group(group: Group) -> list[Finished]:
    inputs, finished = dict(group.inputs), []
    # Opened first: only libraries that are imported by then are kept to one thread.
    kits = [(piece, _opened(kit)) for piece, kit in group.pieces]
    with one_thread():
        for piece, kit in kits:
            item = _compute(piece, kit, inputs)
            if item.content is not None:
                inputs[piece.fingerprint] = item.content
            finished.append(item)
    return finished


def _compute(piece: Piece, kit: Ingredients | InputError, inputs: dict[str, bytes]) -> Finished:
    wall, processor = time.perf_counter(), time.process_time()
    spent = partial(_spent, wall, processor)
    if any(part.fingerprint not in inputs for part in piece.inputs):
        return Finished(piece, None, spent())
    try:
        if isinstance(kit, InputError):
            raise kit
        made = compute(piece, kit, inputs)
    except Exception as error:
        # Not hidden: the runner goes on with what it can and then fails with all of these.
        refused = isinstance(error, InputError)
        return Finished(piece, None, spent(), traceback.format_exc(), one_line(error), refused)
    return Finished(piece, made.content, spent(made.search_seconds))


def _spent(wall: float, processor: float, search_seconds: float | None = None) -> Effort:
    return Effort(
        time.perf_counter() - wall,
        time.process_time() - processor,
        round(peak_memory(), 1),
        search_seconds,
    )
