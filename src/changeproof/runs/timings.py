"""Where the time of a run went: a log beside the store, and tables made from it.

The log is a file of JSON lines, appended to by the one process that holds the directory. It says
how long each piece took when it was computed, also for pieces that an earlier session computed.
Times are kept here and in no piece, so that equal runs have equal pieces. Without the log they
are not known, and nothing else is missing.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from changeproof.runs.pieces import FORMS, Piece

if TYPE_CHECKING:
    import pandas as pd

LOG = "timings.jsonl"
# Seconds or MiB that nothing takes.
LARGEST = 1e12
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


def _is_session(said: Any) -> bool:
    """Say whether a line tells of a call of the runner."""
    known = {each.name for each in fields(Session)}
    return (
        isinstance(said, dict)
        and isinstance(said.get("started"), str)
        and said.keys() <= known
        and all(_is_amount(value) for name, value in said.items() if name != "started")
        and all(isinstance(said.get(name, 0), int) for name in ("jobs", "pieces"))
    )


def _is_amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < LARGEST
