"""What rounding alone does to the numbers of the paper's appendix.

Base networks are trained by the package and by an ordinary PyTorch loop; both round in single
precision, each in its own order. For each: the best epoch, AP-Delta-S's radius and RobX's two
thresholds, and how far the parameters of the two lie apart.

    python -m benchmarks.rounding [DATASET ...]     (heloc by default)

PyTorch rounds differently on other processors. `ATEN_CPU_CAPABILITY=default` makes it use other
vector instructions on this one.
"""

from __future__ import annotations

import sys

import numpy as np
import torch
from torch import nn

from benchmarks.plain.training import largest_difference, plain_training
from changeproof import Context, Network, Task, TrainingData, TrainingRecipe, load_task, train
from changeproof.methods.apds.method import APDS
from changeproof.methods.robx import RobXBalanced, RobXRobust

SEEDS = range(2026, 2031)
HEADER = f"{'seed':>6}{'trainer':>13}{'best epoch':>12}{'radius':>11}{'balanced':>10}{'robust':>9}"


def as_network(module: nn.Sequential) -> Network:
    arrays = [parameter.detach().numpy() for parameter in module.parameters()]
    return Network(tuple(arrays[0::2]), tuple(arrays[1::2]))


def measured(task: Task, network: Network, seed: int) -> tuple[float, float, float]:
    context = Context(task, network, seed)
    radius = APDS().fit(context).calibrated_radius
    balanced, robust = (robx().fit(context).threshold for robx in (RobXBalanced, RobXRobust))
    return radius, balanced, robust


def compare(name: str) -> None:
    task = load_task(name)
    data = TrainingData.of(task)
    print(f"{name} (PyTorch on {torch.backends.cpu.get_cpu_capability()})\n{HEADER}")
    seen: dict[str, list[tuple[float, float, float]]] = {"changeproof": [], "PyTorch": []}
    for seed in SEEDS:
        trained = train([TrainingRecipe(initialisation_seed=seed)], data)
        module, best_epoch = plain_training(
            data.rows[: data.n_train],
            data.labels[: data.n_train],
            data.validation_rows,
            data.validation_labels,
            seed=seed,
        )
        ours = trained.stack[0]
        for trainer, network, epoch in (
            ("changeproof", ours, int(trained.best_epochs[0])),
            ("PyTorch", as_network(module), best_epoch),
        ):
            values = measured(task, network, seed)
            seen[trainer].append(values)
            print(f"{seed:>6}{trainer:>13}{epoch:>12}{values[0]:>11.6f}{values[1]:>10.4f}", end="")
            print(f"{values[2]:>9.4f}", flush=True)
        print(f"{'':>6}largest difference of a parameter {largest_difference(ours, module):.1e}")
    for trainer, rows in seen.items():
        low, high = np.min(rows, axis=0), np.max(rows, axis=0)
        print(f"{trainer}: radius {low[0]:.6f} to {high[0]:.6f}, ", end="")
        print(f"thresholds {low[1]:.4f} to {high[1]:.4f} and {low[2]:.4f} to {high[2]:.4f}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for dataset in sys.argv[1:] or ["heloc"]:
        compare(dataset)
