"""Tables with very many columns, and what may change about a few of their features."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np

from changeproof.datasets.action import Action
from changeproof.datasets.actions import Actions, Scales
from changeproof.datasets.feature import Feature
from changeproof.model import Integers

# A table with more columns than these is wide, categories counted one by one. What takes longer
# with every feature is bounded there. No embedded dataset has as many.
WIDE = 200
# How many features of a wide table searches look at that change one feature at a time, and how
# many columns these may have together.
LOOKED_AT, LOOKED_AT_COLUMNS = 32, 128


def fewer(count: int, n_columns: int) -> int:
    """Return how many of something are affordable: all, but on wide tables in proportion."""
    return count if n_columns <= WIDE else max(1, count * WIDE // n_columns)


def wide_notes(n_columns: int) -> tuple[str, ...]:
    """Return what people should know of a wide table."""
    if n_columns <= WIDE:
        return ()
    return (
        f"{n_columns} columns, more than {WIDE}: searches that change one feature at a time look "
        f"at the {LOOKED_AT} features that move the model most, and methods draw less per person "
        "(docs/own-data.md)",
    )


def part_of(actions: Actions, places: Integers, constants: int) -> Actions:
    """Return what may change about some features.

    Their columns come first, one feature after the other. So many columns follow that stay as
    they are, whatever they hold.
    """
    features: list[Feature] = []
    taken: list[int] = []
    for feature in (actions.features[place] for place in places.tolist()):
        first = len(taken)
        taken += feature.columns
        features.append(replace(feature, columns=tuple(range(first, len(taken)))))
    ends = range(len(taken), len(taken) + constants)
    features += [Feature(f"constant {column}", "numeric", (column,)) for column in ends]
    nothing, one = np.zeros(constants), np.ones(constants)
    mean, scale, distance = (values[taken] for values in actions.scales)
    part = copy(actions)
    for known in ("rules", "changeable"):
        vars(part).pop(known, None)
    part.features, part.looked_at = tuple(features), None
    part.of = [actions.of[place] for place in places] + [Action(change="none")] * constants
    part.scales = Scales(
        np.concatenate([mean, nothing]),
        np.concatenate([scale, one]),
        np.concatenate([distance, one]),
    )
    low, high = (np.concatenate([limit[taken], nothing]) for limit in actions.data_range)
    part.data_range = low, high
    part.decimals = [actions.decimals[place] for place in places] + [0] * constants
    return part
