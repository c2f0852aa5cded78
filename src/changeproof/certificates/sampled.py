"""The sampled test: favourable under every one of enough random networks of a box.

If a share of at least 1 - probability of the box called a row adverse, all draws would be
favourable with a chance of at most probability^samples; enough samples bring that below
1 - confidence. (The test of AP-Delta-S, by Marzari and others.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from changeproof.certificates.box import (
    Layers,
    ParameterBox,
    flat_parameters,
    network_logit,
)
from changeproof.errors import InputError
from changeproof.networks.draws import BITS, WORDS, TorchDraws, exact, fill
from changeproof.networks.kernels import compiled
from changeproof.networks.model import Booleans, Floats


def samples_needed(confidence: float, probability: float) -> int:
    """Return how many draws show, with a confidence, robustness with a probability.

    >>> samples_needed(confidence=0.999, probability=0.995)
    1379
    """
    for name, value in (("confidence", confidence), ("probability", probability)):
        if not 0.0 < value < 1.0:
            raise InputError(f"{name} must lie between 0 and 1, both excluded; got {value}")
    return math.ceil(math.log(1.0 - confidence) / math.log(probability))


@dataclass(frozen=True, eq=False)
class ParameterSample:
    """Networks drawn uniformly from a box: parameters [samples, n], weight, bias, weight, ..."""

    box: ParameterBox
    parameters: npt.NDArray[np.float32]

    @classmethod
    def draw(cls, box: ParameterBox, samples: int, seed: int) -> Self:
        """Draw networks one after the other, tensor by tensor, as PyTorch would.

        Parameters
        ----------
        box
            The network and the radius.
        samples
            How many networks.
        seed
            Of the generator; the same seed gives the same networks.
        """
        centre = flat_parameters(box.network)
        # Uniform numbers are drawn one by one, so one long draw equals many short ones.
        networks = TorchDraws(seed).uniform(-1.0, 1.0, (samples, len(centre)))
        networks *= np.float32(box.radius)
        networks += centre
        return cls(box, networks)

    def __len__(self) -> int:
        return len(self.parameters)

    def all_favourable(self, rows: Floats) -> Booleans:
        """Return for every row whether all networks of the sample call it favourable."""
        rows = self.box.checked(rows)
        result = np.empty(len(rows), np.bool_)
        _all_favourable(self.parameters, self.box.layers, rows, result)
        return result


def favourable_under_draws(box: ParameterBox, row: Floats, samples: int, seed: int) -> bool:
    """Return whether all networks of a sample call one row favourable, without keeping them.

    The same as `ParameterSample.draw(box, samples, seed).all_favourable(row[None])[0]`: every
    network is drawn where it is needed, and the first that does not is the last.
    """
    draws, (row,) = TorchDraws(seed), box.checked(row[None])
    centre = flat_parameters(box.network)
    radius = np.float32(box.radius)
    return bool(
        _favourable_under_draws(draws.state, draws.words, centre, radius, box.layers, row, samples)
    )


@compiled
def _favourable_under_draws(
    state: Any, words: Any, centre: Any, radius: Any, layers: Layers, row: Any, samples: int
) -> bool:
    values = np.empty((2, layers[:, :2].max()))
    parameters = np.empty_like(centre)
    place = WORDS
    for _ in range(samples):
        place = fill(state, words, place, -1.0, 2.0 * 0.5**BITS, parameters)
        _move(parameters, radius, centre)
        if network_logit(parameters, layers, row, values) < 0.0:
            return False
    return True


@exact
def _move(parameters: Any, radius: Any, centre: Any) -> None:
    for i in range(parameters.size):
        parameters[i] = parameters[i] * radius + centre[i]


@compiled
def _all_favourable(parameters: Any, layers: Layers, rows: Any, result: Any) -> None:
    values = np.empty((2, layers[:, :2].max()))
    for r in range(len(rows)):
        result[r] = True
        for sample in range(len(parameters)):
            if network_logit(parameters[sample], layers, rows[r], values) < 0.0:
                result[r] = False
                break
