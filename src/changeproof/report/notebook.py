"""Tables in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

import pandas as pd

from changeproof.report.tables import Heading, Table, screen_tables


def results_html(tables: Mapping[str, pd.DataFrame]) -> str:
    """Return the main tables of a run as HTML, as the terminal shows them.

    Parameters
    ----------
    tables
        The tables of the run by name. What is not there or empty is left out.
    """
    return "\n".join(_html(table) for table in screen_tables(tables))


def _html(table: Table) -> str:
    rows = [_row("th", table.headings, [each.on_screen for each in table.headings])]
    for title, section in table.sections:
        if table.section_heading:
            head = f'<th colspan="{len(table.headings)}" style="text-align: left">'
            rows.append(f"<tr>{head}{escape(title)}</th></tr>")
        rows += [_row("td", table.headings, map(table.on_screen, row)) for row in section]
    caption = f'<caption style="text-align: left"><b>{escape(table.title)}</b></caption>'
    return "\n".join(["<table>", caption, *rows, "</table>"])


def _row(tag: str, headings: tuple[Heading, ...], texts: Iterable[str]) -> str:
    cells = (
        f'<{tag} style="text-align: {"left" if heading.left else "right"}">{escape(text)}</{tag}>'
        for heading, text in zip(headings, texts, strict=True)
    )
    return f"<tr>{''.join(cells)}</tr>"
