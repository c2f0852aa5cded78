"""What ± and an interval are over, in words: base models, draws of people, or people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from changeproof.report.names import dataset_name
from changeproof.report.words import listed
from changeproof.runs.plan import Plan
from changeproof.runs.tables import SAME_BASES

PEOPLE, BASES, DRAWS = "people", "base models", "draws of people and changed models"
# What is said beside numbers, by what their intervals are over.
MEANING = {
    PEOPLE: "95 % intervals are over people: what as many other people would show, with this base "
    "model and these changed models. They say nothing about other base models.",
    BASES: "± is the standard deviation over base models. 95 % intervals are over base models, "
    "too: what as many others would show.",
    DRAWS: "All base models are the same. So ± is the standard deviation over draws of people and "
    "of changed models, and 95 % intervals are over such draws.",
}


def covered(tables: Mapping[str, pd.DataFrame], plan: Plan) -> list[str]:
    """Return what the intervals of scores are over, for every dataset of a plan."""
    same = same_bases(tables)
    several = len(plan.base_seeds) > 1
    return [
        (DRAWS if dataset in same else BASES) if several else PEOPLE for dataset in plan.datasets
    ]


def spread_over(tables: Mapping[str, pd.DataFrame], datasets: Sequence[str]) -> str:
    """Return what a standard deviation is over, in a table of some datasets."""
    same = [dataset for dataset in datasets if dataset in same_bases(tables)]
    if not same:
        return BASES
    if len(same) == len(datasets):
        return f"{DRAWS}, as all base models are the same"
    where = listed([dataset_name(dataset) for dataset in same])
    return f"{BASES}; on {where}, where all are the same, over {DRAWS}"


def same_bases(tables: Mapping[str, pd.DataFrame]) -> set[str]:
    """Return the datasets whose base models, of several seeds, are all the same."""
    return set(tables[SAME_BASES]["dataset"]) if SAME_BASES in tables else set()
