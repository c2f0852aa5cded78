"""Settings that are several numbers, checked and in words."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

from changeproof.errors import InputError


def either(numbers: Sequence[float]) -> str:
    """Return numbers as people read them: "1, 5 or 10"."""
    *first, last = (f"{number:g}" for number in numbers)
    return f"{', '.join(first)} or {last}" if first else last


def checked_numbers(
    name: str, given: Any, above: float, below: float, *, whole: bool = False
) -> tuple[Any, ...]:
    """Return numbers between two bounds, each given once, or say what was expected."""
    kind = Integral if whole else Real
    fine = isinstance(given, Sequence) and not isinstance(given, str) and len(given) > 0
    if (
        not fine
        or any(isinstance(each, bool) or not isinstance(each, kind) for each in given)
        or not all(above < float(each) < below for each in given)
        or len(set(given)) < len(given)
    ):
        raise InputError(
            f"{name} must be a list of different {'whole ' if whole else ''}numbers above "
            f"{above:g} and below {below:g}; got {given!r}"
        )
    return tuple(given)
