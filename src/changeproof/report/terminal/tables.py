"""Tables in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import pandas as pd
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from changeproof.report.tables import screen_tables


def print_tables(tables: Mapping[str, pd.DataFrame], console: Console | None = None) -> None:
    """Print the main tables for reading, not for parsing."""
    console = console if console is not None else Console()
    for table in screen_tables(tables):
        grid = titled_grid(table.title)
        for heading in table.headings:
            justify: Literal["left", "right"] = "left" if heading.left else "right"
            grid.add_column(escape(heading.on_screen), justify=justify, no_wrap=not heading.left)
        for title, rows in table.sections:
            if table.section_heading:
                grid.add_row(escape(title), style="bold")
            for row in rows:
                grid.add_row(*(escape(table.on_screen(cell)) for cell in row))
            grid.add_section()
        console.print(grid, "")


def print_table(title: str, table: pd.DataFrame, console: Console | None = None) -> None:
    """Print one table as it is."""
    console = console if console is not None else Console()
    grid = titled_grid(title)
    for column in table.columns:
        numeric = pd.api.types.is_numeric_dtype(table[column].dtype)
        grid.add_column(escape(str(column)), justify="right" if numeric else "left")
    for row in table.itertuples(index=False):
        grid.add_row(*(escape(_cell(value)) for value in row))
    console.print(grid, "")


def say(console: Console, text: str) -> None:
    """Print a line as it is, however long and whatever is in it."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def titled_grid(title: str) -> Grid:
    """Return a table without rows, as all of them look."""
    return Grid(
        title=escape(title),
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        collapse_padding=True,
        pad_edge=False,
        show_edge=False,
    )


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if pd.isna(value) else f"{value:.6g}"
    return str(value)
