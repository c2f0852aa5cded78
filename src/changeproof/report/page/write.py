"""One file: the payload, the scripts and the styles put together."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from plotly.offline import get_plotlyjs

from changeproof.report.colours import stylesheet
from changeproof.report.page.payload import build_bulk, build_payload
from changeproof.report.page.verdict import verdict_html
from changeproof.runs.results import StoredResults

FILE = "index.html"
# What ends a script element or a line of JavaScript is written so that it cannot.
ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
ASSETS = Path(__file__).parent / "assets"
SHARED = ("core", "unpacking", "figures", "printing")
SECTIONS = (
    "letters",
    "answer",
    "robustness",
    "life",
    "changes",
    "rankings",
    "groups",
    "advice",
    "person",
    "run",
)


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
    """Return the page as HTML."""
    parts = {
        "style": f"{stylesheet()}\n{_asset('page.css')}",
        "verdict": verdict_html(payload["verdict"]),
        "data": embedded(payload),
        "bulk": embedded([packed(_json(part)) for part in bulk]),
        "script": "\n".join(_asset(f"{name}.js") for name in (*SHARED, *SECTIONS)),
        "plotly": embedded(packed(get_plotlyjs())),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _asset("page.html"))


def embedded(content: Any) -> str:
    """Return JSON that can stand in a script element, whatever names it holds."""
    return _json(content).translate(ESCAPES)


def packed(text: str) -> str:
    """Return text, compressed and in letters; the page unpacks it when it is asked for."""
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=6, mtime=0)).decode()


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")
