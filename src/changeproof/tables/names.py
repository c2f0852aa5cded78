"""What people read: names of datasets, methods and families instead of a plan's references.

A reference is a name or an import path, and may carry settings: "robx-balanced(quantile=0.7)"
reads "RobX balanced (quantile=0.7)". What has no name here stays as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from changeproof.changes import REGISTRY as FAMILIES
from changeproof.changes import SUCCESSOR
from changeproof.changes.family import Label
from changeproof.changes.successors import Successors
from changeproof.methods import OURS, published_method_names
from changeproof.methods import REGISTRY as METHODS
from changeproof.plugins import without_settings

DATASETS = {
    "breast-cancer": "Breast Cancer",
    "diabetes": "Diabetes",
    "wine-quality": "Wine Quality",
    "heloc": "HELOC",
    "german-credit": "German Credit",
    "car-loans": "Car Loans",
    "employment": "Employment",
}


def dataset_name(reference: str) -> str:
    return DATASETS.get(reference, reference)


def method_name(reference: str) -> str:
    return _named(reference, lambda name: getattr(METHODS.known(name), "label", ""))


def family_name(reference: str) -> str:
    return _named(reference, lambda name: family_label(name).full)


def short_family(reference: str) -> str:
    """Return a family's name for a narrow column."""
    return _named(reference, lambda name: family_label(name).short)


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
    # Ours are behind those of the paper, which keep their colours.
    ours = [*published_method_names(), *OURS]
    known = [*ours, *sorted(named.keys() - set(ours))]
    place = {name: number for number, name in enumerate(known)}
    return {name: place[name] for name in named}


def in_order(references: Iterable[object]) -> list[str]:
    """Return the different references in the order in which they first occur."""
    return list(dict.fromkeys(str(reference) for reference in references))


def family_label(name: str) -> Label:
    """Return what a family without settings is called, in full and in short; "" where it is not."""
    family = Successors if name == SUCCESSOR else FAMILIES.known(name)
    return (None if family is None else family.label) or Label("")


def _named(reference: str, label_of: Callable[[str], str]) -> str:
    name = without_settings(reference)
    settings = reference[len(name) + 1 : -1]
    return (label_of(name) or name) + (f" ({settings})" if settings else "")
