"""What people read: names of datasets, methods and families instead of a plan's references.

A reference is a name or an import path, and may carry settings: "robx-balanced(quantile=0.7)"
reads "RobX balanced (quantile=0.7)". What has no name here stays as it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

REFERENCE = re.compile(r"([\w.:-]+)\(.*\)", re.DOTALL)


class FamilyName(NamedTuple):
    """A family in full, in a narrow column, and as a heading with a word on each line."""

    full: str
    short: str
    heading: str


DATASETS = {
    "breast-cancer": "Breast Cancer",
    "diabetes": "Diabetes",
    "wine-quality": "Wine Quality",
    "heloc": "HELOC",
    "german-credit": "German Credit",
    "car-loans": "Car Loans",
    "employment": "Employment",
}
METHODS = {
    "apds": "APΔS",
    "betarce": "BetaRCE",
    "kdtree": "KD-tree",
    "rbr": "RBR",
    "rnce": "RNCE",
    "roar-lime": "ROAR-LIME",
    "robx-balanced": "RobX balanced",
    "robx-robust": "RobX robust-first",
    "wachter": "Wachter",
    # Behind those of the paper, which keep their colours.
    "quorum": "Quorum",
}
FAMILIES = {
    "new-initialization": FamilyName("New initialization", "init", "New init."),
    "bootstrap": FamilyName("Bootstrap", "boot", "Boot- strap"),
    "data-deletion": FamilyName("Data deletion", "delete", "Data deletion"),
    "data-addition": FamilyName("Data addition", "add", "Data addition"),
    "label-update": FamilyName("Label update", "labels", "Label update"),
    "training-configuration": FamilyName("Training configuration", "train", "Training config."),
    "architecture": FamilyName("Architecture", "arch", "Archi- tecture"),
    "parameter-perturbation": FamilyName("Parameter perturbation", "param", "Param. perturb."),
    # What the paper does not have.
    "decision-threshold": FamilyName("Decision threshold", "thresh", "Decision threshold"),
    "recalibration": FamilyName("Recalibration", "recal", "Recali- bration"),
    "weight-rounding": FamilyName("Weight rounding", "round", "Weight rounding"),
    "magnitude-pruning": FamilyName("Magnitude pruning", "prune", "Magn. pruning"),
    "measurement-error": FamilyName("Measurement error", "measure", "Measure. error"),
    "distillation": FamilyName("Distillation", "distil", "Distil- lation"),
    "fine-tuning": FamilyName("Fine-tuning", "tune", "Fine- tuning"),
    "influential-deletion": FamilyName("Influential deletion", "influence", "Influent. deletion"),
    "group-reweighting": FamilyName("Group reweighting", "groups", "Group weights"),
    "feature-change": FamilyName("Feature change", "feature", "Feature change"),
    "covariate-shift": FamilyName("Covariate shift", "shift", "Covar. shift"),
    "followed-advice": FamilyName("Followed advice", "follow", "Followed advice"),
    "later-data": FamilyName("Later data", "later", "Later data"),
    "updates": FamilyName("Chain of updates", "chain", "Chain of updates"),
}
# What really happened, beside what may.
REAL = {"successor": FamilyName("Successor", "next", "Succes- sor")}
FULL_FAMILIES = {reference: name.full for reference, name in (FAMILIES | REAL).items()}
SHORT_FAMILIES = {reference: name.short for reference, name in (FAMILIES | REAL).items()}


def dataset_name(reference: str) -> str:
    """Return what a dataset is called."""
    return DATASETS.get(reference, reference)


def method_name(reference: str) -> str:
    """Return what a method is called, with its settings."""
    return _named(METHODS, reference)


def family_name(reference: str) -> str:
    """Return what a family of change is called, with its settings."""
    return _named(FULL_FAMILIES, reference)


def short_family(reference: str) -> str:
    """Return a family's name for a narrow column."""
    return _named(SHORT_FAMILIES, reference)


def without_settings(reference: str) -> str:
    """Return the name or import path alone."""
    found = REFERENCE.fullmatch(reference)
    return reference if found is None else found[1]


def different_names(references: Iterable[str], name_of: Callable[[str], str]) -> dict[str, str]:
    """Return a name for each reference; those whose names would be alike stay as they are."""
    named = {reference: name_of(reference) for reference in references}
    count = Counter(named.values())
    return {reference: name if count[name] == 1 else reference for reference, name in named.items()}


def mark_places(methods: Iterable[str]) -> dict[str, int]:
    """Return for each method which of all marks, pairs of colour and shape, is its own.

    Methods that come with the package always have the same, whichever of them there are. All
    others, and these with settings, take the next ones in alphabetical order.
    """
    named = dict.fromkeys(methods)
    known = [*METHODS, *sorted(named.keys() - METHODS.keys())]
    place = {name: number for number, name in enumerate(known)}
    return {name: place[name] for name in named}


def in_order(references: Iterable[object]) -> list[str]:
    """Return the different references in the order in which they first occur."""
    return list(dict.fromkeys(str(reference) for reference in references))


def _named(known: Mapping[str, str], reference: str) -> str:
    name = without_settings(reference)
    settings = reference[len(name) + 1 : -1]
    return known.get(name, name) + (f" ({settings})" if settings else "")
