"""Everything for a paper: the figures and tables of a run, as files to include."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from changeproof.report import figures
from changeproof.report.formats import as_csv, as_latex, as_markdown
from changeproof.tables.names import in_order
from changeproof.tables.registry import readable_tables

FIGURES, TABLES = "figures", "tables"
WRITERS = {"tex": as_latex, "md": as_markdown, "csv": as_csv}
# Figures with a panel for each dataset: the table that they show, and how to draw it.
PANELS: dict[str, tuple[str, Callable[..., Figure]]] = {
    "robustness": ("family_results", figures.robustness_heat_map),
    "decomposition": ("full_results", figures.score_decomposition),
    "tradeoff": ("full_results", figures.distance_tradeoff),
}


def print_files(tables: dict[str, pd.DataFrame]) -> dict[str, bytes]:
    """Return figures and tables for print, by where they go in a report.

    Parameters
    ----------
    tables
        The tables of the run by name. What is not there or empty is left out.

    Returns
    -------
    dict
        Figures are in ``figures`` as PDF, SVG and PNG, tables in ``tables`` as LaTeX, Markdown and
        CSV.
    """
    files = {
        f"{FIGURES}/{name}.{kind}": figures.encoded(figure, kind)
        for name, figure in _figures(tables)
        for kind in figures.FORMATS
    }
    for table in readable_tables(tables):
        for kind, text in WRITERS.items():
            files[f"{TABLES}/{table.name}.{kind}"] = text(table).encode()
    return files


def _figures(tables: dict[str, pd.DataFrame]) -> Iterator[tuple[str, Figure]]:
    """Yield figures by name; more than one where the datasets do not fit into a column."""
    for name, (source, draw) in PANELS.items():
        table = tables.get(source, pd.DataFrame())
        if name == "tradeoff":
            draw = partial(draw, limit=tables.get("limit"))
        if len(table):
            for place, figure in enumerate(_columns(draw, table, in_order(table["dataset"]))):
                yield f"{name}-{place + 1}" if place else name, figure
    if len(life := tables.get("life", pd.DataFrame())):
        for number, (_, rows) in enumerate(life.groupby("family", sort=False), start=1):
            name = "life" if number == 1 else f"life-of-sequence-{number}"
            for place, figure in enumerate(
                _columns(figures.life_curves, rows, in_order(rows["dataset"]))
            ):
                yield f"{name}-{place + 1}" if place else name, figure
    if len(tables.get("change_magnitude", ())):
        yield "magnitude", figures.change_magnitude_chart(tables["change_magnitude"])


def _columns(
    draw: Callable[..., Figure], table: pd.DataFrame, datasets: list[str]
) -> Iterator[Figure]:
    """Yield figures that are no higher than a column: with half of the datasets where need be."""
    figure = draw(table, datasets=datasets)
    if len(datasets) == 1 or figure.get_figheight() <= figures.HEIGHT:
        yield figure
    else:
        middle = -(-len(datasets) // 2)
        yield from _columns(draw, table, datasets[:middle])
        yield from _columns(draw, table, datasets[middle:])
