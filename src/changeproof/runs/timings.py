"""What pieces took.

The log is a file of JSON lines beside the store, appended to by the one process that holds the
directory. It says how long each piece took when it was computed, also for pieces that an earlier
session computed. Times are kept here and in no piece, so that equal runs have equal pieces. Without
the log they are not known, and nothing else is missing.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import Field, TypeAdapter, ValidationError

from changeproof.runs.pieces import FORMS, Piece

if TYPE_CHECKING:
    import pandas as pd

LOG = "timings.jsonl"
COLUMNS = ["stage", "subject", "pieces", "seconds", "processor_seconds", "share"]
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
