"""A network as one vector, for kernels that go through it row by row."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.arithmetic.functions import fma
from changeproof.model import Floats, Integers, Singles


class FlatNetwork(NamedTuple):
    """The parameters of a network one after the other: weight, bias, weight, ...

    `parameters` are in double precision, the weights of a layer neuron by neuron; in `turned` they
    are input by input, so that neurons lie side by side. Per layer, `layers` has its inputs, its
    neurons, the place of its parameters and of its first neuron. The last neurons are the outputs;
    most kernels are for one output.
    """

    parameters: Floats
    turned: Floats
    layers: Integers

    @property
    def n_neurons(self) -> int:
        return int(self.layers[-1, 3] + self.layers[-1, 1])


def flatten(parameters: Singles, widths: tuple[int, ...]) -> FlatNetwork:
    """`widths` are those of the inputs and of all layers, the outputs included."""
    flat = parameters.astype(np.float64)
    turned, layers = flat.copy(), []
    start, first = 0, 0
    for n_in, n_out in pairwise(widths):
        stop = start + n_in * n_out
        layers.append((n_in, n_out, start, first))
        turned[start:stop] = flat[start:stop].reshape(n_out, n_in).T.ravel()
        start, first = stop + n_out, first + n_out
    return FlatNetwork(flat, turned, np.array(layers, dtype=np.int64))


@compiled
def layer_at(layers: Any, layer: int) -> tuple[int, int, int, int]:
    """Return inputs, neurons, first parameter and first neuron; unpacking the row is slower."""
    return layers[layer, 0], layers[layer, 1], layers[layer, 2], layers[layer, 3]


@compiled
def layer_sums(turned: Any, layers: Any, layer: int, row: Any, values: Any) -> None:
    """Fill the pre-activations of one layer.

    The first layer reads the row, the others what is positive in `values` of the layer before.
    """
    n_in, n_out, start, first = layer_at(layers, layer)
    before = first - n_in
    outputs = values[first : first + n_out]
    for j in range(n_out):
        outputs[j] = turned[start + n_in * n_out + j]
    for k in range(n_in):
        x = row[k] if layer == 0 else values[before + k]
        if layer > 0 and x <= 0.0:
            continue
        weights = turned[start + k * n_out : start + k * n_out + n_out]
        for j in range(n_out):
            outputs[j] = fma(weights[j], x, outputs[j])


@compiled
def preactivations(turned: Any, layers: Any, row: Any, values: Any) -> float:
    """Fill the pre-activations of all neurons; return the last of them, the only output."""
    last = len(layers) - 1
    for layer in range(last):
        layer_sums(turned, layers, layer, row, values)
    # The only neuron of the last layer; its sum stays in a register.
    n_in, _, start, first = layer_at(layers, last)
    logit = turned[start + n_in]
    for k in range(n_in):
        x = row[k] if last == 0 else max(values[first - n_in + k], 0.0)
        logit = fma(turned[start + k], x, logit)
    values[first] = logit
    return float(logit)
