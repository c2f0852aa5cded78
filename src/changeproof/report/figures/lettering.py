"""Lettering: names as they are, measured, and shortened to the room there is."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cache

from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.textpath import text_to_path

from changeproof.report.formats import plain

# Comes with matplotlib, so that a figure is the same on every machine.
FONT = "DejaVu Sans"
TEXT = 7.0
SMALL = 6.5
LINE = 0.13
POINTS_PER_INCH = 72.0


@cache
def _characters() -> frozenset[int]:
    return frozenset(get_font(findfont(FontProperties(family=FONT))).get_charmap())


def literal(name: str) -> str:
    """Return a name in characters that can be drawn; those that cannot, as escapes."""
    return plain(name, lambda character: ord(character) in _characters())


@cache
def text_width(text: str, size: float) -> float:
    """Return the width of a line of text in inches."""
    font = FontProperties(family=FONT, size=size)
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return float(width) / POINTS_PER_INCH


def widest(texts: Iterable[str], size: float) -> float:
    """Return the width of the widest of some lines."""
    return max((text_width(text, size) for text in texts), default=0.0)


def shortened(text: str, size: float, room: float) -> str:
    """Return a text that fits: its beginning and its end, where it is too long."""
    if text_width(text, size) <= room:
        return text

    def keeping(kept: int) -> str:
        head = (kept + 1) // 2
        return f"{text[:head]}…{text[len(text) - kept + head :]}"

    too_many = bisect_left(
        range(len(text)), True, key=lambda kept: text_width(keeping(kept), size) > room
    )
    return keeping(max(too_many - 1, 0))


def labels(names: Sequence[str], *, size: float, room: float) -> list[str]:
    """Return a label for each name that fits into the room, and no label twice."""
    found: list[str] = []
    for name in names:
        text = literal(name)
        label, number = shortened(text, size, room), 1
        while label in found:
            number += 1
            suffix = f" ({number})"
            label = shortened(text, size, room - text_width(suffix, size)) + suffix
        found.append(label)
    return found


def wrapped(text: str, size: float, room: float) -> list[str]:
    """Return a text in lines that fit."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".lstrip()
        if lines[-1] and text_width(longer, size) > room:
            lines.append(shortened(word, size, room))
        else:
            lines[-1] = shortened(longer, size, room)
    return lines
