"""Lines and grids in the terminal, without anything that takes long to import."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.markup import escape as without_markup
from rich.table import Table as Grid

from changeproof.errors import visible

if TYPE_CHECKING:
    import pandas as pd


def terminal() -> Console:
    # Names with colons, "debt:x:ratio", are not to become emoji.
    return Console(emoji=False)


def escape(text: str) -> str:
    """Return text that neither rich nor the terminal takes for anything but text."""
    return without_markup(visible(text))


def say(console: Console, text: str) -> None:
    """Print a line, however long and whatever is in it."""
    console.print(visible(text), markup=False, highlight=False, soft_wrap=True)


def titled_grid(title: str, columns: Sequence[tuple[str, bool]] = ()) -> Grid:
    """Return a table without rows, as all of them look.

    Columns are headings, and whether text is below: text may go on in the next line, numbers not.
    """
    grid = Grid(
        title=escape(title),
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        collapse_padding=True,
        pad_edge=False,
        show_edge=False,
    )
    for heading, text in columns:
        if text:
            grid.add_column(escape(heading), overflow="fold")
        else:
            grid.add_column(escape(heading), justify="right", no_wrap=True)
    return grid


def print_table(
    title: str, table: pd.DataFrame | list[dict[str, Any]], console: Console | None = None
) -> None:
    """Print a table as it is, numbers to the right; what is NaN stays empty."""
    if isinstance(table, list):
        headings, rows = list(table[0]), [tuple(row.values()) for row in table]
    else:
        headings, rows = list(table.columns), list(table.itertuples(index=False, name=None))
    grid = titled_grid(title)
    for place, heading in enumerate(headings):
        numeric = rows and all(isinstance(row[place], int | float) for row in rows)
        grid.add_column(escape(str(heading)), justify="right" if numeric else "left")
    for row in rows:
        grid.add_row(*(escape(_cell(value)) for value in row))
    (console or terminal()).print(grid, "")


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return str(value)
