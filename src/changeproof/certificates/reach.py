"""How far from a point a network is certain to call everything adverse.

Every pre-activation, and at last the logit, is bounded over a ball by a linear function of the
features; a ReLU that can go either way lies below its chord and above a line through zero.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from changeproof.networks.model import Floats
from changeproof.networks.network import Network

BISECTIONS = 9
CERTAIN = -1e-9

Norm = Literal[1, 2]


def adverse_radii(network: Network, centres: Floats, norm: Norm, most: float) -> Floats:
    """Return radii such that no point of the balls around the centres is favourable.

    Parameters
    ----------
    norm
        1 or 2, the norm of the balls.
    most
        The largest radius of interest; radii are found to within a 512th of it.
    """
    low, high = np.zeros(len(centres)), np.full(len(centres), most)
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        certain = largest_logits(network, centres, middle, norm) < CERTAIN
        low, high = np.where(certain, middle, low), np.where(certain, high, middle)
    return low


def largest_logits(network: Network, centres: Floats, radii: Floats, norm: Norm) -> Floats:
    """Return upper bounds on the logits in balls around the centres, one radius each."""
    weights = [weight.astype(np.float64) for weight in network.weights]
    biases = [bias.astype(np.float64) for bias in network.biases]
    lows: list[Floats] = []
    highs: list[Floats] = []
    for layer, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        shape = (len(centres), *weight.shape)
        upper = lower = np.broadcast_to(weight, shape)
        above = below = np.broadcast_to(bias, shape[:2])
        for before in range(layer - 1, -1, -1):
            chord, offset, floor = _relaxed(lows[before], highs[before])
            positive, negative = np.maximum(upper, 0.0), np.minimum(upper, 0.0)
            above = above + (positive @ offset[:, :, None])[:, :, 0]
            upper = positive * chord[:, None, :] + negative * floor[:, None, :]
            positive, negative = np.maximum(lower, 0.0), np.minimum(lower, 0.0)
            below = below + (negative @ offset[:, :, None])[:, :, 0]
            lower = positive * floor[:, None, :] + negative * chord[:, None, :]
            above, below = above + upper @ biases[before], below + lower @ biases[before]
            upper, lower = upper @ weights[before], lower @ weights[before]
        reach = radii[:, None]
        highs.append(above + _at(upper, centres) + reach * _steepness(upper, norm))
        lows.append(below + _at(lower, centres) - reach * _steepness(lower, norm))
    return np.asarray(highs[-1][:, 0])


def _relaxed(low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
    """Return slope and offset of the line above every ReLU, and the slope of the one below."""
    open_ = (low < 0.0) & (high > 0.0)
    chord = np.where(open_, high / np.where(open_, high - low, 1.0), (low >= 0.0).astype(float))
    offset = np.where(open_, -chord * low, 0.0)
    floor = np.where(open_, (high > -low).astype(float), chord)
    return chord, offset, floor


def _at(forms: Floats, points: Floats) -> Floats:
    return np.asarray((forms @ points[:, :, None])[:, :, 0])


def _steepness(forms: Floats, norm: Norm) -> Floats:
    """Return how much the forms can grow per unit of distance."""
    if norm == 1:
        return np.asarray(np.abs(forms).max(axis=-1))
    return np.asarray(np.sqrt((forms**2).sum(axis=-1)))
