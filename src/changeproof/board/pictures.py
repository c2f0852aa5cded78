"""Pictures of the leaderboard: where points, ticks and labels are, and the colours of cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

# Cividis: readable in print and by colour-blind people.
SCALE = (
    "#00224e", "#123570", "#3b496c", "#575d6d", "#707173",
    "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838",
)  # fmt: skip
# On what is darker than this, white text has more contrast than that of the page.
DARK = 0.195
# A letter is about so wide, in parts of its height.
LETTER = 0.6
TEXT = 12.0
MOST_LABELS = 14


class Shade(NamedTuple):
    """The colour of a cell, and whether text on it has to be light."""

    colour: str
    light_text: bool


def shade(value: float, low: float, high: float) -> Shade:
    """Return the colour of a number between the ends of a scale."""
    share = (value - low) / (high - low) if high > low else 1.0
    place = min(max(share, 0.0), 1.0) * (len(SCALE) - 1)
    below = min(int(place), len(SCALE) - 2)
    parts = [
        round(a + (b - a) * (place - below))
        for a, b in zip(_rgb(SCALE[below]), _rgb(SCALE[below + 1]), strict=True)
    ]
    red, green, blue = parts
    return Shade(f"#{red:02x}{green:02x}{blue:02x}", _luminance(parts) < DARK)


def _luminance(parts: Sequence[int]) -> float:
    """Return the relative luminance of a colour, as guidelines of contrast have it."""
    shares = [part / 255.0 for part in parts]
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def ticks(low: float, high: float, most: int) -> list[float]:
    """Return round numbers between two ends, at most so many."""
    if not high > low:
        return [low]
    rough = (high - low) / max(most - 1, 1)
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * n for n in (1, 2, 5, 10) if size * n >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(n * step, 10) for n in range(first, last + 1)]


class Spot(NamedTuple):
    """An entry in the picture: how far its advice is, and how much of it holds."""

    name: str
    label: str
    x: float
    y: float
    state: str


@dataclass(frozen=True)
class Dot:
    """A point where it is drawn; `leads` if no other entry is both nearer and better.

    `tip` is where its name stands when it is pointed at, and `anchor` how it is set.
    """

    spot: Spot
    x: float
    y: float
    leads: bool
    label: tuple[float, float, str] | None
    tip: tuple[float, float, str]


@dataclass(frozen=True)
class Picture:
    """Distance and end-to-end robustness of entries, in a frame of some size."""

    width: float
    height: float
    left: float
    top: float
    right: float
    bottom: float
    dots: tuple[Dot, ...]
    across: tuple[tuple[float, str], ...]
    up: tuple[tuple[float, str], ...]
    limit: float | None


def picture(
    spots: Sequence[Spot], limit: float | None, width: float, height: float, *, dense: bool = False
) -> Picture:
    """Return where everything is drawn; `dense` where there is little room."""
    left, top, right, bottom = 46.0, 26.0, width - 14.0, height - 44.0
    known = [spot.x for spot in spots] + ([limit] if limit is not None else [])
    most_x = 1.06 * max(known, default=1.0) or 1.0
    least_y = min((spot.y for spot in spots), default=0.0)
    low_y = min(math.floor(least_y / 10.0 - 0.2) * 10.0, 90.0)
    low_y = max(low_y, 0.0)

    def place_x(value: float) -> float:
        return left + (right - left) * value / most_x

    def place_y(value: float) -> float:
        return bottom - (bottom - top) * (value - low_y) / (100.0 - low_y)

    placed = [(place_x(spot.x), place_y(spot.y)) for spot in spots]
    leading = [_leads(spot, spots) for spot in spots]
    labels = _labels(
        spots, placed, leading, (left, top, right, bottom), 6 if dense else MOST_LABELS
    )
    dots = [
        Dot(spot, round(x, 1), round(y, 1), leads, label, _tip(spot, x, y, left, right))
        for spot, (x, y), leads, label in zip(spots, placed, leading, labels, strict=True)
    ]
    dots.sort(key=lambda dot: dot.leads)
    return Picture(
        width, height, left, top, right, bottom, tuple(dots),
        tuple((round(place_x(t), 1), f"{t:g}") for t in ticks(0.0, most_x, 5 if dense else 9)),
        tuple((round(place_y(t), 1), f"{t:g}") for t in ticks(low_y, 100.0, 6)),
        None if limit is None else round(place_x(limit), 1),
    )  # fmt: skip


def _leads(spot: Spot, spots: Sequence[Spot]) -> bool:
    """Say whether nobody else is at least as near and as good, and better in one of the two."""
    return not any(
        other.x <= spot.x and other.y >= spot.y and (other.x, other.y) != (spot.x, spot.y)
        for other in spots
    )


def _tip(spot: Spot, x: float, y: float, left: float, right: float) -> tuple[float, float, str]:
    half = len(spot.label) * TEXT * LETTER / 2
    if x - half < left:
        return round(x - 4, 1), round(y - 11, 1), "start"
    if x + half > right:
        return round(x + 4, 1), round(y - 11, 1), "end"
    return round(x, 1), round(y - 11, 1), "middle"


def _labels(
    spots: Sequence[Spot],
    placed: Sequence[tuple[float, float]],
    leading: Sequence[bool],
    frame: tuple[float, float, float, float],
    most: int,
) -> list[tuple[float, float, str] | None]:
    """Return where the names of those that lead stand, where there is room for them."""
    left, top, right, bottom = frame
    taken = [(x - 5, y - 5, x + 5, y + 5) for x, y in placed]
    found: list[tuple[float, float, str] | None] = [None] * len(spots)
    order = sorted((n for n in range(len(spots)) if leading[n]), key=lambda n: -spots[n].y)
    for n in order:
        x, y = placed[n]
        wide, high = len(spots[n].label) * TEXT * LETTER, TEXT
        for dx, dy, anchor in (
            (9, 4, "start"), (-9, 4, "end"), (0, -10, "middle"), (0, 18, "middle"),
            (8, -8, "start"), (8, 15, "start"), (-8, -8, "end"), (-8, 15, "end"),
        ):  # fmt: skip
            start = x + dx - {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
            box = (start - 4, y + dy - high + 1, start + wide + 4, y + dy + 4)
            inside = left < box[0] and box[2] < right + 10 and top - 14 < box[1] and box[3] < bottom
            own = (x - 5, y - 5, x + 5, y + 5)
            if inside and not any(_overlap(box, other) for other in taken if other != own):
                found[n] = (round(x + dx, 1), round(y + dy, 1), anchor)
                taken.append(box)
                break
        if sum(each is not None for each in found) == most:
            break
    return found


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
