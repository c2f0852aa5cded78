"""What a page shows, found in its payload."""

from __future__ import annotations

from typing import Any


def parts(payload: dict[str, Any], section: str, kind: str) -> list[dict[str, Any]]:
    """Return the parts of a kind that a section has, also those that depend on choices."""
    found: list[dict[str, Any]] = []

    def look(part: Any) -> None:
        if isinstance(part, list):
            for each in part:
                look(each)
        elif isinstance(part, dict):
            if kind in part:
                found.append(part)
            for name in ("views", "parts", "beside"):
                look(part.get(name))

    look(payload["sections"].get(section, []))
    return found


def chart(payload: dict[str, Any], section: str, which: int = 0) -> dict[str, Any]:
    """Return a chart of a section."""
    found: dict[str, Any] = parts(payload, section, "chart")[which]["chart"]
    return found


def answer(payload: dict[str, Any]) -> dict[str, Any]:
    """Return what the first section of a page is told."""
    (part,) = parts(payload, "answer", "script")
    found: dict[str, Any] = part["data"]
    return found
