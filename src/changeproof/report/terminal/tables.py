"""Tables in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Grid

from changeproof.report.groups import left_out_words
from changeproof.report.terminal.grid import escape, say, titled_grid
from changeproof.tables.display import Table
from changeproof.tables.registry import FORMS, screen_tables

# Spaces between two columns.
GAP = 2
# Columns of differences between groups that may go on in the next line.
WRAPPED = ("Method", "Highest", "Lowest")


def print_tables(tables: Mapping[str, pd.DataFrame], console: Console | None = None) -> None:
    """Print the main tables for reading, not for parsing.

    One that is too wide for the console is printed in parts, with all rows in each.
    """
    console = console if console is not None else Console(emoji=False)
    for table in screen_tables(tables):
        for columns in _parts(table, console.width):
            console.print(_grid(table, columns), "")


def _grid(table: Table, columns: Sequence[int]) -> Grid:
    """Return some columns of a table."""
    grid = titled_grid(table.title)
    for heading in (table.headings[column] for column in columns):
        justify: Literal["left", "right"] = "left" if heading.left else "right"
        grid.add_column(escape(heading.on_screen), justify=justify, no_wrap=not heading.left)
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


def print_groups(tables: Mapping[str, pd.DataFrame], console: Console | None = None) -> None:
    """Print the largest differences between groups, and how many are not shown."""
    console = console if console is not None else Console(emoji=False)
    found = FORMS["group_differences"].table("group_differences", tables)
    for table in found:
        for title, rows in table.sections:
            grid = titled_grid(f"{table.title}: {title}")
            for heading in table.headings:
                justify: Literal["left", "right"] = "left" if heading.left else "right"
                wraps = heading.name in WRAPPED
                name = escape(heading.on_screen)
                grid.add_column(name, justify=justify, no_wrap=not wraps, overflow="fold")
            for row in rows:
                grid.add_row(*(escape(table.on_screen(cell)) for cell in row))
            console.print(grid, "")
    if found:
        clear = "A difference between groups is clear if its interval excludes 0."
        say(console, f"Intervals are over people. {clear}")
    for line in left_out_words(tables):
        say(console, line)


def print_table(title: str, table: pd.DataFrame, console: Console | None = None) -> None:
    """Print one table as it is."""
    console = console if console is not None else Console(emoji=False)
    grid = titled_grid(title)
    for column in table.columns:
        numeric = pd.api.types.is_numeric_dtype(table[column].dtype)
        grid.add_column(escape(str(column)), justify="right" if numeric else "left")
    for row in table.itertuples(index=False):
        grid.add_row(*(escape(_cell(value)) for value in row))
    console.print(grid, "")


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if pd.isna(value) else f"{value:.6g}"
    return str(value)
