"""From pieces to jobs: which pieces are made together, from what, and after what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from changeproof.errors import InputError
from changeproof.runs.piece import Kind, Piece
from changeproof.runs.resolved import ResolvedRun
from changeproof.runs.work import Ingredients
from changeproof.workers.jobs import Job, Work
from changeproof.workers.parcels import Label, Parcel, packed


class Order(NamedTuple):
    """Pieces that share work, each with what it is made with: objects, or labels of parcels."""

    pieces: tuple[tuple[Piece, Ingredients], ...]

    def opened(self, contents: Mapping[str, bytes]) -> list[tuple[Piece, Ingredients | InputError]]:
        """Return the pieces with their ingredients as objects, or why they cannot be had here."""
        return [(piece, _opened(kit, contents)) for piece, kit in self.pieces]


class Orders:
    """The jobs that make pieces, and the parcels that they need, by mark.

    Parameters
    ----------
    packing
        Whether jobs go to other processes, so that objects have to be packed, each once.
    far
        Whether those may be on other machines.
    """

    def __init__(
        self, run: ResolvedRun, work: Work, *, packing: bool = False, far: bool = False
    ) -> None:
        self.run, self.work, self.packing, self.far = run, work, packing, far
        self.parcels: dict[str, bytes] = {}
        self._labels: dict[int, Label] = {}

    def jobs(self, pieces: Iterable[Piece]) -> list[Job]:
        """Return one job for all pieces that share work."""
        shared: dict[str, list[Piece]] = {}
        for piece in pieces:
            shared.setdefault(piece.together, []).append(piece)
        return [self._job(name, group) for name, group in shared.items()]

    def _job(self, name: str, pieces: Sequence[Piece]) -> Job:
        ordered = sorted(pieces, key=lambda piece: list(Kind).index(piece.kind))
        order = Order(tuple((piece, self._ingredients(piece)) for piece in ordered))
        makes = tuple(piece.fingerprint for piece in ordered)
        inputs = [part.fingerprint for piece in ordered for part in piece.needed]
        labels = [label for _, kit in order.pieces for label in _labels(kit)]
        needs = dict.fromkeys([*inputs, *(label.mark for label in labels if not label.reason)])
        return Job(
            name,
            self.work,
            order,
            tuple(mark for mark in needs if mark not in makes),
            makes,
            sum(piece.cost for piece in ordered),
            f"{ordered[0].kind}-{ordered[0].dataset}-{ordered[0].whose}",
        )

    def _ingredients(self, piece: Piece) -> Ingredients:
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
        """Return an object or, where objects are packed, what is said of its parcel."""
        if not self.packing or thing is None:
            return thing
        if id(thing) not in self._labels:
            parcel: Parcel = packed(thing.name, thing, far=self.far)
            self._labels[id(thing)] = parcel.label
            self.parcels[parcel.label.mark] = parcel.content
        return self._labels[id(thing)]


def _labels(kit: Any) -> list[Label]:
    """Return the labels in ingredients."""
    if isinstance(kit, Label):
        return [kit]
    return [label for part in kit for label in _labels(part)] if isinstance(kit, tuple) else []


def _opened(kit: Ingredients, contents: Mapping[str, bytes]) -> Ingredients | InputError:
    def taken(thing: Any) -> Any:
        if isinstance(thing, Label):
            return thing.opened(contents)
        if isinstance(thing, tuple):  # of several things those that could be sent
            return tuple(taken(each) for each in thing if not getattr(each, "reason", ""))
        return thing

    try:
        return Ingredients(*map(taken, kit))
    except InputError as error:
        return error
