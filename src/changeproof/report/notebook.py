"""Tables in a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import pandas as pd

from changeproof.report.tables import Table, screen_tables


def results_html(tables: Mapping[str, pd.DataFrame]) -> str:
    """Return the main tables of a run as HTML, as the terminal shows them.

    Parameters
    ----------
    tables
        The tables of the run by name. What is not there or empty is left out.
    """
    return "\n".join(_html(table) for table in screen_tables(tables))


def _html(table: Table) -> str:
    frame = pd.DataFrame(
        [[title, *map(table.on_screen, row)] for title, row in table.rows],
        columns=[table.section_heading, *(heading.on_screen for heading in table.headings)],
    )
    shown = frame if table.section_heading else frame.iloc[:, 1:]
    with pd.option_context("display.max_colwidth", None):
        return f"<b>{escape(table.title)}</b>\n{shown.to_html(index=False, border=0)}"
