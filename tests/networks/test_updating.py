from __future__ import annotations

import numpy as np
import pytest
import torch

from changeproof import Network, Task
from changeproof.networks.updating import update


def by_pytorch(network: Network, rows: np.ndarray, labels: np.ndarray, batch: int) -> list:
    """The same pass, written with autograd."""
    module = network.to_torch()
    optimiser = torch.optim.Adam(module.parameters(), lr=1e-3)
    inputs = torch.tensor(rows, dtype=torch.float32)
    targets = torch.tensor(labels, dtype=torch.float32)
    for first in range(0, len(rows), batch):
        part = slice(first, first + batch)
        optimiser.zero_grad()
        torch.nn.BCELoss()(module(inputs[part])[:, 0], targets[part]).backward()
        optimiser.step()
    return [parameter.detach().numpy() for parameter in module.parameters()]


@pytest.mark.parametrize(("batch", "n_rows"), [(8, 64), (8, 61), (1, 5), (100, 30)])
def test_a_pass_is_that_of_pytorch(
    small_task: Task, small_network: Network, batch: int, n_rows: int
) -> None:
    rows, labels = small_task.rows("update")[:n_rows], small_task.labels_of("update")[:n_rows]
    before = [array.copy() for array in (*small_network.weights, *small_network.biases)]
    updated = update(small_network, rows, labels, learning_rate=1e-3, batch=batch)
    pairs = zip(updated.weights, updated.biases, strict=True)
    ours = [array for pair in pairs for array in pair]
    for mine, theirs in zip(ours, by_pytorch(small_network, rows, labels, batch), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=2e-6)
    assert any(not np.array_equal(a, b) for a, b in zip(ours[0::2], before, strict=False))
    after = (*small_network.weights, *small_network.biases)
    assert all(np.array_equal(a, b) for a, b in zip(after, before, strict=True))
