"""Everything for a paper: the figures and tables of a run, as files to include."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from changeproof.files import write_whole
from changeproof.report.figures import (
    FORMATS,
    change_magnitude_chart,
    decomposition,
    distance_tradeoff,
    encoded,
    robustness,
    robustness_heat_map,
    score_decomposition,
    tradeoff,
)
from changeproof.report.names import in_order
from changeproof.report.print.formats import as_csv, as_latex, as_markdown
from changeproof.report.tables import print_tables

FIGURES = Path("report", "figures")
TABLES = Path("report", "tables")
WRITERS = {"tex": as_latex, "md": as_markdown, "csv": as_csv}

# Name of the figure, its table, how to draw it, and for how many datasets there is room.
PANELS: tuple[tuple[str, str, Callable[..., Figure], Callable[[int], int]], ...] = (
    ("robustness", "family_results", robustness_heat_map, robustness.datasets_per_column),
    ("decomposition", "full_results", score_decomposition, decomposition.datasets_per_column),
    ("tradeoff", "full_results", distance_tradeoff, tradeoff.datasets_per_column),
)


def write_print(folder: Path, tables: dict[str, pd.DataFrame]) -> list[Path]:
    """Write figures and tables for print into a run directory.

    Parameters
    ----------
    folder
        The run directory; figures go into its ``report/figures`` as PDF, SVG and PNG, tables
        into ``report/tables`` as LaTeX, Markdown and CSV.
    tables
        The tables of the run by name. What is not there or empty is left out.

    Returns
    -------
    list of Path
        The files written.
    """
    written = []
    for name, figure in _figures(tables):
        for kind in FORMATS:
            path = folder / FIGURES / f"{name}.{kind}"
            write_whole(path, encoded(figure, kind))
            written.append(path)
    for table in print_tables(tables):
        for kind, text in WRITERS.items():
            path = folder / TABLES / f"{table.name}.{kind}"
            write_whole(path, text(table).encode())
            written.append(path)
    return written


def _figures(tables: dict[str, pd.DataFrame]) -> Iterator[tuple[str, Figure]]:
    """Yield figures by name; more than one where the datasets do not fit into a column."""
    for name, table_name, draw, room in PANELS:
        table = tables.get(table_name)
        if table is None or table.empty:
            continue
        datasets = in_order(table["dataset"])
        fitting = room(table["method"].nunique())
        for part, start in enumerate(range(0, len(datasets), fitting), start=1):
            suffix = "" if part == 1 else f"-{part}"
            yield f"{name}{suffix}", draw(table, datasets=datasets[start : start + fitting])
    magnitudes = tables.get("change_magnitude")
    if magnitudes is not None and not magnitudes.empty:
        yield "magnitude", change_magnitude_chart(magnitudes)
