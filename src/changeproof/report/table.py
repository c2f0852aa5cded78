"""A table to read: headings and cells, before anything is said of how they look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from changeproof.report.numbers import Measured

Cell = str | int | Measured


class Heading(NamedTuple):
    """The heading of a column, and whether more (↑) or less (↓) is better.

    Where room is scarce, LaTeX sets `lines` one over the other, and screens show `short`.
    """

    name: str
    arrow: str = ""
    left: bool = False
    short: str = ""
    lines: tuple[str, ...] = ()

    @property
    def on_screen(self) -> str:
        """The heading as screens show it."""
        return self.short or self.name


# The metrics by name: heading and digits.
METRICS = {
    "coverage": (Heading("Coverage", "↑"), 1),
    "base_validity": (Heading("Base valid", "↑", short="Valid"), 1),
    "empirical_robustness": (Heading("Emp. robust.", "↑", short="Robust"), 1),
    "end_to_end_robustness": (Heading("E2E robust.", "↑", short="End-to-end"), 1),
    "distance": (Heading("Distance", "↓"), 3),
}


@dataclass(frozen=True)
class Table:
    """A table: headings, and rows in sections, each with a title of its own (or none).

    `title` is short, for screens, and `caption` says everything, for print. A `compact` table has
    so many columns that screens show means alone.
    """

    name: str
    title: str
    caption: str
    headings: tuple[Heading, ...]
    sections: list[tuple[str, list[list[Cell]]]]
    section_heading: str
    compact: bool

    def flat(self) -> tuple[list[Heading], list[list[Cell]]]:
        """Return headings and rows; sections, if any, are a first column."""
        rows = [[title, *row] for title, rows in self.sections for row in rows]
        if not self.section_heading:
            return list(self.headings), [row[1:] for row in rows]
        return [Heading(self.section_heading, left=True), *self.headings], rows

    def on_screen(self, cell: Cell) -> str:
        """Return a cell as screens show it."""
        if isinstance(cell, Measured):
            return cell.mean_text if self.compact else cell.text()
        return f"{cell:,}" if isinstance(cell, int) else cell
