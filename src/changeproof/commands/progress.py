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
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from changeproof.errors import as_options, visible
from changeproof.runs.execute import Observer, Outcome
from changeproof.runs.pieces import FORMS, Kind, Piece
from changeproof.runs.store import Inventory
from changeproof.runs.timings import Pace

SECONDS_BETWEEN_LINES = 10.0
# Without a terminal: after how long a silence it is said what is being done, and how often again.
SILENCE, STILL = 2.0, 30.0
REPORTING = "tables and report"


@contextmanager
def patience(what: str, seconds: float = 2.0) -> Iterator[None]:
    """Print what is being done on standard error, if it takes longer than a few seconds."""
    console = Console(stderr=True, emoji=False)
    timer = threading.Timer(seconds, lambda: console.print(f"{visible(what)} …", markup=False))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class _TimeLeft(ProgressColumn):
    """The time left, as the pace of the run has it."""

    max_refresh = 0.5

    def __init__(self, pace: Pace) -> None:
        super().__init__()
        self.pace = pace

    def render(self, task: Task) -> Text:
        """Return the time left; nothing is known before there is a plan."""
        if task.total is None:
            return Text("-:--:--", style="progress.remaining")
        minutes, seconds = divmod(round(self.pace.left), 60)
        left = f"{minutes // 60}:{minutes % 60:02d}:{seconds:02d}"
        late = " (longer than expected)" if self.pace.is_late else ""
        return Text(left + late, style="progress.remaining")


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
        self.console = console if console is not None else Console(stderr=True, emoji=False)
        self._doing, self._ended = visible(beginning), threading.Event()
        self._pace = Pace()
        self._bar = Progress(
            TextColumn("{task.description:<28}", markup=False),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeElapsedColumn(),
            TextColumn("left:"),
            _TimeLeft(self._pace),
            console=self.console,
            disable=not self.console.is_terminal,
        )
        self._task: TaskID | None = None
        self._planned = False
        self._left: Counter[Kind] = Counter()
        self._workers: int | None = None
        self._spoke = time.monotonic()

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
        if self._task is not None and not self._planned:
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
                waited = f" ({now - since:.0f} s){self._time_left()}" if doing == said else ""
                self._say(f"{doing} …{waited}")
                said = doing

    def planned(self, inventory: Inventory) -> None:
        """Show how much is done already, and set up the bar for the rest."""
        left = [*inventory.damaged, *inventory.missing]
        if inventory.done:
            self._say(f"{len(inventory.done)} pieces are done already, {len(left)} to do")
        self._planned = bool(left)
        self._pace.planned(left)
        self._describe("starting" if left else REPORTING)
        if left and self._task is not None:
            self._bar.reset(self._task, total=1.0)

    def told(self, text: str) -> None:
        """Print a note on what was given."""
        self._say(text)

    def damaged(self, path: Path) -> None:
        """Name a damaged file."""
        self._say(f"damaged, computed again: {path}")

    def compiling(self) -> None:
        """Say why the first seconds pass."""
        self._describe("compiling (first time only)")

    def workers(self, count: int) -> None:
        """Show how many workers there are."""
        if self._workers is not None:
            self._say(f"{count} worker{'s' if count != 1 else ''} now, {self._workers} before")
        self._workers = self._pace.workers = count

    def started(self, pieces: list[Piece]) -> None:
        """Show what is going to be computed."""
        self._left = Counter(piece.kind for piece in pieces)
        self._pace.resumed()
        present = [FORMS[kind].label for kind in Kind if self._left[kind]]
        self._describe()
        if not self.console.is_terminal:
            hands = f" for {self._workers} workers" if (self._workers or 0) > 1 else ""
            self._say(f"{', '.join(present)}: {len(pieces)} pieces{hands}")

    def begun(self, pieces: list[Piece]) -> None:
        """Look at the clock."""
        self._pace.begun(pieces)

    def finished(self, item: Outcome) -> None:
        """Move the bar."""
        self._pace.finished(item.piece, item.effort.seconds)
        self._left[item.piece.kind] -= 1
        self._describe()
        if self._task is not None:
            self._bar.update(self._task, completed=self._pace.share)
        if item.failure is not None:
            self._say(f"failed: {item.piece.label}: {item.error}")
        now = time.monotonic()
        if not self.console.is_terminal and now - self._spoke > SECONDS_BETWEEN_LINES:
            self._say(self._time_left().removeprefix(", "))

    def _time_left(self) -> str:
        """Return how much is done and how long the rest takes, where that is known."""
        if not self._planned or self._doing == REPORTING:
            return ""
        pieces = [piece for piece in self._pace.late if piece.subject]
        late = [f"{FORMS[piece.kind].label} of {piece.subject}" for piece in pieces]
        longer = f": {', '.join(late[:2])}" if late else ""
        longer = f" (longer than expected{longer})" if self._pace.is_late else ""
        return f", {self._pace.share:.0%} done, about {self._pace.left:.0f} s left{longer}"

    def _describe(self, text: str = "") -> None:
        """Show a text, or else the kind of pieces that is to be done first."""
        left = [FORMS[kind].label for kind in Kind if self._left[kind] > 0]
        hands = f", {self._workers} workers" if (self._workers or 0) > 1 else ""
        self._doing = text or (f"{left[0]}{hands}" if left else REPORTING)
        if self._task is not None:
            self._bar.update(self._task, description=self._doing)

    def _say(self, text: str) -> None:
        self._spoke = time.monotonic()
        self.console.print(visible(as_options(text)), markup=False, highlight=False, soft_wrap=True)
