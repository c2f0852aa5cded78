"""What ± and an interval are over, in words: base models, draws of people, or people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from changeproof.report.names import dataset_name
from changeproof.report.words import listed
from changeproof.runs.plan import Plan
from changeproof.runs.tables import SAME_BASES

BASES, DRAWS = "base models", "draws of people and changed models"


class Covered(NamedTuple):
    """What the spread of a dataset's scores covers.

    Attributes
    ----------
    intervals
        What 95 % intervals are over: "people", or "people and base models".
    repeated
        What standard deviations are over: "base models" or, if these are all the same, draws.
    meaning
        What is said of both beside numbers.
    """

    intervals: str
    repeated: str
    meaning: str


ONE_BASE = Covered(
    "people",
    BASES,
    "95 % intervals are over people: what as many other people would show, with this base model "
    "and these changed models. They say nothing about other base models.",
)
SAME_BASE = Covered(
    "people",
    DRAWS,
    "All base models are the same. So ± is the standard deviation over draws of people and of "
    "changed models. 95 % intervals are over people and such draws, for this one base model.",
)
SEVERAL_BASES = Covered(
    f"people and {BASES}",
    BASES,
    "± is the standard deviation over base models. 95 % intervals are over people and base models: "
    "what as many others of both would show, with the same kinds of change.",
)


def covered(tables: Mapping[str, pd.DataFrame], plan: Plan) -> list[Covered]:
    """Return what the spread of scores covers, for every dataset of a plan."""
    same, several = same_bases(tables), len(plan.base_seeds) > 1
    return [
        (SAME_BASE if dataset in same else SEVERAL_BASES) if several else ONE_BASE
        for dataset in plan.datasets
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
