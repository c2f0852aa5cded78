"""ElliCE's promise, looked at from both sides: is it kept, and are changed networks part of it?

    python -m benchmarks.ellice_promise RUN

RUN is a finished run with `changeproof.adapters.ellice:ElliCE` among its methods. The ellipsoid of
last layers is computed once more, in NumPy and double precision. Then RUN/promise.csv says, for
each dataset and each ElliCE of the run:

- how many certified answers are refused by a last layer of the ellipsoid: by the worst one, and by
  any of 1,000 that are drawn on its surface;
- how many of those drawn have indeed a training loss of at most epsilon above the base network's,
  which is what the ellipsoid stands for, and how low a last layer can bring the loss;
- how many changed networks have such a training loss, and how often certified answers hold under
  them and under the others.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit

from changeproof import make_method
from changeproof.adapters.ellice import ElliCE
from changeproof.datasets.task import Task
from changeproof.networks.network import Network
from changeproof.networks.stack import NetworkStack
from changeproof.randomness import stream
from changeproof.workflow import Results

DRAWN = 1_000
STABILISER = 1e-6  # what ElliCE adds to the matrix of its ellipsoid


def last_features(network: Network, rows: np.ndarray) -> np.ndarray:
    """Return what the last layer sees, with a column of ones for its bias."""
    for weight, bias in zip(network.weights[:-1], network.biases[:-1], strict=True):
        rows = np.maximum(rows @ weight.T.astype(np.float64) + bias, 0.0)
    return np.column_stack([rows, np.ones(len(rows))])


def log_loss(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the mean log loss of logits [..., rows]."""
    return np.asarray(np.logaddexp(0.0, np.where(labels == 1, -logits, logits)).mean(axis=-1))


class Ellipsoid:
    """The last layers that ElliCE takes for nearly as good as the trained one."""

    def __init__(self, task: Task, network: Network, method: ElliCE) -> None:
        self.network, self.labels = network, task.labels_of("train")
        self.features = last_features(network, task.rows("train"))
        last = [network.weights[-1].ravel(), network.biases[-1]]
        self.centre = np.concatenate(last).astype(np.float64)
        logits = self.features @ self.centre
        self.loss = float(log_loss(logits, self.labels))
        chance = expit(logits)
        curvature = (self.features.T * (chance * (1.0 - chance))) @ self.features
        unit = np.eye(len(self.centre))
        hessian = curvature / len(logits) + method.regularization_coefficient * unit
        self.matrix = hessian / (2.0 * method.robustness_epsilon) + STABILISER * unit

    def lowest_logits(self, rows: np.ndarray) -> np.ndarray:
        """Return the logit that the worst last layer gives each row."""
        features = last_features(self.network, rows)
        spread = np.einsum("ri,ri->r", features, np.linalg.solve(self.matrix, features.T).T)
        return np.asarray(features @ self.centre - np.sqrt(spread))

    def lowest_loss(self) -> float:
        """Return the training loss of the best last layer that a descent finds."""

        def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
            logits = self.features @ weights
            slope = self.features.T @ (expit(logits) - self.labels) / len(logits)
            return float(log_loss(logits, self.labels)), slope

        return float(minimize(loss, self.centre, jac=True, method="BFGS").fun)

    def drawn(self, generator: np.random.Generator) -> np.ndarray:
        """Return last layers on the surface [layers, weights]."""
        directions = generator.normal(size=(DRAWN, len(self.centre)))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        values, vectors = np.linalg.eigh(self.matrix)
        return self.centre + (directions / np.sqrt(values)) @ vectors.T


def looked_at(results: Results, dataset: str, base_seed: int, name: str) -> dict[str, Any]:
    """Return what became of the promise for one base network."""
    method = make_method(name)
    assert isinstance(method, ElliCE)
    task, network = results.task(dataset), results.base_network(dataset, base_seed)
    ellipsoid = Ellipsoid(task, network, method)
    answers = results.counterfactuals(dataset, base_seed, name)
    certified = answers.diagnostics["certified"].astype(bool) & answers.base_valid
    rows = answers.rows[certified]
    layers = ellipsoid.drawn(stream(dataset, base_seed, "ellice-promise"))
    losses = log_loss(layers @ ellipsoid.features.T, ellipsoid.labels)
    refused = (layers @ last_features(network, rows).T < 0).any(axis=0)
    limit = ellipsoid.loss + method.robustness_epsilon
    stack = results.bank(dataset, base_seed).stack
    assert isinstance(stack, NetworkStack)
    near = log_loss(stack.logits(task.rows("train")), ellipsoid.labels) <= limit
    held = results.survived(dataset, base_seed, name)[certified]
    return {
        "dataset": dataset,
        "base_seed": base_seed,
        "method": name,
        "training_loss": ellipsoid.loss,
        "lowest_training_loss": ellipsoid.lowest_loss(),
        "epsilon": method.robustness_epsilon,
        "people": len(answers),
        "certified": len(rows),
        "refused_by_the_worst_last_layer": int((ellipsoid.lowest_logits(rows) < 0).sum()),
        "refused_by_a_drawn_last_layer": int(refused.sum()),
        "drawn_last_layers_within_epsilon": 100 * float((losses <= limit).mean()),
        "changed_networks": len(near),
        "changed_networks_within_epsilon": int(near.sum()),
        "held_within_epsilon": 100 * share(held[:, near]),
        "held_beyond_epsilon": 100 * share(held[:, ~near]),
    }


def share(held: np.ndarray) -> float:
    """Return the share that holds; NaN if there is nothing to hold."""
    return float(held.mean()) if held.size else float("nan")


def main() -> None:
    """Look at every ElliCE of a run, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    results = Results(parser.parse_args().run)
    rows = [looked_at(results, *key) for key in results.answered if ":ElliCE" in key.method]
    table = pd.DataFrame(rows)
    print(table.T.to_string())
    path = results.folder / "promise.csv"
    table.to_csv(path, index=False, lineterminator="\n", float_format="%.6g")


if __name__ == "__main__":
    main()
