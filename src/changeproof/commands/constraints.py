"""What may change, from the command line."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from changeproof.commands.audit_options import option
from changeproof.commands.options import split
from changeproof.errors import InputError

PANEL = "What may change"

Immutable = Annotated[
    list[str] | None, option(PANEL, "Features that may not change.", metavar="FEATURE,…")
]
OnlyIncrease = Annotated[
    list[str] | None, option(PANEL, "Features that may only increase.", metavar="FEATURE,…")
]
OnlyDecrease = Annotated[
    list[str] | None, option(PANEL, "Features that may only decrease.", metavar="FEATURE,…")
]
Range = Annotated[
    list[str] | None,
    typer.Option(
        "--range",
        help="The range of a feature in advice, with one or both ends: income=0:90000, age=18:. "
        "Repeat for several.",
        show_default="range of the data",
        metavar="FEATURE=LOW:HIGH",
        rich_help_panel=PANEL,
    ),
]
MostChanges = Annotated[
    int | None,
    option(PANEL, "The most features that may change at once.", "any number", metavar="N"),
]
Realisable = Annotated[
    bool,
    typer.Option(
        "--realisable/--as-published",
        help="Tell people only what they can do (one category, whole steps, what may change), or "
        "test answers just as the methods give them.",
        rich_help_panel=PANEL,
    ),
]


def constraints(
    immutable: list[str] | None,
    only_increase: list[str] | None,
    only_decrease: list[str] | None,
    ranges: list[str] | None,
) -> dict[str, dict[str, Any]]:
    """Return what may change by feature, as `own_task` takes it."""
    found: dict[str, dict[str, Any]] = {}
    options = {
        "--immutable": ("none", immutable),
        "--only-increase": ("increase", only_increase),
        "--only-decrease": ("decrease", only_decrease),
    }
    said: dict[str, str] = {}
    for name, (change, given) in options.items():
        for feature in split(given) or ():
            if feature in said:
                raise InputError(
                    f"feature {feature!r} is given to {said[feature]} and to {name}; expected one"
                    if said[feature] != name
                    else f"feature {feature!r} is given to {name} more than once"
                )
            said[feature] = name
            found[feature] = {"change": change}
    for text in ranges or ():
        feature, limits = _range(text)
        if {"low", "high"} & found.get(feature, {}).keys():
            raise InputError(f"feature {feature!r} is given to --range more than once")
        found[feature] = found.get(feature, {}) | limits
    return found


def _range(text: str) -> tuple[str, dict[str, float]]:
    feature, sign, limits = text.rpartition("=")
    low, colon, high = limits.partition(":")
    ends = {"low": low.strip(), "high": high.strip()}
    try:
        numbers = {name: float(end) for name, end in ends.items() if end}
    except ValueError:
        numbers = {}
    if not sign or not feature.strip() or not colon or not numbers:
        raise InputError(f"--range {text!r}; expected FEATURE=LOW:HIGH, such as income=0:90000")
    return feature.strip(), numbers
