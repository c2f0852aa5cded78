"""One mark for each method: a colour that colour-blind people can tell apart, and a shape."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from matplotlib.axes import Axes

from changeproof.report.names import METHODS

# Okabe and Ito's eight colours, and a grey.
COLOURS = (
    "#D55E00", "#56B4E9", "#C4C4C4", "#E69F00", "#009E73",
    "#CC79A7", "#0072B2", "#000000", "#F0E442",
)  # fmt: skip
# Nine colours and ten shapes have no common divisor: 90 pairs before one comes again.
SHAPES = ("o", "s", "P", "^", "D", "v", "X", "p", "<", ">")
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
    """Return a mark for each method.

    The paper's methods always have the same mark, whichever of them there are. All others, and
    the paper's with settings, take the next ones in alphabetical order. No two of up to 180
    methods share one.
    """
    named = set(methods)
    order = [*METHODS, *sorted(named - METHODS.keys())]
    marks = {
        name: Mark(COLOURS[n % len(COLOURS)], SHAPES[n % len(SHAPES)], n // PAIRS % 2 == 0)
        for n, name in enumerate(order)
    }
    return {name: marks[name] for name in order if name in named}
