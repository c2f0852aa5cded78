"""Grids and lines in the terminal, without anything that takes long to import."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.markup import escape as without_markup
from rich.table import Table as Grid

from changeproof.errors import visible


def escape(text: str) -> str:
    """Return text that neither rich nor the terminal takes for anything but text."""
    return without_markup(visible(text))


def say(console: Console, text: str) -> None:
    """Print a line, however long and whatever is in it."""
    console.print(visible(text), markup=False, highlight=False, soft_wrap=True)


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
