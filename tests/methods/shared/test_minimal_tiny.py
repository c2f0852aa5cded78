"""The search and its yardstick on networks whose every linear region can be solved by itself."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from benchmarks.minimal_proof import prove
from changeproof import Network
from changeproof.methods.shared.minimal import MinimalSearch

LIMIT = 3.0


def tiny_case(seed: int) -> tuple[Network, np.ndarray, np.ndarray, float]:
    """A network, training rows, a factual and a target that is hard or impossible to reach."""
    generator = np.random.default_rng(seed)
    n_features = int(generator.integers(1, 4))
    hidden = tuple(generator.integers(1, 3, size=generator.integers(1, 3)).tolist())
    initial = Network.initialised(n_features, hidden, seed)
    network = Network(tuple(w * np.float32(3.0) for w in initial.weights), initial.biases)
    anywhere = generator.uniform(-LIMIT, LIMIT, size=(2_000, n_features))
    logits = network.logits(anywhere)
    target = float(np.quantile(logits, generator.choice([0.7, 0.95, 0.999])))
    if seed % 8 == 0:
        # More than there is: every neuron at its most, as if none stood in another's way.
        target += 10.0 * (1.0 + float(np.ptp(logits)))
    return network, generator.normal(size=(5, n_features)), anywhere[logits.argmin()], target


def shortest_of_all_regions(network: Network, origin: np.ndarray, target: float) -> float:
    """The shortest length over all patterns of active neurons; infinite where there is none."""
    weights = [weight.astype(np.float64) for weight in network.weights]
    biases = [bias.astype(np.float64) for bias in network.biases]
    n_features, widths = len(origin), [len(bias) for bias in biases[:-1]]
    room = [(0.0, up) for up in LIMIT - origin] + [(0.0, down) for down in origin + LIMIT]
    best = np.inf
    for pattern in itertools.product((0.0, 1.0), repeat=sum(widths)):
        slopes, constants = np.eye(n_features), np.zeros(n_features)
        matrix, limits, active = [], [], np.array(pattern)
        for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
            here, active = active[: len(bias)], active[len(bias) :]
            slopes, constants = weight @ slopes, weight @ constants + bias
            signs = np.where(here > 0.0, -1.0, 1.0)
            matrix.append(signs[:, None] * slopes)
            limits.append(-signs * constants)
            slopes, constants = here[:, None] * slopes, here * constants
        matrix.append(-weights[-1] @ slopes)
        limits.append(weights[-1] @ constants + biases[-1] - target)
        sides = np.concatenate(matrix)
        answer = linprog(
            np.ones(2 * n_features),
            A_ub=np.hstack([sides, -sides]),
            b_ub=np.concatenate(limits) - sides @ origin,
            bounds=room,
        )
        best = min(best, answer.fun if answer.status == 0 else np.inf)
    return float(best)


def test_the_search_is_mostly_as_good_as_the_proof_and_the_proof_as_all_regions() -> None:
    missed = nowhere = 0
    longer: list[float] = []
    for seed in range(64):
        network, rows, factual, target = tiny_case(seed)
        low, high = np.full(len(factual), -LIMIT), np.full(len(factual), LIMIT)
        found = MinimalSearch(network, low, high, rows).search(factual[None], target)[0]
        least = shortest_of_all_regions(network, factual, target)
        proof = prove(network, factual, low, high, target, 2.0 * LIMIT * len(factual))
        assert (proof.move is None) == np.isinf(least), seed
        if np.isinf(least):
            nowhere += 1
            assert np.isnan(found).all()
            continue
        assert np.abs(proof.move).sum() == pytest.approx(least, rel=1.1e-3, abs=1e-5)
        if np.isnan(found).any():
            missed += 1
            continue
        longer.append(np.abs(found - factual).sum() - least)
        assert longer[-1] >= -1e-6
        assert network.logits(found[None])[0] >= target - 1e-7
        assert (found >= low).all() and (found <= high).all()
    assert nowhere >= 5
    # On networks of two neurons a hill is often where no start looks for it.
    assert 0 < missed < 30
    assert np.median(longer) < 1e-6
