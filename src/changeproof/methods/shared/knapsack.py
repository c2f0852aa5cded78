"""The cheapest way to gain enough, from pieces that can be taken in part: the best rate first."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from changeproof.model import Booleans, Floats


class Taken(NamedTuple):
    """How much of every piece is taken [people, pieces], and for whom that gains enough."""

    amounts: Floats
    enough: Booleans


def cheapest(lengths: Floats, gains: Floats, costs: Floats, needed: Floats) -> Taken:
    """Take pieces [people, pieces] until people have gained what they need [people].

    Pieces of equal worth are taken in their order. What gains nothing is left.

    Parameters
    ----------
    lengths
        How much there is of every piece.
    gains, costs
        What a unit of it gains and costs.
    """
    lengths = np.where(gains > 0.0, lengths, 0.0)
    gains = np.where(lengths > 0.0, gains, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = np.where(gains > 0.0, gains / costs, 0.0)
    order = np.argsort(-worth, axis=1, kind="stable")
    rates = np.take_along_axis(gains, order, axis=1)
    sizes = np.take_along_axis(lengths, order, axis=1)
    gained = np.cumsum(rates * sizes, axis=1)
    before = np.concatenate([np.zeros((len(gained), 1)), gained[:, :-1]], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = np.where(rates > 0.0, (needed[:, None] - before) / rates, 0.0)
    sorted_amounts = np.clip(wanted, 0.0, sizes)
    amounts = np.empty_like(sorted_amounts)
    np.put_along_axis(amounts, order, sorted_amounts, axis=1)
    total = gained[:, -1] if gained.shape[1] else np.zeros(len(gained))
    return Taken(amounts, np.asarray(total >= needed))
