"""One file: the payload, the scripts and the styles put together."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from plotly.offline import get_plotlyjs

from changeproof.files import write_whole
from changeproof.report.page.packing import embedded, packed, packed_text
from changeproof.report.page.payload import build_bulk, build_payload
from changeproof.runs.readings import Readings
from changeproof.runs.results import Results

FOLDER = "report"
FILE = "index.html"
ASSETS = Path(__file__).parent / "assets"
SCRIPTS = (
    "core.js",
    "figures.js",
    "answer.js",
    "robustness.js",
    "changes.js",
    "rankings.js",
    "person.js",
    "run.js",
)


def write_report(
    results: Results, tables: Mapping[str, pd.DataFrame], readings: Readings | None = None
) -> Path:
    """Write the page of a run into its directory, and return where it is.

    Parameters
    ----------
    results
        The run, finished or not.
    tables
        Its tables; of an unfinished run those of what is finished.
    readings
        What can be read of the run, where that is known already.
    """
    readings = readings if readings is not None else Readings(results)
    page = render(build_payload(readings, tables), build_bulk(readings))
    path = results.folder / FOLDER / FILE
    write_whole(path, page.encode())
    return path


def render(payload: Mapping[str, Any], bulk: list[dict[str, Any]]) -> str:
    """Return the page as HTML."""
    parts = {
        "style": _asset("page.css"),
        "data": embedded(payload),
        "bulk": embedded([packed(part) for part in bulk]),
        "script": "\n".join(_asset(name) for name in SCRIPTS),
        "plotly": embedded(packed_text(get_plotlyjs())),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _asset("page.html"))


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")
