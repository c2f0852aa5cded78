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
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from changeproof.runs.pieces import FORMS, Kind, Piece

if TYPE_CHECKING:
    import pandas as pd

LOG = "timings.jsonl"
# Seconds or MiB that nothing takes.
LARGEST = 1e12
# For so many guessed seconds guesses count as right, whatever was seen of other methods, and of
# other kinds: what compiles or warms up first says little of them.
DOUBT, MORE_DOUBT = 1.0, 10.0
# What runs is late when it has taken so many times what was expected of it, and seconds more.
LATE, LATE_SECONDS = 2.0, 5.0

# Seconds and guesses, by what pieces are alike in.
_Seen = dict[tuple[Kind | None, str], list[tuple[float, float]]]
COLUMNS = ["stage", "subject", "pieces", "seconds", "processor_seconds", "share"]


class Effort(NamedTuple):
    """What some work took: wall and processor seconds, and the process's peak memory in MiB.

    `search_seconds` is the part of the wall time that a method searched for counterfactuals,
    without fitting; None for what answers nobody. `processor` is what it was computed on.
    """

    seconds: float
    processor_seconds: float
    peak_memory: float
    search_seconds: float | None = None
    processor: str = ""


@dataclass(frozen=True, kw_only=True)
class Session:
    """One call of the runner: how many pieces it computed and the wall time of its parts."""

    started: str
    jobs: int = 1
    pieces: int = 0
    compile_seconds: float = 0.0
    work_seconds: float = 0.0
    report_seconds: float = 0.0

    @property
    def seconds(self) -> float:
        """Wall time of all of it."""
        return self.compile_seconds + self.work_seconds + self.report_seconds


def peak_memory() -> float:
    """Return the most memory that this process has held, in MiB (NaN where that is not told)."""
    if sys.platform == "win32":
        return float("nan")
    import resource

    kibibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kibibytes / (1024.0 * 1024.0 if sys.platform == "darwin" else 1024.0)


def log_piece(folder: Path, piece: Piece, effort: Effort) -> None:
    """Record what a piece took."""
    _append(folder, {"piece": piece.file_stem, **effort._asdict()})


def log_session(folder: Path, session: Session) -> None:
    """Record a call of the runner."""
    _append(folder, {"session": asdict(session)})


def sessions(folder: Path) -> list[Session]:
    """Return the calls of the runner that computed something, oldest first."""
    lines = [line for line in _lines(folder) if _is_session(line.get("session"))]
    return [Session(**line["session"]) for line in lines]


def piece_efforts(folder: Path) -> dict[str, Effort]:
    """Return what each piece took, by file stem; the latest where one was computed again."""
    return {
        line["piece"]: Effort(**{name: line[name] for name in Effort._fields if name in line})
        for line in _lines(folder)
        if isinstance(line.get("piece"), str) and _is_effort(line)
    }


def timings_table(folder: Path, pieces: Sequence[Piece]) -> pd.DataFrame:
    """Return seconds by stage and subject, for the pieces of a plan whose time is known."""
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


def _lines(folder: Path) -> list[dict[str, Any]]:
    """Return the whole lines of the log; half of one, or a damaged one, is passed over."""
    try:
        content = (folder / LOG).read_bytes()
    except OSError:
        return []
    lines = []
    for text in content.split(b"\n"):
        with suppress(ValueError, RecursionError):  # not JSON, not UTF-8, or nested too deeply
            lines.append(json.loads(text.decode()))
    return [line for line in lines if isinstance(line, dict)]


def _is_effort(line: Mapping[str, Any]) -> bool:
    """Say whether a line tells what something took."""
    search, processor = line.get("search_seconds"), line.get("processor", "")
    memory = line.get("peak_memory")
    return (
        all(_is_amount(line.get(name)) for name in ("seconds", "processor_seconds"))
        and (_is_amount(memory) or (isinstance(memory, float) and math.isnan(memory)))
        and (search is None or _is_amount(search))
        and isinstance(processor, str)
    )


def _is_session(found: Any) -> bool:
    """Say whether a line tells of a call of the runner."""
    known = {each.name for each in fields(Session)}
    return (
        isinstance(found, dict)
        and isinstance(found.get("started"), str)
        and found.keys() <= known
        and all(_is_amount(value) for name, value in found.items() if name != "started")
        and all(isinstance(found.get(name, 0), int) for name in ("jobs", "pieces"))
    )


def _is_amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < LARGEST


def _ratio(seen: Sequence[tuple[float, float]], doubt: float) -> float:
    """Return how many times their guesses pieces took: that of the one in the middle.

    With doubt, the guesses count as one more piece, of which they were right.
    """
    ratios = [(seconds + doubt) / (guessed + doubt) for seconds, guessed in seen]
    return math.exp(median(math.log(ratio) for ratio in [*ratios, *[1.0] * (doubt > 0.0)]))


@dataclass
class Pace:
    """The seconds that are left, from the guesses of pieces and what the finished ones took.

    A guess is multiplied by what finished pieces of its kind and method (or family) took per
    guessed second; where there are none, by that of its kind, or of all, held back by doubt. What
    runs longer than guessed teaches that already while it runs, so that what is left grows little
    by little and not at once when it is finished. It is expected to run on for as long as it is
    late. May be asked by other threads.

    Parameters
    ----------
    clock
        Tells the time in seconds.
    """

    clock: Callable[[], float] = time.monotonic
    workers: int = 1
    spent: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, Piece] = {}
        # What runs: since when, and which pieces, by what they share; empty where nobody tells.
        self._running: dict[str, tuple[float, list[Piece]]] = {}
        # Seconds and guesses of what is finished.
        self._seen: _Seen = {}
        self._heard = self.clock()
        # The largest share that was told: what is done stays done, whatever the rest will take.
        self._told = 0.0

    def planned(self, pieces: Iterable[Piece]) -> None:
        """Take note of what is to be done."""
        with self._lock:
            self._waiting = {piece.fingerprint: piece for piece in pieces}
            self._heard, self._told = self.clock(), 0.0

    def resumed(self) -> None:
        """Do not count what has passed since the last news as work."""
        self._heard = self.clock()

    def begun(self, pieces: Sequence[Piece]) -> None:
        """Take note of what runs from now on: pieces that one worker makes together."""
        with self._lock:
            self._running[pieces[0].job] = (self.clock(), list(pieces))

    def finished(self, piece: Piece, seconds: float) -> None:
        """Learn from a finished piece; without seconds, only that it is not to be waited for."""
        with self._lock:
            self._waiting.pop(piece.fingerprint, None)
            self._running.pop(piece.job, None)
            self._heard = self.clock()
            self.spent += seconds
            if seconds > 0.0 and piece.cost > 0.0:
                for key in _keys(piece):
                    self._seen.setdefault(key, []).append((seconds, piece.cost))

    def expected(self, piece: Piece) -> float:
        """Return the seconds that a piece is expected to take, as far as is known by now."""
        return self._expected(piece, self._late_ones())

    def _expected(self, piece: Piece, late: _Seen) -> float:
        for key, doubt in _keys(piece).items():
            if seen := [*self._seen.get(key, ()), *late.get(key, ())]:
                return piece.cost * _ratio(seen, doubt)
        return piece.cost

    def _late_ones(self) -> _Seen:
        """Return of what runs longer than guessed how long it has by now, and the guess."""
        now, found = self.clock(), _Seen()
        for since, pieces in self._running.values():
            guessed = sum(piece.cost for piece in pieces)
            if now - since > guessed > 0.0:
                for key in _keys(pieces[0]):
                    found.setdefault(key, []).append((now - since, guessed))
        return found

    @property
    def left(self) -> float:
        """The seconds until all is done."""
        with self._lock:
            running = [rest for rest, _, _ in self._rests()]
            together = sum(running) + self._waits()
            return max([together / max(self.workers, 1), *running])

    @property
    def share(self) -> float:
        """The share of the work that is done, from 0 to 1; it never falls."""
        with self._lock:
            left = sum(rest for rest, _, _ in self._rests()) + self._waits()
            share = self.spent / (self.spent + left) if self.spent + left > 0.0 else 0.0
            self._told = max(self._told, share)
            return self._told

    @property
    def late(self) -> list[Piece]:
        """Of what takes much longer than expected, the first piece each."""
        with self._lock:
            return [piece for _, late, piece in self._rests() if late and piece is not None]

    @property
    def is_late(self) -> bool:
        """Whether something takes much longer than expected, known or not which."""
        with self._lock:
            return any(late for _, late, _ in self._rests())

    def _rests(self) -> list[tuple[float, bool, Piece | None]]:
        """Return of all that runs how long it goes on, whether it is late, and its first piece."""
        now = self.clock()
        running = [
            (now - since, sum(self._expected(piece, {}) for piece in pieces), pieces[0])
            for since, pieces in self._running.values()
        ]
        if not running and self._waiting:
            # Nobody tells what runs. Something does, and it is late when all should be done.
            expected = self._waits() / max(self.workers, 1)
            silence = now - self._heard
            return [(max(silence - expected, 0.0), _late(silence, expected), None)]
        return [
            (abs(expected - elapsed), _late(elapsed, expected), piece)
            for elapsed, expected, piece in running
        ]

    def _waits(self) -> float:
        """Return what is expected of all that does not run yet."""
        running = {piece.fingerprint for _, pieces in self._running.values() for piece in pieces}
        waiting = (piece for key, piece in self._waiting.items() if key not in running)
        late = self._late_ones()
        return sum(self._expected(piece, late) for piece in waiting)


def _keys(piece: Piece) -> dict[tuple[Kind | None, str], float]:
    """Return what pieces are alike in, the closest likeness first, and how much to doubt it."""
    own, alike = (piece.kind, piece.subject), (piece.kind, "")
    return {own: 0.0} | ({} if own == alike else {alike: DOUBT}) | {(None, ""): MORE_DOUBT}


def _late(elapsed: float, expected: float) -> bool:
    return elapsed > LATE * expected + LATE_SECONDS
