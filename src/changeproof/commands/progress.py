"""Progress on the console: a bar with the time left, or plain lines without a terminal."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from changeproof.errors import as_options, visible
from changeproof.runs.execute import Observer, Outcome
from changeproof.runs.pieces import FORMS, Kind, Piece
from changeproof.runs.store import Inventory

SECONDS_BETWEEN_LINES = 10.0
# Without a terminal, seconds of silence until what is being done is printed, and printed again.
SILENCE, STILL = 2.0, 30.0
# The time left is guessed from what was done in the last so many seconds.
RECENT = 600.0
REPORTING = "tables and report"


@contextmanager
def announce_if_slow(what: str, seconds: float = 2.0) -> Iterator[None]:
    """Print what is being done on standard error, if it takes longer than a few seconds."""
    console = Console(stderr=True, emoji=False)
    timer = threading.Timer(seconds, lambda: console.print(f"{visible(what)} …", markup=False))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def counting(what: str, seconds: float = 2.0) -> Iterator[Callable[[int, int], None]]:
    """Give what is told how many of how many are done; shown if it takes longer than seconds."""
    console, begun = Console(stderr=True, emoji=False), time.monotonic()
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.completed} of {task.total}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    task = bar.add_task(visible(what), total=None)
    last = begun

    def done(number: int, every: int) -> None:
        nonlocal last
        now = time.monotonic()
        if console.is_terminal:
            bar.update(task, completed=number, total=every)
            if now - begun > seconds:
                bar.start()
        elif now - last > (seconds if last == begun else SECONDS_BETWEEN_LINES):
            last = now
            console.print(f"{visible(what)}: {number} of {every}", markup=False)

    try:
        yield done
    finally:
        bar.stop()


class ConsoleObserver(Observer):
    """Shows a run on standard error, from reading the data to writing the report.

    `beginning` is what is done before there is a plan.
    """

    def __init__(self, console: Console | None = None, beginning: str = "reading the data") -> None:
        self.console = console if console is not None else Console(stderr=True, emoji=False)
        self._doing, self._ended = visible(beginning), threading.Event()
        self._bar = Progress(
            TextColumn("{task.description:<28}", markup=False),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeElapsedColumn(),
            TextColumn("left:"),
            TimeRemainingColumn(),
            console=self.console,
            speed_estimate_period=RECENT,
            disable=not self.console.is_terminal,
        )
        # How much there is to do is not known yet: a bar that only moves.
        self._task = self._bar.add_task(self._doing, total=None)
        self._planned = False
        self._left: Counter[Kind] = Counter()
        self._running: dict[str, Piece] = {}  # the first piece of every job, where that is known
        self._workers: int | None = None
        self._last_line = self._last_finished = time.monotonic()

    def __enter__(self) -> Self:
        self._bar.start()
        if not self.console.is_terminal:
            threading.Thread(target=self._break_silence, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        if not self._planned:
            self._bar.remove_task(self._task)
        self._bar.stop()

    def _break_silence(self) -> None:
        """Print what is being done when nothing has been printed for some time."""
        seen = printed = ""
        since = time.monotonic()
        while not self._ended.wait(SILENCE / 10):
            now, doing = time.monotonic(), self._doing
            if doing != seen:
                seen, since = doing, now
            if now - self._last_line > (STILL if doing == printed else SILENCE):
                waited = f" ({now - since:.0f} s){self._time_left()}" if doing == printed else ""
                self._write_line(f"{doing} …{waited}")
                printed = doing

    def planned(self, inventory: Inventory) -> None:
        left = [*inventory.damaged, *inventory.missing]
        if inventory.done:
            self._write_line(f"{len(inventory.done)} pieces are done already, {len(left)} to do")
        self._planned = bool(left)
        self._describe("starting" if left else REPORTING)
        if left:
            self._bar.reset(self._task, total=sum(piece.cost for piece in left))

    def note(self, text: str) -> None:
        self._write_line(text)

    def damaged(self, path: Path) -> None:
        self._write_line(f"damaged, computed again: {path}")

    def compiling(self) -> None:
        self._describe("compiling (first time only)")

    def workers(self, count: int) -> None:
        if self._workers is not None:
            self._write_line(
                f"{count} worker{'s' if count != 1 else ''} now, {self._workers} before"
            )
        self._workers = count

    def started(self, pieces: list[Piece]) -> None:
        self._left = Counter(piece.kind for piece in pieces)
        self._describe()
        if not self.console.is_terminal:
            kinds = ", ".join(FORMS[kind].label for kind in Kind if self._left[kind])
            workers = f" for {self._workers} workers" if (self._workers or 0) > 1 else ""
            self._write_line(f"{kinds}: {len(pieces)} pieces{workers}")

    def job_started(self, pieces: list[Piece]) -> None:
        self._running[pieces[0].job] = pieces[0]

    def finished(self, item: Outcome) -> None:
        self._last_finished = time.monotonic()
        self._running.pop(item.piece.job, None)
        self._left[item.piece.kind] -= 1
        self._describe()
        self._bar.advance(self._task, item.piece.cost)
        if item.failure is not None:
            self._write_line(f"failed: {item.piece.label}: {item.error}")
        quiet = time.monotonic() - self._last_line
        if not self.console.is_terminal and quiet > SECONDS_BETWEEN_LINES:
            self._write_line(self._time_left().removeprefix(", "))

    def _time_left(self) -> str:
        """Return how much is done and how long the rest takes, where that is known."""
        if not self._planned or self._doing == REPORTING:
            return ""
        task = self._bar.tasks[0]
        # What finished says little once the next has taken longer than all should.
        known, waited = task.time_remaining, time.monotonic() - self._last_finished
        left = "" if known is None or waited > known else f", about {known:.0f} s left"
        pieces = [piece for piece in self._running.copy().values() if piece.subject][:2]
        named = ", ".join(f"{FORMS[piece.kind].label} of {piece.subject}" for piece in pieces)
        return f", {task.percentage:.0f}% done{left}" + (f" (now {named})" if named else "")

    def _describe(self, text: str = "") -> None:
        """Show a text, or else the kind of pieces that is to be done first."""
        left = [FORMS[kind].label for kind in Kind if self._left[kind] > 0]
        workers = f", {self._workers} workers" if (self._workers or 0) > 1 else ""
        self._doing = text or (f"{left[0]}{workers}" if left else REPORTING)
        self._bar.update(self._task, description=self._doing)

    def _write_line(self, text: str) -> None:
        self._last_line = time.monotonic()
        self.console.print(visible(as_options(text)), markup=False, highlight=False, soft_wrap=True)
