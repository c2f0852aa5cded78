"""Handing in: ask a method what a track asks, and write an entry, whole or not at all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from changeproof import __version__
from changeproof.board.answers import Cell, HandedIn, Told, answers_to_bytes, of_track
from changeproof.board.entry import (
    ANSWERS,
    ENTRY,
    LONGEST_LINE,
    Entry,
    Handed,
    digest,
    read_entry,
)
from changeproof.board.frozen import read_frozen
from changeproof.board.running import PartRun, Setting, check_basis, frozen_cells
from changeproof.board.tracks import VERSION, Part, Track, find_track
from changeproof.board.verify import checked_answers
from changeproof.errors import InputError
from changeproof.files import TEMPORARY, safe_name, validated, write_together
from changeproof.methods import make_method
from changeproof.methods.answers import Counterfactuals
from changeproof.methods.method import Factuals, Method
from changeproof.report.page.guarantees import in_words
from changeproof.runs.pieces import Kind
from changeproof.runs.resolve import Given, NothingFitsError, resolve
from changeproof.runs.timings import piece_efforts

# What a method is asked needs no changed model.
ASKED = (Kind.BASE, Kind.TUNING, Kind.COUNTERFACTUALS)
LONGEST_SETTING = 200


class Answered(NamedTuple):
    """The answers to a track, and processor seconds per person where they are known."""

    cells: Mapping[Cell, Counterfactuals | Told]
    seconds: float | None


def submit(
    method: str,
    tracks: Sequence[str],
    out: str | Path,
    about: Mapping[str, Any] | None = None,
    setting: Setting | None = None,
    *,
    keep: str | Path | None = None,
) -> Handed:
    """Ask a method what tracks ask, and write the entry.

    A submission that is cut short goes on where it was. Nothing is written unless all is there.

    Parameters
    ----------
    method
        The reference that makes the method: a name or an import path, with or without settings.
    tracks
        Names of tracks; all people of all their base models are asked. Where a track has several
        kinds of model and one does not offer what the method needs, nobody gets an answer there.
    out
        The folder of the entry, whose name is the entry's.
    about
        More of what `entry.toml` says: label, authors, paper, bibtex, code, commit, licence,
        tolerance, claims.
    keep
        The folder of an earlier entry of the same method, which may be `out`. On the tracks that it
        has, its answers stay, and nobody is asked again.
    """
    setting = setting if setting is not None else Setting()
    folder = Path(out)
    _check_free(folder)
    asked = [find_track(name) for name in dict.fromkeys(tracks)]
    if not asked:
        raise InputError("expected at least one track")
    for track in asked:
        read_frozen(track.name)
    made = make_method(method)
    # Refuses what does not fit before work.
    draft = _draft(made, method, folder, asked, dict(about or {}))
    kept = {} if keep is None else _kept(Path(keep), draft)
    answered = {
        track.name: kept.get(track.name) or _asked(track, method, made.name, setting)
        for track in asked
    }
    content = answers_to_bytes(
        {cell: each for track in answered.values() for cell, each in track.cells.items()}
    )
    took = {name: each.seconds for name, each in answered.items()}
    seconds = {name: each for name, each in took.items() if each is not None}
    about = {**(about or {}), "seconds": seconds, "answers_sha256": digest(content)}
    entry = _draft(made, method, folder, asked, about)
    write_together({folder / ANSWERS: content, folder / ENTRY: entry.to_bytes()})
    return read_entry(folder)


def _asked(track: Track, method: str, name: str, setting: Setting) -> Answered:
    """Ask a method all that a track asks."""
    cells: dict[Cell, Counterfactuals] = {}
    frozen, spent, people = frozen_cells(track), 0.0, 0
    for number, part in enumerate(track.parts):
        try:
            run = asking(part, number, method, setting)
        except NothingFitsError as error:
            run = unasked(part, number, setting)
            run.compute((Kind.BASE,))
            check_basis(run, frozen)
            reason = error.reasons[name]  # beside those why some families do not fit
            cells |= {cell: unanswered(run.people(cell), reason) for cell in run.cells}
            continue
        run.compute((Kind.BASE,))
        check_basis(run, frozen)
        run.compute(ASKED)
        results = run.results
        for cell in run.cells:
            answers = results.counterfactuals(cell.dataset, cell.base_seed, name)
            cells[cell] = answers
            people += len(answers)
        spent += processor_seconds(run)
    if not people:
        raise InputError(f"no model of the track {track.name} offers what {name} needs")
    # Seconds are not known if the log of the times is lost.
    return Answered(cells, round(spent / people, 6) if math.isfinite(spent) else None)


def _kept(folder: Path, draft: Entry) -> dict[str, Answered]:
    """Return the answers of an earlier entry by track, if the same method gave them."""
    earlier = read_entry(folder)
    told = checked_answers(earlier)
    for key in ("method", "settings", "changeproof"):
        there, here = getattr(earlier.entry, key), getattr(draft, key)
        if there != here:
            raise InputError(
                f"{folder}: {key}: got {there}; expected {here}: the answers of an entry are those "
                "of one method"
            )
    seconds = earlier.entry.seconds
    return {
        name: Answered(of_track(told, name), seconds.get(name)) for name in earlier.entry.tracks
    }


def processor_seconds(run: PartRun) -> float:
    """Return what tuning, fitting and answering took; NaN if the log of times has not all of it."""
    efforts = piece_efforts(run.folder)
    pieces = [piece for piece in run.pieces if piece.kind in (Kind.TUNING, Kind.COUNTERFACTUALS)]
    took = [efforts[p.file_stem].processor_seconds for p in pieces if p.file_stem in efforts]
    return sum(took) if len(took) == len(pieces) else math.nan


def unasked(part: Part, number: int, setting: Setting) -> PartRun:
    """Return a part of a track that asks nobody anything."""
    folder, nobody = setting.folder(part, number), Given(methods={"nobody": HandedIn(told={})})
    return PartRun(part, resolve(part.judging("nobody"), folder, nobody), folder, setting)


def unanswered(people: Factuals, reason: str) -> Counterfactuals:
    """Return that nobody gets an answer, and why: the method does not fit the model."""
    nothing = np.full_like(people.rows, np.nan)
    none, unknown = np.zeros(len(people), dtype=np.bool_), np.full(len(people), np.nan)
    outcomes = np.full(len(people), reason)
    return Counterfactuals(people.row_ids, people.rows, nothing, outcomes, none, unknown, {})


def asking(part: Part, number: int, method: str, setting: Setting) -> PartRun:
    """Return a part of a track that asks a method."""
    folder = setting.folder(part, number)
    return PartRun(part, resolve(part.asking(method), folder), folder, setting)


def _draft(
    made: Method, method: str, folder: Path, tracks: Sequence[Track], about: dict[str, Any]
) -> Entry:
    """Return what the entry says, checked; without answers, the hash of none."""
    promise = made.promised
    values = {
        "name": folder.absolute().name,
        "label": made.label or made.name,
        "paper": made.source[:LONGEST_LINE],
        "access": str(made.needs),
        "trains": made.trains,
        "method": method,
        "settings": {name: _written(value) for name, value in made.settings().items()},
        "promise": "" if promise is None else in_words(promise, made.settings()),
        "benchmark": VERSION,
        "changeproof": __version__,
        "tracks": tuple(track.name for track in tracks),
        "answers_sha256": digest(b""),
    }
    return validated(Entry, {**values, **about}, "the entry")


def _written(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= LONGEST_SETTING else f"{text[:LONGEST_SETTING]}…"


def _check_free(folder: Path) -> None:
    """Refuse a folder that holds anything but an entry, which is then replaced."""
    safe_name(folder.absolute().name, "an entry")
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError(f"{folder} is not a folder; expected a new one, or that of an entry")
    there = [] if not folder.exists() else [path.name for path in folder.iterdir()]
    others = [n for n in there if n not in (ENTRY, ANSWERS) and not n.startswith(TEMPORARY)]
    if others:
        raise InputError(
            f"{folder} holds {others[0]!r}; expected a new folder, or that of an entry"
        )
