"""One file: sections, data, scripts and styles put together."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from changeproof.report.charts import SHAPES, stylesheet
from changeproof.report.page.payload import build_bulk, build_payload
from changeproof.report.page.sections import SECTIONS
from changeproof.runs.results import StoredResults

FILE = "index.html"
# What ends a script element or a line of JavaScript is written so that it cannot.
ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
ASSETS = Path(__file__).parent / "assets"
SCRIPTS = ("core", "charts", "parts", "answer", "survival", "person", "printing")


def page_of(results: StoredResults, tables: Mapping[str, pd.DataFrame]) -> bytes:
    """Return the page of a run.

    Parameters
    ----------
    results
        The run, finished or not.
    tables
        Its tables; of an unfinished run those of what is finished.
    """
    return render(build_payload(results, tables), build_bulk(results)).encode()


def render(payload: Mapping[str, Any], bulk: list[dict[str, Any]]) -> str:
    """Return the page as HTML; whatever names it holds are text."""
    loader = jinja2.FileSystemLoader(ASSETS)
    template = jinja2.Environment(loader=loader, autoescape=True).get_template("page.html")
    shapes = {shape.plotly: shape.path for shape in SHAPES}
    return template.render(
        style=Markup(f"{stylesheet()}\n{_asset('page.css')}"),
        verdict=payload["verdict"],
        scope=payload["scope"],
        sections=[section for section in SECTIONS if section.id in payload["sections"]],
        data=Markup(embedded({**payload, "shapes": shapes})),
        packed=Markup(embedded([packed(text) for text in (get_plotlyjs(), *map(_json, bulk))])),
        script=Markup("\n".join(_asset(f"{name}.js") for name in SCRIPTS)),
    )


def embedded(content: Any) -> str:
    """Return JSON that can stand in a script element, whatever names it holds."""
    return _json(content).translate(ESCAPES)


def packed(text: str) -> str:
    """Return text, compressed and in letters; the page unpacks it when it is asked for."""
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=4, mtime=0)).decode()


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")
