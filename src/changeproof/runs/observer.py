"""Following a run: what is said of it while it goes on."""

from __future__ import annotations

from pathlib import Path

from changeproof.runs.execution import Finished
from changeproof.runs.piece import Piece
from changeproof.runs.store import Inventory


class Observer:
    """Follows a run; override what is of interest."""

    def planned(self, inventory: Inventory) -> None:
        """Say what is there and what is to be done."""

    def told(self, text: str) -> None:
        """Pass on what people should know."""

    def damaged(self, path: Path) -> None:
        """Name a damaged file, which is going to be computed again."""

    def compiling(self) -> None:
        """Say that kernels are being compiled (seconds, the first time only)."""

    def workers(self, count: int) -> None:
        """Say how many workers there are, at first and when that changes."""

    def started(self, pieces: list[Piece]) -> None:
        """Say that work on pieces begins."""

    def begun(self, pieces: list[Piece]) -> None:
        """Say that a worker begins to make pieces, one after the other, where that is known."""

    def finished(self, item: Finished) -> None:
        """Say that a piece was computed or failed."""
