"""The tables of a run in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Grid

from changeproof.report.page.groups import left_out_words
from changeproof.report.terminal.grid import escape, say, terminal, titled_grid
from changeproof.tables.display import Table, Tables
from changeproof.tables.registry import ON_SCREEN, readable_tables

# Spaces between two columns.
GAP = 2


def print_tables(
    tables: Tables, console: Console | None = None, names: Sequence[str] = ON_SCREEN
) -> None:
    """Print the main tables for reading, not for parsing.

    One that is too wide for the console is printed in parts, with all rows in each.
    """
    console = console or terminal()
    for table in readable_tables(tables, names):
        for columns in _parts(table, console.width):
            console.print(_grid(table, columns), "")


def print_groups(tables: Tables, console: Console | None = None) -> None:
    """Print the largest differences between groups, and how many are not shown."""
    console = console or terminal()
    print_tables(tables, console, ["group_differences"])
    if readable_tables(tables, ["group_differences"]):
        clear = "A difference between groups is clear if its interval excludes 0."
        say(console, f"Intervals are over people. {clear}")
    for line in left_out_words(tables):
        say(console, line)


def _grid(table: Table, columns: Sequence[int]) -> Grid:
    """Return some columns of a table."""
    headings = [table.headings[column] for column in columns]
    grid = titled_grid(table.title, [(each.on_screen, each.left) for each in headings])
    for title, rows in table.sections:
        if table.section_heading:
            grid.add_row(escape(title), style="bold")
        for row in rows:
            grid.add_row(*(escape(table.on_screen(row[column])) for column in columns))
        grid.add_section()
    return grid


def _parts(table: Table, width: int) -> Iterator[list[int]]:
    """Yield the columns of as few parts as fit a width; every part begins with the first."""
    widths = [_needed(table, column) + GAP for column in range(len(table.headings))]
    others = np.arange(1, len(widths))
    for count in range(1, max(2, len(widths))):
        parts = [[0, *part.tolist()] for part in np.array_split(others, count)]
        if max(sum(widths[column] for column in part) for part in parts) - GAP <= width:
            break
    yield from parts


def _needed(table: Table, column: int) -> int:
    """Return the least width of a column: names may go on in the next line, numbers may not."""
    heading = table.headings[column]
    cells = [heading.on_screen, *(title for title, _ in table.sections if column == 0)]
    cells += [table.on_screen(row[column]) for _, rows in table.sections for row in rows]
    pieces = [word for cell in cells for word in cell.split()] if heading.left else cells
    return max(map(cell_len, pieces), default=0)
