"""Tables in a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import pandas as pd

from changeproof.report.table import Table
from changeproof.report.tables import screen_tables


def results_html(tables: Mapping[str, pd.DataFrame]) -> str:
    """Return the main tables of a run as HTML, as the terminal shows them.

    Parameters
    ----------
    tables
        The tables of the run by name. What is not there or empty is left out.
    """
    return "\n".join(_html(table) for table in screen_tables(tables))


def _html(table: Table) -> str:
    headings, rows = table.flat()
    cells = [[table.on_screen(cell) for cell in row] for row in rows]
    frame = pd.DataFrame(cells, columns=[heading.on_screen for heading in headings])
    with pd.option_context("display.max_colwidth", None):
        return f"<b>{escape(table.title)}</b>\n{frame.to_html(index=False, border=0)}"
