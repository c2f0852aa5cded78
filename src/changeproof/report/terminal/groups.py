"""Groups of people in the terminal: how far they are apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import pandas as pd
from rich.console import Console

from changeproof.report.group_tables import SHORT_NAMES, difference_table, left_out_words
from changeproof.report.terminal.tables import escape, say, titled_grid

WRAPPED = ("Method", "Highest", "Lowest")


def print_groups(tables: Mapping[str, pd.DataFrame], console: Console | None = None) -> None:
    """Print the largest differences between groups, and how many are not shown."""
    console = console if console is not None else Console(emoji=False)
    found = difference_table(tables, SHORT_NAMES)
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
