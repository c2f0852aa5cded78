"""What stands in a page: its files, and data in a script element."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ASSETS = Path(__file__).parent / "assets"
# What ends a script element or a line of JavaScript is written so that it cannot.
ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def asset(name: str) -> str:
    """Return the text of a file of the page."""
    return (ASSETS / name).read_text(encoding="utf-8")


def as_json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def embedded(content: Any) -> str:
    """Return JSON that can stand in a script element, whatever names it holds."""
    return as_json(content).translate(ESCAPES)
