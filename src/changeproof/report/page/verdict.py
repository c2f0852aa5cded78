"""The verdict at the top of the page: there without JavaScript, too, and first in print."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from typing import Any


def verdict_html(verdict: Mapping[str, Any]) -> str:
    """Return the verdict as HTML; whatever names it holds are text."""
    notes = (f"<p class='note'>{_options(escape(note))}</p>" for note in verdict["notes"])
    found = (f"<p class='finding'>{escape(each['sentence'])}</p>" for each in verdict["findings"])
    rest = (f"<p>{escape(verdict[part])}</p>" for part in ("base", "simulated", "not_simulated"))
    return "\n".join((*notes, *found, *rest))


def _options(text: str) -> str:
    """Mark options of the command line, so that no line ends inside of one."""
    return re.sub(r"(?<![\w-])--[a-z][a-z-]*", r"<code>\g<0></code>", text)
