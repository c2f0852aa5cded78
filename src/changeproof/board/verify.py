"""Verifying an entry: every number is computed again from its answers, by the code of runs.

An entry is refused, in one line, where it is not what it says: answers edited after the entry was
written, people that are not the track's, rows that break rules, claims that do not come out. What
is refused gets no record, and nothing of it is shown as a result. The code that an entry names runs
only where somebody asks for it (`rerun`), in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from changeproof import __version__
from changeproof.board.answers import (
    Cell,
    HandedIn,
    Told,
    answers_to_bytes,
    of_track,
    read_answers,
)
from changeproof.board.entry import ANSWERS, Entry, Handed, read_entry
from changeproof.board.frozen import read_version
from changeproof.board.records import (
    ALL,
    CONTESTED,
    HELD,
    RECOMPUTED,
    RECORD,
    REPRODUCED,
    Contest,
    Record,
    Rerun,
    Score,
    Secret,
    read_people,
    read_record,
    records_beside,
    write_record,
)
from changeproof.board.running import (
    PartRun,
    Setting,
    check_basis,
    check_changed,
    frozen_cells,
)
from changeproof.board.scoring import scores_of
from changeproof.board.secret import SecretFamily, key_hash
from changeproof.board.tracks import VERSION, Part, Track, find_track
from changeproof.changes import REGISTRY as FAMILIES
from changeproof.errors import InputError, visible
from changeproof.methods.answers import FOUND, Counterfactuals
from changeproof.runs.pieces import Kind
from changeproof.runs.resolve import Given, resolve
from changeproof.workers.interpreter import processor_name

# How far a claim may be from what comes out, as authors round: of rates in percent, of distances.
RATE, DISTANCE = 0.051, 0.00051
# Of a hundred: so much more on the public bank than on the secret one is worth a word.
SUSPICIOUS = 5.0


@dataclass(frozen=True)
class Verified:
    """What came of verifying an entry."""

    record: Record
    people: pd.DataFrame
    folder: Path


class Found(NamedTuple):
    """What answers to a track score, and what became of its people."""

    scores: list[Score]
    people: pd.DataFrame


class Known(NamedTuple):
    """What is known of an earlier state of an entry: its record, its people and its answers."""

    record: Record
    people: pd.DataFrame
    told: Mapping[Cell, Told]

    def still_true(self, told: Mapping[Cell, Told]) -> dict[str, Found]:
        """Return what was found of the tracks whose answers are the same now."""
        return {
            track: self._found(track)
            for track in self.record.tracks
            if answers_to_bytes(of_track(self.told, track))
            == answers_to_bytes(of_track(told, track))
        }

    def of_tracks(self, tracks: Collection[str]) -> Record:
        """Return the record without what is about other tracks, or about all of them together."""
        contests = tuple(each for each in self.record.contests if each.track in tracks)
        return self.record.model_copy(update={"rerun": None, "secret": None, "contests": contests})

    def _found(self, track: str) -> Found:
        scores = [each for each in self.record.scores if each.track == track]
        people = self.people[self.people["track"] == track]
        held = people.filter(regex=f"^{HELD}")  # without the families of other tracks
        return Found(scores, people.drop(columns=held.columns[held.isna().all()]))


def known_of(entry: str | Path, records: str | Path | None = None) -> Known | None:
    """Return what is known of an entry as it is; None without a record that is about it."""
    handed = read_entry(Path(entry))
    folder = Path(records) if records is not None else records_beside(handed.folder)
    told, record = checked_answers(handed), record_about(handed, folder)
    return None if record is None else Known(record, read_people(folder / record.name), told)


def verify(
    entry: str | Path,
    *,
    rerun: bool = False,
    python: str = sys.executable,
    key: bytes | None = None,
    known: Known | None = None,
    records: str | Path | None = None,
    setting: Setting | None = None,
) -> Verified:
    """Verify an entry and write the keeper's record of it.

    Parameters
    ----------
    entry
        The folder of the entry.
    rerun
        Whether to run its method again. This imports and runs the code that the entry names.
    python
        The interpreter that runs it, of an environment that has the method; this one by default.
    key
        The key of the secret bank, to also test the answers on it.
    known
        What is known of the entry before tracks were added to it. It stands for the tracks whose
        answers are still the same. A second run and the secret bank are of all tracks of an entry,
        so they are not taken over.
    records
        The keeper's folder of records; by default `records`, beside the folder of entries.
    """
    setting = setting if setting is not None else Setting()
    handed = read_entry(Path(entry))
    told = checked_answers(handed)
    tracks = [find_track(name) for name in handed.entry.tracks]
    if key is not None:
        _check_key(key)
    folder = Path(records) if records is not None else records_beside(handed.folder)
    same = {} if known is None else known.still_true(told)
    others = [track for track in tracks if track.name not in same]
    found = {**same, **_recomputed(handed, others, told, setting)}
    scores = [each for track in tracks for each in found[track.name].scores]
    people = pd.concat([found[track.name].people for track in tracks], ignore_index=True)
    _check_claims(handed.entry, scores)
    earlier = record_about(handed, folder)
    if earlier is None and known is not None:
        earlier = known.of_tracks(same)
    again = earlier.rerun if earlier is not None else None
    if rerun:
        again = _run_again(handed, told, setting, python)
    secret = earlier.secret if earlier is not None else None
    if key is not None:
        secret = _under_secret(handed, tracks, told, key, setting)
    contests = earlier.contests if earlier is not None else ()
    record = Record(
        benchmark=VERSION,
        name=handed.entry.name,
        label=handed.entry.label,
        entry_sha256=handed.entry_sha256,
        answers_sha256=handed.answers_sha256,
        state=state_of(again, contests),  # type: ignore[arg-type]  # one of three
        tolerance=handed.entry.tolerance,
        verified_on=datetime.now(UTC).date().isoformat(),
        changeproof=__version__,
        rerun=again,
        findings=tuple(_findings(handed.entry, again, secret, scores)),
        tracks=handed.entry.tracks,
        promise=handed.entry.promise,
        contests=contests,
        seconds_per_person=dict(handed.entry.seconds),
        scores=tuple(scores),
        secret=secret,
    )
    write_record(folder / record.name, record, people)
    return Verified(record, people, folder / record.name)


def judge_together(entries: Sequence[str | Path], track: str, setting: Setting) -> None:
    """Put the answers of several entries to the changed models of a track.

    Models that are not kept are trained once for all of them. What comes of it is in the store,
    where `verify` finds it; it says nothing about the entries yet.
    """
    handed = [read_entry(Path(entry)) for entry in entries]
    told = {each.entry.name: read_answers(each.folder / ANSWERS) for each in handed}
    for number, part in enumerate(find_track(track).parts):
        judging(part, number, told, setting).compute()


def state_of(again: Rerun | None, contests: Sequence[Contest]) -> str:
    """Return the state of an entry whose numbers were recomputed."""
    if any(each.held < each.claimed for each in contests):
        return CONTESTED
    return REPRODUCED if again is not None and again.equal else RECOMPUTED


def record_about(handed: Handed, folder: Path) -> Record | None:
    """Return the record about an entry as it is; None where there is none."""
    place = folder / handed.entry.name
    if not (place / RECORD).exists():
        return None
    record = read_record(place)
    about = record.is_about(handed.entry_sha256, handed.answers_sha256)
    return record if about and record.benchmark == VERSION else None


def checked_answers(handed: Handed) -> dict[Cell, Told]:
    """Return the answers of an entry that is of this version, and not edited since."""
    entry, path = handed.entry, handed.folder / ANSWERS
    if entry.benchmark != VERSION:
        raise InputError(
            f"{handed.folder} is an entry of the benchmark version {entry.benchmark}; expected "
            f"{VERSION}: versions are never mixed"
        )
    if entry.answers_sha256 != handed.answers_sha256:
        raise InputError(
            f"{path} was edited after the entry was written: its hash is "
            f"{handed.answers_sha256[:12]}, the entry says {entry.answers_sha256[:12]}"
        )
    tracks = [find_track(name) for name in entry.tracks]
    told = read_answers(path)
    expected = {
        Cell(track.name, model, dataset, seed)
        for track in tracks
        for dataset, model, seed in frozen_cells(track)
    }
    for cell in told:
        if cell not in expected:
            raise InputError(f"{path}: {visible(str(cell))} is not part of the entry's tracks")
    for track in tracks:
        for cell in (each for each in sorted(expected) if each.track == track.name):
            if cell not in told:
                raise InputError(f"{path}: {cell}: nobody is answered; expected everybody")
    return told


def _recomputed(
    handed: Handed, tracks: Sequence[Track], told: Mapping[Cell, Told], setting: Setting
) -> dict[str, Found]:
    """Return what comes of putting answers to the changed models, by track."""
    parts: dict[str, list[Found]] = {track.name: [] for track in tracks}
    for run, track in _judged(handed, tracks, told, setting):
        parts[track.name].append(Found(*scores_of(run.results, run.cells, handed.entry.name)))
    return {
        name: Found(
            [score for each in found for score in each.scores],
            pd.concat([each.people for each in found], ignore_index=True),
        )
        for name, found in parts.items()
    }


def _judged(
    handed: Handed,
    tracks: Sequence[Track],
    told: Mapping[Cell, Told],
    setting: Setting,
) -> Iterator[tuple[PartRun, Track]]:
    """Yield the parts of tracks, in which the answers were put to every changed model.

    All answers are checked before the first changed model is trained.
    """
    parts = []
    for track in tracks:
        frozen = frozen_cells(track)
        for number, part in enumerate(track.parts):
            run = judging(part, number, {handed.entry.name: told}, setting)
            run.compute((Kind.BASE,))
            check_basis(run, frozen)
            for cell in run.cells:
                _check_people(handed, run, cell, told[cell])
            run.compute((Kind.BASE, Kind.COUNTERFACTUALS))
            for cell in run.cells:
                _check_contract(handed, cell, told[cell], _answers(run, cell, handed.entry.name))
            parts.append((run, track))
    for run, track in parts:
        run.compute()
        check_changed(run, frozen_cells(track))
        yield run, track


def judging(
    part: Part,
    number: int,
    told: Mapping[str, Mapping[Cell, Told]],
    setting: Setting,
    key: bytes | None = None,
) -> PartRun:
    """Return a part of a track that puts answers of entries to changed models, public or secret."""
    bank = "public" if key is None else f"secret-{key_hash(key)[:12]}"
    folder, plan = setting.folder(part, number, bank), part.judging(*told)
    handed_in = {
        name: HandedIn(
            told={
                (cell.dataset, cell.base_seed): each
                for cell, each in answers.items()
                if (cell.track, cell.model) == (part.track, part.model)
            }
        )
        for name, answers in told.items()
    }
    families = {}
    if key is not None:
        plan = plan.model_copy(update={"limit": False})
        families = {
            family: SecretFamily(family=FAMILIES.make(family), key=key) for family in plan.families
        }
    given = Given(methods=handed_in, families=families)
    return PartRun(part, resolve(plan, folder, given), folder, setting)


def _answers(run: PartRun, cell: Cell, name: str) -> Counterfactuals:
    return run.results.counterfactuals(cell.dataset, cell.base_seed, name)


def _check_people(handed: Handed, run: PartRun, cell: Cell, told: Told) -> None:
    """Refuse answers to other people than those who ask, or in another order."""
    path, expected = handed.folder / ANSWERS, run.people(cell).row_ids
    lacking = np.setdiff1d(expected, told.row_ids)
    foreign = np.setdiff1d(told.row_ids, expected)
    if len(lacking):
        raise InputError(f"{path}: {cell}: row {lacking[0]} asks and is not answered")
    if len(foreign):
        raise InputError(f"{path}: {cell}: row {foreign[0]} is answered and does not ask")
    if not np.array_equal(expected, told.row_ids):
        raise InputError(f"{path}: {cell}: people are in another order than they ask in")
    width, features = told.rows.shape[1], run.run.tasks[cell.dataset].n_features
    if told.found.any() and width != features:
        raise InputError(
            f"{path}: {cell}: counterfactuals have {width} values; expected {features}, one for "
            "every column of the standardised rows"
        )


def _check_contract(handed: Handed, cell: Cell, told: Told, found: Counterfactuals) -> None:
    """Refuse answers that are none: equal to the factual, or against the rules."""
    wrong = told.found & (found.outcomes != FOUND)
    if wrong.any():
        place = int(wrong.argmax())
        raise InputError(
            f"{handed.folder / ANSWERS}: {cell}: the answer to row {told.row_ids[place]} "
            f"{_why(str(found.outcomes[place]))}"
        )


def _why(outcome: str) -> str:
    return f"is none: {outcome}" if outcome.startswith("candidate") else f"breaks a rule: {outcome}"


def _check_claims(entry: Entry, scores: Sequence[Score]) -> None:
    """Refuse claims that do not come out; a claim is a mean over datasets of means over seeds."""
    for track, claim in entry.claims.items():
        for metric, claimed in claim.model_dump(exclude_none=True).items():
            found = track_mean(scores, track, metric)
            near = DISTANCE if metric == "distance" else RATE
            if found is None or abs(found - claimed) > near:
                out = "undefined" if found is None else f"{found:.4g}"
                raise InputError(
                    f"{entry.name} claims {metric} {claimed:g} on {track}; recomputed from its "
                    f"answers it is {out}"
                )


def track_mean(scores: Sequence[Score], track: str, metric: str) -> float | None:
    """Return a metric of a track: the mean over datasets and models of the mean over seeds."""
    values = {
        (each.dataset, each.model, each.base_seed): each.value
        for each in scores
        if (each.track, each.metric, each.family) == (track, metric, ALL) and each.value is not None
    }
    if not values:
        return None
    return float(pd.Series(values).groupby(level=[0, 1]).mean().mean())


def _run_again(handed: Handed, told: Mapping[Cell, Told], setting: Setting, python: str) -> Rerun:
    """Ask the method again, in a process of its own with a store of its own, and compare."""
    entry = handed.entry
    with tempfile.TemporaryDirectory(prefix="changeproof-rerun-") as temporary:
        out = Path(temporary) / "entries" / entry.name
        command = [python, "-m", "changeproof", "submit", entry.method]
        for track in entry.tracks:
            command += ["--track", track]
        command += ["--out", str(out), "--store", str(Path(temporary) / "store")]
        command += [] if setting.jobs is None else ["--jobs", str(setting.jobs)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            raise InputError(f"cannot run {python}: {error.strerror}") from None
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["nothing was said"])[-1]
            raise InputError(f"{entry.method} could not be run again: {visible(last)}")
        again = read_entry(out)
        return compared(handed, told, again, read_answers(out / ANSWERS))


def compared(
    handed: Handed, told: Mapping[Cell, Told], again: Handed, answers: Mapping[Cell, Told]
) -> Rerun:
    """Compare an entry with another run of its method."""
    equal = again.answers_sha256 == handed.answers_sha256
    difference: float | None = 0.0
    if not equal:
        difference = _largest_difference(told, answers)
        equal = difference is not None and difference <= handed.entry.tolerance
    return Rerun(
        equal=equal,
        difference=difference,
        people=sum(len(each.row_ids) for each in told.values()),
        changeproof=again.entry.changeproof,
        processor=processor_name(),
        seconds_per_person=dict(again.entry.seconds),
    )


def _largest_difference(one: Mapping[Cell, Told], two: Mapping[Cell, Told]) -> float | None:
    """Return the largest difference between answers; None where somebody has one answer only."""
    largest = 0.0
    for cell, told in one.items():
        again = two.get(cell)
        if again is None or not np.array_equal(told.row_ids, again.row_ids):
            return None
        if not np.array_equal(told.found, again.found):
            return None
        if told.found.any():
            apart = np.abs(told.rows[told.found] - again.rows[again.found])
            largest = max(largest, float(apart.max()))
    return largest


def _check_key(key: bytes) -> None:
    published = read_version().secret_bank_sha256
    if published is None:
        raise InputError(f"the benchmark version {VERSION} has no secret bank")
    if key_hash(key) != published:
        raise InputError(
            f"this is not the key of the secret bank of {VERSION}: its hash is "
            f"{key_hash(key)[:12]}, the version says {published[:12]}"
        )


def _under_secret(
    handed: Handed,
    tracks: Sequence[Track],
    told: Mapping[Cell, Told],
    key: bytes,
    setting: Setting,
) -> Secret:
    """Return the robustness of the answers on the secret bank."""
    scores: list[Score] = []
    for track in tracks:
        for number, part in enumerate(track.parts):
            run = judging(part, number, {handed.entry.name: told}, setting, key)
            run.compute()
            found, _ = scores_of(run.results, run.cells, handed.entry.name)
            scores += [each for each in found if each.metric in ("robustness", "end_to_end")]
    return Secret(bank=key_hash(key), scores=tuple(scores))


def _findings(
    entry: Entry, again: Rerun | None, secret: Secret | None, scores: Sequence[Score]
) -> Iterator[str]:
    """Yield what readers should know and what is no reason to refuse an entry."""
    if again is not None and not again.equal:
        how = "other people have an answer"
        if again.difference is not None:
            how = f"answers differ by up to {again.difference:.3g} deviations of a feature"
        yield (
            f"Running the method again gave other answers: {how}; the entry allows "
            f"{entry.tolerance:g}."
        )
    for track in entry.tracks if secret is not None else ():
        public = track_mean(scores, track, "robustness")
        hidden = track_mean(secret.scores if secret is not None else (), track, "robustness")
        if public is not None and hidden is not None and public - hidden > SUSPICIOUS:
            yield (
                f"On {track} answers hold in {public:.1f} % of the public bank and {hidden:.1f} % "
                "of the secret one: the method may know the public one."
            )
