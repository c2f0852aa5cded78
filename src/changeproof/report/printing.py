"""Everything for a paper: the figures and tables of a run, as files to include."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from changeproof.report.charts import Chart, Shown
from changeproof.report.figures import FORMATS, encoded, figures_of
from changeproof.report.formats import as_csv, as_latex, as_markdown
from changeproof.report.page.changes import magnitude
from changeproof.report.page.life import curves
from changeproof.report.page.life_limit import cost_of_lasting
from changeproof.report.page.robustness import decomposition, heat_map, price
from changeproof.report.scores import Scores
from changeproof.tables.display import Tables
from changeproof.tables.names import in_order
from changeproof.tables.registry import readable_tables

FIGURES, TABLES = "figures", "tables"
WRITERS = {"tex": as_latex, "md": as_markdown, "csv": as_csv}


def print_files(tables: dict[str, pd.DataFrame]) -> dict[str, bytes]:
    """Return figures and tables for print, by where they go in a report.

    Figures are PDF, SVG and PNG, tables LaTeX, Markdown and CSV. Tables that are empty or not there
    are left out.
    """
    files = {}
    for name, chart in print_charts(tables):
        for place, figure in enumerate(figures_of(chart), start=1):
            numbered = f"{name}-{place}" if place > 1 else name
            for kind in FORMATS:
                files[f"{FIGURES}/{numbered}.{kind}"] = encoded(figure, kind)
    for table in readable_tables(tables):
        for kind, text in WRITERS.items():
            files[f"{TABLES}/{table.name}.{kind}"] = text(table).encode()
    return files


def print_charts(tables: Tables) -> Iterator[tuple[str, Chart]]:
    """Yield the charts of a paper by name, of the tables that there are."""
    there = {name: table for name, table in tables.items() if len(table)}
    scores = Scores(there)
    if "family_results" in there:
        yield "robustness", heat_map(scores, Shown.of(there["family_results"]))
    if "full_results" in there:
        shown = Shown.of(there["full_results"])
        yield "decomposition", decomposition(scores, shown)
        yield "tradeoff", price(scores, shown, there)
    if "life" in there:
        shown = Shown.of(there["life"])
        for number, family in enumerate(in_order(there["life"]["family"]), start=1):
            name = "life" if number == 1 else f"life-of-sequence-{number}"
            yield name, curves(there, family, shown)
            if "life_limit" in there and family in set(there["life_limit"]["family"]):
                yield f"{name}-price", cost_of_lasting(scores, shown, there, family)
    if "change_magnitude" in there:
        yield "magnitude", magnitude(there, Shown.of(there["change_magnitude"]))
