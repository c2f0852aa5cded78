from __future__ import annotations

import numpy as np
import pytest

from changeproof import Network
from changeproof.networks.flat import layer_sums, preactivations


@pytest.mark.parametrize("hidden", [(), (3,), (8, 5), (2, 4, 3)])
def test_a_flat_network_is_the_network(hidden: tuple[int, ...]) -> None:
    network = Network.initialised(6, hidden, 1)
    flat = network.flat
    assert flat.n_neurons == sum(hidden) + 1
    np.testing.assert_array_equal(flat.parameters, network.parameters)
    for layer, (n_in, n_out, start, _) in enumerate(flat.layers.tolist()):
        weights = flat.turned[start : start + n_in * n_out].reshape(n_in, n_out)
        np.testing.assert_array_equal(weights.T, network.weights[layer])
        biases = flat.turned[start + n_in * n_out : start + n_in * n_out + n_out]
        np.testing.assert_array_equal(biases, network.biases[layer])
    for row in np.random.default_rng(0).normal(size=(20, 6)):
        values, again = np.empty(flat.n_neurons), np.empty(flat.n_neurons)
        assert preactivations(flat.turned, flat.layers, row, values) == network.logits(row[None])[0]
        for layer in range(len(flat.layers)):
            layer_sums(flat.turned, flat.layers, layer, row, again)
        np.testing.assert_array_equal(values, again)
