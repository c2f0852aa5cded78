"""Families whose changed models are just what the base models are, as the tables of a run tell."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd


def unchanged_families(tables: Mapping[str, pd.DataFrame]) -> frozenset[str]:
    """Return the families of which no model decides or scores any test row in another way."""
    variants = tables.get("variants")
    if variants is None or variants.empty:
        return frozenset()
    same = (variants[["hard_disagreement", "probability_mae"]] == 0.0).all(axis=1)
    return frozenset(variants["family"]) - frozenset(variants["family"][~same])
