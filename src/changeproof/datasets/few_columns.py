"""What may change about a few features of many, in columns of their own."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np

from changeproof.datasets.action import Action
from changeproof.datasets.actions import Actions, Scales
from changeproof.datasets.feature import Feature
from changeproof.model import Integers


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
