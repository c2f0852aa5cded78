"""Which families count in numbers over all families: decided here, and nowhere else.

Left out are updates in sequence, as their models follow from each other, real successors, and
families that change nothing about a model, as they test nothing; unless nothing else is left.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import Protocol

import pandas as pd

from changeproof.model import Booleans


class Kind(Protocol):
    """A family, or what was recorded of one."""

    @property
    def sequence(self) -> bool:
        """Whether its levels are updates that follow each other."""

    @property
    def real(self) -> bool:
        """Whether it is what really happened."""


class Apart(StrEnum):
    """Why a family does not count, or is shown apart where there is nothing else."""

    NOT = ""
    SEQUENCE = "updates in sequence"
    REAL = "a real successor"
    NOTHING = "changes nothing"


def apart(families: Mapping[str, Kind], unchanged: Collection[str] = ()) -> dict[str, Apart]:
    """Return why each family is shown apart, if it is."""

    def why(name: str, family: Kind) -> Apart:
        if name in unchanged:
            return Apart.NOTHING
        if family.sequence:
            return Apart.SEQUENCE
        return Apart.REAL if family.real else Apart.NOT

    return {name: why(name, family) for name, family in families.items()}


def counting_families(
    families: Mapping[str, Kind], unchanged: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the families that numbers over all families are about.

    `unchanged` are those that change nothing, where that is known; see `changes_nothing`.
    """
    single = [name for name, why in apart(families).items() if why is Apart.NOT] or list(families)
    return tuple(name for name in single if name not in unchanged) or tuple(single)


def changes_nothing(
    variants: Iterable[pd.DataFrame], held: Iterable[tuple[pd.Series[str], Booleans]] = ()
) -> frozenset[str]:
    """Return the families none of whose models decides or scores anybody differently.

    Such as new seeds where training does not depend on them. `variants` are the changed models of
    each base model, with their magnitudes on the test rows. `held` has, for a method and a base
    model, the family of each changed model and which valid answers hold [answers, models].
    """
    there: set[str] = set()
    different: set[str] = set()
    for table in variants:
        same = (table[["hard_disagreement", "probability_mae"]] == 0.0).all(axis=1)
        there |= set(table["family"])
        different |= set(table["family"][~same])
    for family_of, survived in held:
        if there <= different:
            break
        different |= set(family_of.to_numpy()[~survived.all(axis=0)])
    return frozenset(there - different)
