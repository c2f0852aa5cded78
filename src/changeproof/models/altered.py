"""A model that sees its rows differently, or whose probabilities are adjusted.

Rows may be measured differently, have a column more, or hide a feature. Our own networks stay
networks where their layers can absorb the change; the layers are then rounded to float32 again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from changeproof.model import Access, Booleans, Floats, Model
from changeproof.networks.network import Network


@dataclass(frozen=True, eq=False, repr=False)
class AlteredModel:
    """A model whose rows are rewritten before it sees them, or whose probabilities are adjusted."""

    model: Model
    rewrite: Callable[[Floats], Floats] | None = None
    adjust: Callable[[Model, Floats], Floats] | None = None
    offers: ClassVar[Access] = Access.PREDICTIONS

    def __repr__(self) -> str:
        return f"AlteredModel({self.model!r})"

    def probabilities(self, rows: Floats) -> Floats:
        seen = rows if self.rewrite is None else self.rewrite(rows)
        if self.adjust is None:
            return self.model.probabilities(seen)
        return self.adjust(self.model, seen)

    def favourable(self, rows: Floats) -> Booleans:
        if self.adjust is not None:
            return self.probabilities(rows) >= 0.5
        return self.model.favourable(rows if self.rewrite is None else self.rewrite(rows))


def rescaled(network: Network, slope: float, shift: float) -> Network:
    """Return the network whose logits are ``slope * logit + shift``, in its last layer.

    Of several classes, the favourable outputs are shifted; the slope must then be positive.
    Rounding moves a logit by less than a millionth of the terms that it is the sum of.
    """
    weight, bias = (a[-1].astype(np.float64) for a in (network.weights, network.biases))
    bias = slope * bias
    bias[network.n_adverse :] += shift
    return replace(
        network,
        weights=(*network.weights[:-1], (slope * weight).astype(np.float32)),
        biases=(*network.biases[:-1], bias.astype(np.float32)),
    )


def remeasured(model: Model, gains: Floats, offsets: Floats) -> Model:
    """Return the model that sees ``gains * row + offsets``; a network's first layer absorbs it."""
    if not isinstance(model, Network):
        return AlteredModel(model, partial(_measured, gains=gains, offsets=offsets))
    weight, bias = (a[0].astype(np.float64) for a in (model.weights, model.biases))
    # One product after the other: the sum is then the same on every processor.
    for column, offset in enumerate(offsets):
        bias = bias + weight[:, column] * offset
    return replace(
        model,
        weights=((weight * gains).astype(np.float32), *model.weights[1:]),
        biases=(bias.astype(np.float32), *model.biases[1:]),
    )


def ignoring(model: Model, columns: Sequence[int]) -> Model:
    """Return the model that takes some columns to be at their means; a network has zeros there."""
    places = list(columns)
    if not isinstance(model, Network):
        return AlteredModel(model, partial(_at_the_mean, columns=places))
    first = model.weights[0].copy()
    first[:, places] = 0.0
    return replace(model, weights=(first, *model.weights[1:]))


def _measured(rows: Floats, gains: Floats, offsets: Floats) -> Floats:
    return rows * gains + offsets


def _at_the_mean(rows: Floats, columns: list[int]) -> Floats:
    held = rows.copy()
    held[:, columns] = 0.0
    return held
