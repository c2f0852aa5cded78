"""Small weights set to zero, without any retraining."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from changeproof.changes.family import Label, Several, Share, WeightFamily, either, percent
from changeproof.model import Floats

SHARES = (0.10, 0.30, 0.50)


def _summary(shares: Sequence[float]) -> str:
    percents = either([100 * share for share in shares])
    return f"{percents} % of the weights set to zero, the smallest of each or of all layers"


class MagnitudePruning(WeightFamily):
    """Set a share of the weights to zero: the smallest of every layer, or of all layers.

    Biases stay as they are.

    Parameters
    ----------
    shares
        The shares of the weights that become zero, each at least one weight.
    """

    name = "magnitude-pruning"
    label = Label("Magnitude pruning", "prune", "Magn. pruning")
    summary = _summary(SHARES)
    source = "changeproof, docs/beyond.md"

    def __init__(self, *, shares: Several[Share] = SHARES) -> None:
        self.shares = tuple(shares)
        self.summary = _summary(self.shares)

    def changed(self, weights: Sequence[Floats]) -> Iterator[tuple[str, list[Floats]]]:
        """Yield pruned weights, by layer and over all layers, for each share."""
        sizes = np.cumsum([weight.size for weight in weights])[:-1]
        for share in self.shares:
            yield f"{percent(share)}, by layer", [pruned(weight, share) for weight in weights]
            together = pruned(np.concatenate([weight.ravel() for weight in weights]), share)
            parts = zip(np.split(together, sizes), weights, strict=True)
            yield f"{percent(share)}, of all", [part.reshape(w.shape) for part, w in parts]


def pruned(weight: Floats, share: float) -> Floats:
    """Return weights with the smallest share set to zero; among equals, the first."""
    count = max(1, round(share * weight.size)) if share > 0 else 0
    result = weight.copy()
    smallest = np.argsort(np.abs(weight), axis=None, kind="stable")[:count]
    result.reshape(-1)[smallest] = 0.0
    return result
