"""What to group people by: the values of a column, or bands of its numbers."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import NamedTuple, Self

from changeproof.errors import InputError

# The fewest people of a group that is shown by default.
SMALLEST_GROUP = 10


class Grouping(NamedTuple):
    """A feature, or a column beside the features, whose values are groups.

    With a width, bands of its numbers are, of so many units each.
    """

    column: str
    width: Decimal | None = None

    @classmethod
    def of(cls, text: str) -> Self:
        """Read "sex" or "age:10"."""
        column, _, after = text.rpartition(":")
        width = _decimal(after)
        if not column.strip() or width is None:
            if not text.strip():
                raise InputError("groups need the name of a column, such as sex or age:10")
            return cls(text.strip())
        if not width.is_finite() or width <= 0:
            raise InputError(f"groups {text.strip()!r}: the width of a band must be above 0")
        return cls(column.strip(), width)

    @property
    def text(self) -> str:
        """What `of` reads, in its normal form."""
        return self.column if self.width is None else f"{self.column}:{decimal_text(self.width)}"


def columns_of(groupings: Iterable[str]) -> tuple[str, ...]:
    """Return the columns that groupings name, each once."""
    return tuple(dict.fromkeys(Grouping.of(text).column for text in groupings))


def decimal_text(value: Decimal) -> str:
    """Return a decimal without exponent and without zeros at the end."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _decimal(text: str) -> Decimal | None:
    try:
        return Decimal(text.strip())
    except InvalidOperation:
        return None
