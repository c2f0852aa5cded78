"""Why somebody has no advice, in plain words."""

from __future__ import annotations

from collections.abc import Sequence

from changeproof.methods.answers import (
    ALREADY_FAVOURABLE,
    BUDGET,
    FACTUAL_NOT_FINITE,
    NOT_FINITE,
    NOT_FOUND,
    NOTHING_LEFT,
    UNCHANGED,
)

PLAIN = {
    NOT_FOUND: "the method found nothing",
    UNCHANGED: "the method returned what this person already has",
    NOT_FINITE: "the method's answer holds values that are not numbers",
    FACTUAL_NOT_FINITE: "values of this person are missing",
    ALREADY_FAVOURABLE: "today's model already decides in this person's favour",
    BUDGET: "the search used up its budget of work before it found anything",
    NOTHING_LEFT: "of the method's answer, nothing is left that this person can do",
}
# All that changes are parts of categories.
ONLY_PARTS = (
    "No feature changes that could be named: the tested row differs only in parts of categories, "
    "which nobody can be told."
)
IN_PARTS = "The tested row is between categories, which nobody can be told: {features}."


def in_parts(features: Sequence[str]) -> str:
    """Return a sentence about features that have a category in part."""
    return IN_PARTS.format(features=", ".join(features))


def why_not(outcome: str, breach: str = "") -> str:
    """Return why there is no advice.

    Parameters
    ----------
    outcome
        What is stored of the answer.
    breach
        How the method's own answer was not realisable.
    """
    if outcome in PLAIN:
        return PLAIN[outcome]
    return f"the answer breaks a rule: {outcome}" if breach else outcome
