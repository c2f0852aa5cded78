"""Which answers the numbers of a run are about, in words: feasible rows, or methods' proposals."""

from __future__ import annotations

import pandas as pd

from changeproof.tables.display import Tables

FEASIBLE = (
    "Answers are rows that people can be told: the nearest found that pass each method's own test, "
    "not the methods' own proposals"
)
PUBLISHED = (
    "Answers are as published: what the methods propose, also where people cannot be told it."
)


def answers_words(feasible: bool) -> str:
    """Say which answers were tested, and how to test the others."""
    tests = "--as-published (in Python feasible=False) tests those"
    return f"{FEASIBLE}; {tests}." if feasible else PUBLISHED


def feasible_words(tables: Tables, frame: pd.DataFrame) -> str:
    """Return the end of a caption: which answers these are, where they are not the methods' own."""
    advice = tables.get("advice", pd.DataFrame())
    # Only feasible rows are compared with proposals.
    compared = advice.get("validity_change_mean", pd.Series(dtype=float)).notna().any()
    return f" {FEASIBLE}." if compared else ""
