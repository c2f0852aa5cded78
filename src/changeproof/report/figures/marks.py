"""One mark for each method: a colour that colour-blind people can tell apart, and a shape."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from matplotlib.axes import Axes

from changeproof.report.colours import COLOURS
from changeproof.tables.names import mark_places

# Ten colours and eleven shapes have no common divisor: 110 pairs before one comes again.
SHAPES = ("o", "s", "P", "^", "D", "v", "X", "p", "<", ">", "*")
PAIRS = len(COLOURS) * len(SHAPES)
EDGE = "#222222"


@dataclass(frozen=True)
class Mark:
    """Colour and shape; the inside is left open when all pairs are used up."""

    colour: str
    shape: str
    filled: bool = True
    size: float = 4.4

    def draw(self, axes: Axes, x: float, y: float) -> None:
        """Draw the mark at a point."""
        face, edge = (self.colour, EDGE) if self.filled else ("white", self.colour)
        axes.plot(
            x, y, self.shape, markersize=self.size, markerfacecolor=face, markeredgecolor=edge,
            markeredgewidth=0.5 if self.filled else 1.0, clip_on=False, zorder=4,
        )  # fmt: skip


def method_marks(methods: Iterable[str]) -> dict[str, Mark]:
    """Return a mark for each method, in the order of `mark_places`.

    The methods of the package always have the same mark. No two of up to 220 methods share one.
    """
    places = mark_places(methods)
    return {
        name: Mark(COLOURS[n % len(COLOURS)], SHAPES[n % len(SHAPES)], n // PAIRS % 2 == 0)
        for name, n in sorted(places.items(), key=lambda each: each[1])
    }
