"""The training of the protocol as an ordinary PyTorch loop, one network at a time."""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import nn

from changeproof import Network


def plain_network(n_features: int, hidden: tuple[int, ...], seed: int) -> nn.Sequential:
    torch.manual_seed(seed)
    layers: list[nn.Module] = []
    width = n_features
    for units in hidden:
        layers += [nn.Linear(width, units), nn.ReLU()]
        width = units
    return nn.Sequential(*layers, nn.Linear(width, 1), nn.Sigmoid())


def plain_training(
    rows: np.ndarray,
    labels: np.ndarray,
    validation_rows: np.ndarray,
    validation_labels: np.ndarray,
    *,
    seed: int,
    hidden: tuple[int, ...] = (32, 32),
    optimiser: str = "adam",
    learning_rate: float = 1e-3,
    weight_decay: float = 0.0,
    max_epochs: int = 300,
    patience: int = 30,
) -> tuple[nn.Sequential, int]:
    """The protocol's training as an ordinary autograd loop; returns the best epoch too."""
    x, y, xv, yv = (
        torch.as_tensor(np.asarray(a), dtype=torch.float32)
        for a in (rows, labels, validation_rows, validation_labels)
    )
    network = plain_network(x.shape[1], hidden, seed)
    parameters = network.parameters()
    if optimiser == "adam":
        step = torch.optim.Adam(parameters, lr=learning_rate, weight_decay=weight_decay)
    else:
        step = torch.optim.SGD(
            parameters, lr=learning_rate, weight_decay=weight_decay, momentum=0.9
        )
    loss = nn.BCELoss()
    best, best_epoch, best_state = float("inf"), 0, None
    for epoch in range(1, max_epochs + 1):
        step.zero_grad()
        loss(network(x)[:, 0], y).backward()
        step.step()
        with torch.no_grad():
            value = loss(network(xv)[:, 0], yv).item()
        if value < best - 1e-6:
            best, best_epoch, best_state = value, epoch, copy.deepcopy(network.state_dict())
        elif epoch - best_epoch >= patience:
            break
    network.load_state_dict(best_state)
    return network, best_epoch


def largest_difference(network: Network, module: nn.Sequential) -> float:
    ours = [array for pair in zip(network.weights, network.biases, strict=True) for array in pair]
    theirs = [parameter.detach().numpy() for parameter in module.parameters()]
    return max(float(np.abs(a - b).max()) for a, b in zip(ours, theirs, strict=True))
