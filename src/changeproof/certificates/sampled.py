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

from changeproof.arithmetic.compiling import compiled
from changeproof.certificates.box import (
    SPARE,
    ParameterBox,
    activate,
    dot,
    network_logit,
    scratch_for,
)
from changeproof.errors import InputError
from changeproof.model import Booleans, Floats, Singles
from changeproof.networks.draws import BITS, WORDS, TorchDraws, fill
from changeproof.networks.flat import layer_at

# More networks take too long, and more parameters in all than 4 GiB hold do not fit.
MOST_SAMPLES, MOST_PARAMETERS = 1_000_000, 2**30


def samples_needed(confidence: float, probability: float) -> int:
    """Return how many draws it takes to show a robustness with a confidence.

    >>> samples_needed(confidence=0.999, probability=0.995)
    1379
    """
    for name, value in (("confidence", confidence), ("probability", probability)):
        if not 0.0 < value < 1.0:
            raise InputError(f"{name} must lie between 0 and 1, both excluded; got {value}")
    samples = math.ceil(math.log(1.0 - confidence) / math.log(probability))
    if samples > MOST_SAMPLES:
        raise InputError(
            f"confidence {confidence} and robustness {probability} ask for {samples:,} sampled "
            f"networks; expected at most {MOST_SAMPLES:,}, so lower one of the two"
        )
    return samples


@dataclass(frozen=True, eq=False)
class ParameterSample:
    """Networks drawn uniformly from a box: parameters [samples, n], weight, bias, weight, ..."""

    box: ParameterBox
    parameters: Singles

    @classmethod
    def draw(cls, box: ParameterBox, samples: int, seed: int) -> Self:
        """Draw tensor by tensor: the first weights of all networks, then the first biases."""
        draws, centre = TorchDraws(seed), box.network.parameters
        most = MOST_PARAMETERS // (len(centre) + SPARE)
        if samples > most:
            raise InputError(
                f"{samples:,} sampled networks of {len(centre):,} parameters do not fit into "
                f"memory; expected at most {most:,}, so lower the confidence or the robustness"
            )
        networks = np.zeros((samples, len(centre) + SPARE), np.float32)
        radius = np.float32(box.radius)
        _draw_all(draws.state, draws.words, centre, radius, box.flat.layers, networks)
        return cls(box, networks)

    def __len__(self) -> int:
        return len(self.parameters)

    def all_favourable(self, rows: Floats) -> Booleans:
        """Return which rows all networks of the sample call favourable."""
        rows = self.box.checked(rows)
        result = np.empty(len(rows), np.bool_)
        _all_favourable(self.parameters, self.box.flat.layers, rows, result)
        return result


def favourable_under_draws(box: ParameterBox, row: Floats, samples: int, seed: int) -> bool:
    """Return whether all networks of `ParameterSample.draw` call one row favourable.

    They are not kept, since writing them to memory takes longer than drawing them.
    """
    draws, (row,) = TorchDraws(seed), box.checked(row[None])
    around = box.network.parameters, np.float32(box.radius), box.flat.layers
    return bool(_favourable_under_draws(draws.state, draws.words, *around, row, samples))


@compiled
def _draw(state: Any, words: Any, place: int, centre: Any, radius: Any, drawn: Any) -> Any:
    """Draw a tensor of one network from its box; return the generator's next position."""
    low, step = np.float32(-1.0), np.float32(2.0 * 0.5**BITS)
    place = fill(state, words, place, low, step, drawn[: centre.size])
    for i in range(centre.size):
        drawn[i] = drawn[i] * radius + centre[i]
    return place


@compiled
def _draw_all(state: Any, words: Any, centre: Any, radius: Any, layers: Any, networks: Any) -> None:
    place = WORDS
    for layer in range(len(layers)):
        n_in, n_out, start, _ = layer_at(layers, layer)
        stop = start + n_in * n_out
        for first, last in ((start, stop), (stop, stop + n_out)):
            for sample in range(len(networks)):
                drawn = networks[sample, first:last]
                place = _draw(state, words, place, centre[first:last], radius, drawn)


@compiled
def _favourable_under_draws(
    state: Any, words: Any, centre: Any, radius: Any, layers: Any, row: Any, samples: int
) -> bool:
    inputs, outputs = np.zeros((2, samples, layers[:, :2].max() + SPARE))
    drawn = np.zeros(layers[:, 0].max() * layers[:, 1].max() + SPARE, np.float32)
    for sample in range(samples):
        for k in range(len(row)):  # assigning a slice takes three seconds longer to compile
            inputs[sample, k] = row[k]
    place = WORDS
    for layer in range(len(layers)):
        n_in, n_out, start, _ = layer_at(layers, layer)
        stop = start + n_in * n_out
        for sample in range(samples):
            place = _draw(state, words, place, centre[start:stop], radius, drawn)
            for i in range(n_out):
                outputs[sample, i] = dot(drawn, i * n_in, inputs[sample], n_in)
        for sample in range(samples):
            place = _draw(state, words, place, centre[stop : stop + n_out], radius, drawn)
            for i in range(n_out):
                outputs[sample, i] += drawn[i]
            if layer < len(layers) - 1:
                activate(outputs[sample], n_out)
            elif not outputs[sample, 0] >= 0.0:  # NaN is not favourable
                return False
        inputs, outputs = outputs, inputs
    return True


@compiled
def _all_favourable(parameters: Any, layers: Any, rows: Any, result: Any) -> None:
    values = scratch_for(layers)
    for r in range(len(rows)):
        result[r] = True
        for sample in range(len(parameters)):
            if not network_logit(parameters[sample], layers, rows[r], values) >= 0.0:
                result[r] = False
                break
