"""A network around points, where there are too many features to ask it again for every draw.

Draws around a point add the same to the neurons of the first layer, whatever the point. So that is
worked out once, and a point asks for no more than the layers behind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from changeproof.arithmetic.functions import sigmoids
from changeproof.methods.search.few_features import first_sums
from changeproof.model import Floats
from changeproof.networks.network import Network


@dataclass(frozen=True, eq=False)
class Shaken:
    """The probabilities of a network at points to which draws [draws, features] are added."""

    network: Network
    draws: Floats

    @cached_property
    def _moves(self) -> Floats:
        return first_sums(self.network, self.draws) - self.network.biases[0]

    @cached_property
    def _behind(self) -> Network | None:
        weights, biases = self.network.weights[1:], self.network.biases[1:]
        return Network(weights, biases) if weights else None

    def probabilities(self, points: Floats) -> Floats:
        """Return the probabilities [points, draws]."""
        sums = first_sums(self.network, points)[:, None] + self._moves
        flat = sums.reshape(-1, sums.shape[2])
        if self._behind is None:
            return sigmoids(flat[:, 0]).reshape(sums.shape[:2])
        return self._behind.probabilities(np.maximum(flat, 0.0)).reshape(sums.shape[:2])
