"""Progress on the console: a bar with the time left, or plain lines without a terminal."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from changeproof.runs.execution import Finished
from changeproof.runs.observer import Observer
from changeproof.runs.piece import Kind, Piece
from changeproof.runs.store import Inventory
from changeproof.runs.timings import NAMES

SECONDS_BETWEEN_LINES = 10.0
# Without a terminal: after how long a silence it is said what is being done, and how often again.
SILENCE, STILL = 2.0, 30.0
REPORTING = "tables and report"


@contextmanager
def patience(what: str, seconds: float = 2.0) -> Iterator[None]:
    """Print what is being done on standard error, if it takes longer than a few seconds."""
    console = Console(stderr=True)
    timer = threading.Timer(seconds, lambda: console.print(f"{what} …", markup=False))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class ConsoleObserver(Observer):
    """Shows a run on standard error, from reading the data to writing the report.

    Parameters
    ----------
    console
        Where to; standard error by default.
    beginning
        What is done before there is a plan.
    """

    def __init__(self, console: Console | None = None, beginning: str = "reading the data") -> None:
        self.console = console if console is not None else Console(stderr=True)
        self._doing, self._ended = beginning, threading.Event()
        self._bar = Progress(
            TextColumn("{task.description:<28}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeElapsedColumn(),
            TextColumn("left:"),
            TimeRemainingColumn(),
            console=self.console,
            disable=not self.console.is_terminal,
        )
        self._task: TaskID | None = None
        self._total = self._done = 0.0
        self._left: Counter[Kind] = Counter()
        self._workers: int | None = None
        self._began = self._spoke = time.monotonic()

    def __enter__(self) -> Self:
        self._bar.start()
        # How much there is to do is not known yet: a bar that only moves.
        self._task = self._bar.add_task(self._doing, total=None)
        if not self.console.is_terminal:
            threading.Thread(target=self._break_silence, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        if self._task is not None and not self._total:
            self._bar.remove_task(self._task)
        self._bar.stop()

    def _break_silence(self) -> None:
        """Say what is being done when nothing has been said for some time."""
        seen = said = ""
        since = time.monotonic()
        while not self._ended.wait(SILENCE / 10):
            now, doing = time.monotonic(), self._doing
            if doing != seen:
                seen, since = doing, now
            if now - self._spoke > (STILL if doing == said else SILENCE):
                waited = f" ({now - since:.0f} s)" if doing == said else ""
                self._say(f"{doing} …{waited}")
                said = doing

    def planned(self, inventory: Inventory) -> None:
        """Show how much is done already, and set up the bar for the rest."""
        left = [*inventory.damaged, *inventory.missing]
        if inventory.done:
            self._say(f"{len(inventory.done)} pieces are done already, {len(left)} to do")
        self._total = sum(piece.cost for piece in left)
        self._describe("starting" if left else REPORTING)
        if left and self._task is not None:
            self._bar.reset(self._task, total=self._total)

    def told(self, text: str) -> None:
        """Print a note on what was given."""
        self._say(text)

    def damaged(self, path: Path) -> None:
        """Name a damaged file."""
        self._say(f"damaged, computed again: {path}")

    def compiling(self) -> None:
        """Say why the first seconds pass."""
        self._describe("compiling (first time only)")
        self._began = time.monotonic()

    def workers(self, count: int) -> None:
        """Show how many workers there are."""
        if self._workers is not None:
            self._say(f"{count} worker{'s' if count != 1 else ''} now, {self._workers} before")
        self._workers = count

    def started(self, pieces: list[Piece]) -> None:
        """Show what is going to be computed."""
        self._left = Counter(piece.kind for piece in pieces)
        present = [NAMES[kind] for kind in Kind if self._left[kind]]
        self._describe()
        if not self.console.is_terminal:
            hands = f" for {self._workers} workers" if (self._workers or 0) > 1 else ""
            self._say(f"{', '.join(present)}: {len(pieces)} pieces{hands}")

    def finished(self, item: Finished) -> None:
        """Move the bar."""
        self._done += item.piece.cost
        self._left[item.piece.kind] -= 1
        self._describe()
        if self._task is not None:
            self._bar.update(self._task, completed=self._done)
        if item.failure is not None:
            self._say(f"failed: {item.piece.label}: {item.error}")
        now = time.monotonic()
        if not self.console.is_terminal and now - self._spoke > SECONDS_BETWEEN_LINES:
            left = (now - self._began) * (self._total - self._done) / self._done
            self._say(f"{self._done / self._total:.0%} done, about {left:.0f} s left")

    def _describe(self, text: str = "") -> None:
        """Show a text, or else the kind of pieces that is to be done first."""
        left = [NAMES[kind] for kind in Kind if self._left[kind] > 0]
        hands = f", {self._workers} workers" if (self._workers or 0) > 1 else ""
        self._doing = text or (f"{left[0]}{hands}" if left else REPORTING)
        if self._task is not None:
            self._bar.update(self._task, description=self._doing)

    def _say(self, text: str) -> None:
        self._spoke = time.monotonic()
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)
