"""Content on its way into the page."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

# What ends a script element or a line of JavaScript is written so that it cannot.
ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def embedded(content: Any) -> str:
    """Return JSON that can stand in a script element, whatever names it holds."""
    text = _json(content)
    for character, escape in ESCAPES.items():
        text = text.replace(character, escape)
    return text


def packed(content: Any) -> str:
    """Return JSON, compressed and in letters; the page unpacks it when it is asked for."""
    return packed_text(_json(content))


def packed_text(text: str) -> str:
    """Return text, compressed and in letters."""
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=6, mtime=0)).decode()


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
