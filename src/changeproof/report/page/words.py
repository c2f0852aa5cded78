"""Small pieces of plain language."""

from __future__ import annotations

from collections.abc import Sequence

from changeproof.changes import get_family
from changeproof.report.reading import SHORT_FAMILIES


def after(family: str | None, families: int = 0) -> str:
    """Return how a sentence about a family begins; None is "don't know"."""
    if family is None:
        return f"Averaged over all {families} kinds of change"
    summary = get_family(family).summary
    if summary.startswith("retraining"):
        return f"After {summary}"
    return f"After a change of the model ({summary})"


def of_hundred(value: float) -> str:
    """Return "97 of 100"; neither all nor none unless it is exactly that."""
    rounded = round(value)
    if rounded == 100 and value < 100.0:
        return "more than 99 of 100"
    if rounded == 0 and value > 0.0:
        return "fewer than 1 of 100"
    return f"{rounded} of 100"


def percent(value: float) -> str:
    """Return a rate for reading."""
    return f"{value:.1f} %"


def listed(names: Sequence[str]) -> str:
    """Return "a, b and c"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def short_family(family: str) -> str:
    """Return a name that fits under a narrow column."""
    return SHORT_FAMILIES.get(family, family)
