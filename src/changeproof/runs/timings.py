"""What pieces took, and how long the rest of a run takes.

The log is a file of JSON lines beside the store, appended to by the one process that holds the
directory. It says how long each piece took when it was computed, also for pieces that an earlier
session computed. Times are kept here and in no piece, so that equal runs have equal pieces. Without
the log they are not known, and nothing else is missing.

The time left is guessed from the costs of pieces, and learns from what finished ones took.
"""

from __future__ import annotations

import json
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import Field, TypeAdapter, ValidationError

from changeproof.runs.pieces import FORMS, Kind, Piece

if TYPE_CHECKING:
    import pandas as pd

LOG = "timings.jsonl"
COLUMNS = ["stage", "subject", "pieces", "seconds", "processor_seconds", "share"]
# For so many guessed seconds guesses count as right, whatever was seen of other methods, and of
# other kinds: what compiles or warms up first says little of them.
DOUBT, MORE_DOUBT = 1.0, 10.0
# What runs is late when it has taken so many times what was expected of it, and seconds more.
LATE, LATE_SECONDS = 2.0, 5.0
# Seconds or MiB, and how many of something; nothing takes more.
Amount = Annotated[float, Field(strict=True, ge=0, lt=1e12)]
Count = Annotated[int, Field(strict=True, ge=0, lt=1e12)]


class Effort(NamedTuple):
    """What some work took: wall and processor seconds, and the process's peak memory in MiB.

    `search_seconds` is the part of the wall time that a method searched for counterfactuals,
    without fitting; None for what answers nobody. `processor` is what it was computed on.
    """

    seconds: Amount
    processor_seconds: Amount
    peak_memory: Amount
    search_seconds: Amount | None = None
    processor: str = ""


class Session(NamedTuple):
    """One call of the runner: how many pieces it computed and the wall time of its parts."""

    started: str
    jobs: Count = 1
    pieces: Count = 0
    compile_seconds: Amount = 0.0
    work_seconds: Amount = 0.0
    report_seconds: Amount = 0.0

    @property
    def seconds(self) -> float:
        return self.compile_seconds + self.work_seconds + self.report_seconds


_EFFORT, _SESSION = TypeAdapter(Effort), TypeAdapter(Session)


def peak_memory() -> float:
    """Return the most memory that this process has held, in MiB (0 where that is not known)."""
    if sys.platform == "win32":
        return 0.0
    import resource

    kibibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kibibytes / (1024.0 * 1024.0 if sys.platform == "darwin" else 1024.0)


def log_piece(folder: Path, piece: Piece, effort: Effort) -> None:
    _append(folder, {"piece": piece.file_stem, **effort._asdict()})


def log_session(folder: Path, session: Session) -> None:
    _append(folder, {"session": session._asdict()})


def sessions(folder: Path) -> list[Session]:
    """Return the calls of the runner that computed something, oldest first."""
    found = []
    for line in _lines(folder):
        with suppress(ValidationError):
            found.append(_SESSION.validate_python(line.get("session")))
    return found


def piece_efforts(folder: Path) -> dict[str, Effort]:
    """Return what each piece took, by file stem; the latest where one was computed again."""
    found = {}
    for line in _lines(folder):
        with suppress(ValidationError):
            if isinstance(stem := line.pop("piece", None), str):
                found[stem] = _EFFORT.validate_python(line)
    return found


def timings_table(folder: Path, pieces: Sequence[Piece]) -> pd.DataFrame:
    import pandas as pd  # when it is needed: `status` does without

    efforts = piece_efforts(folder)
    rows = [
        (FORMS[piece.kind].label, piece.subject, 1, *efforts[piece.file_stem][:2])
        for piece in pieces
        if piece.file_stem in efforts
    ]
    table = pd.DataFrame(rows, columns=COLUMNS[:-1])
    table = table.groupby(COLUMNS[:2], sort=False).sum().reset_index()
    total = table["seconds"].sum()
    return table.assign(share=100.0 * table["seconds"] / total if total else 0.0)


def largest_memory(folder: Path) -> float:
    """Return the peak memory of the largest process that computed a piece, in MiB."""
    return max((effort.peak_memory for effort in piece_efforts(folder).values()), default=0.0)


def _append(folder: Path, line: Mapping[str, Any]) -> None:
    # Times are not worth a failed run.
    with suppress(OSError), (folder / LOG).open("a+b") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":  # half a line of a killed run
                file.write(b"\n")
        file.write(json.dumps(line).encode() + b"\n")


def _lines(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the whole lines of the log; half of one, or a damaged one, is passed over."""
    try:
        content = (folder / LOG).read_bytes()
    except OSError:
        return
    for text in content.split(b"\n"):
        with suppress(ValueError, RecursionError):  # not JSON, not UTF-8, or nested too deeply
            if isinstance(line := json.loads(text.decode()), dict):
                yield line


class Forecast(NamedTuple):
    """The seconds that are left, and the share of the work that is done, from 0 to 1.

    `late` has the first piece of every job that takes much longer than expected. `is_late` may be
    true without any: where nobody tells what runs, something does, and it is late when all should
    be done.
    """

    left: float
    share: float
    late: list[Piece]
    is_late: bool


# Seconds and guesses of pieces, by what they are alike in.
_Seen = dict[tuple[Kind | None, str], list[tuple[float, float]]]


class Pace:
    """Forecasts from the guesses of pieces and what the finished ones took.

    A guess is multiplied by what finished pieces of its kind and method (or family) took per
    guessed second; where there are none, by that of its kind, or of all, held back by doubt. What
    runs longer than guessed teaches that already while it runs, so that what is left grows little
    by little and not at once when it is finished. It is expected to run on for as long as it is
    late. May be asked by other threads.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock, self.workers = clock, 1
        self._lock = threading.Lock()
        self._spent = 0.0
        self._waiting: dict[str, Piece] = {}
        # What runs: since when, and which pieces, by job; empty where nobody tells.
        self._running: dict[str, tuple[float, list[Piece]]] = {}
        self._seen: _Seen = {}
        self._heard = clock()
        self._share = 0.0

    def planned(self, pieces: Iterable[Piece]) -> None:
        with self._lock:
            self._waiting = {piece.fingerprint: piece for piece in pieces}
            self._heard, self._share = self.clock(), 0.0

    def resumed(self) -> None:
        """Do not count what has passed since the last news as work."""
        self._heard = self.clock()

    def job_started(self, pieces: Sequence[Piece]) -> None:
        """Take note of what runs from now on: pieces that one worker makes together."""
        with self._lock:
            self._running[pieces[0].job] = (self.clock(), list(pieces))

    def finished(self, piece: Piece, seconds: float) -> None:
        """Learn from a finished piece; without seconds, only that it is not to be waited for."""
        with self._lock:
            self._waiting.pop(piece.fingerprint, None)
            self._running.pop(piece.job, None)
            self._heard = self.clock()
            self._spent += seconds
            if seconds > 0.0 and piece.cost > 0.0:
                _learn(self._seen, piece, seconds, piece.cost)

    def forecast(self) -> Forecast:
        with self._lock:
            now, workers = self.clock(), max(self.workers, 1)
            seen = {key: [*each] for key, each in self._seen.items()}
            waiting = dict(self._waiting)
            jobs: list[tuple[float, bool, Piece | None]] = []  # how long each goes on; is it late?
            for since, pieces in self._running.values():
                elapsed, guess = now - since, sum(piece.cost for piece in pieces)
                expected = sum(piece.cost * _times_guess(self._seen, piece) for piece in pieces)
                jobs.append((abs(expected - elapsed), _late(elapsed, expected), pieces[0]))
                if elapsed > guess > 0.0:
                    _learn(seen, pieces[0], elapsed, guess)
                for piece in pieces:
                    waiting.pop(piece.fingerprint, None)
            # Once for all pieces that are alike: there may be thousands.
            alike = {(piece.kind, piece.subject): piece for piece in waiting.values()}
            times = {key: _times_guess(seen, piece) for key, piece in alike.items()}
            waits = sum(p.cost * times[p.kind, p.subject] for p in waiting.values())
            if not jobs and waiting:
                silence, expected = now - self._heard, waits / workers
                jobs = [(max(silence - expected, 0.0), _late(silence, expected), None)]
            rests = [rest for rest, _, _ in jobs]
            work = sum(rests) + waits
            # The share never falls: what is done stays done, whatever the rest will take.
            if self._spent + work > 0.0:
                self._share = max(self._share, self._spent / (self._spent + work))
            late = [piece for _, is_late, piece in jobs if is_late]
            known = [piece for piece in late if piece is not None]
            return Forecast(max([work / workers, *rests]), self._share, known, bool(late))


def _keys(piece: Piece) -> dict[tuple[Kind | None, str], float]:
    """Return what pieces are alike in, the closest likeness first, and how much to doubt it."""
    own, alike = (piece.kind, piece.subject), (piece.kind, "")
    return {own: 0.0} | ({} if own == alike else {alike: DOUBT}) | {(None, ""): MORE_DOUBT}


def _learn(seen: _Seen, piece: Piece, seconds: float, guess: float) -> None:
    for key in _keys(piece):
        seen.setdefault(key, []).append((seconds, guess))


def _times_guess(seen: _Seen, piece: Piece) -> float:
    """Return how many times its guess a piece is expected to take: the median of its likes.

    With doubt, the guesses count as one more piece, of which they were right.
    """
    for key, doubt in _keys(piece).items():
        if key in seen:
            ratios = [(seconds + doubt) / (guess + doubt) for seconds, guess in seen[key]]
            return math.exp(median(map(math.log, [*ratios, *[1.0] * (doubt > 0.0)])))
    return 1.0


def _late(elapsed: float, expected: float) -> bool:
    return elapsed > LATE * expected + LATE_SECONDS
