"""Rough guesses of the seconds that pieces take.

For progress bars, for starting long pieces first, and for what is not worth a worker process.
"""

from __future__ import annotations

from collections.abc import Iterable

from changeproof.datasets.task import Task
from changeproof.runs.piece import Kind, Piece, Subject

# Per request; 0.01 where nothing is said.
SECONDS_PER_REQUEST = {
    "apds": 0.02,
    "kdtree": 0.0001,
    "rbr": 0.005,
    "rnce": 0.001,
    "roar-lime": 0.016,
    "robx-balanced": 0.012,
    "robx-robust": 0.016,
    "wachter": 0.001,
}
# The same with a model that is not ours, and what training one takes.
OWN_SECONDS_PER_REQUEST = {
    "betarce": 0.15,
    "kdtree": 0.0001,
    "rbr": 0.02,
    "roar-lime": 0.1,
    "robx-balanced": 0.4,
    "robx-robust": 0.5,
}
OWN_FIT = 0.2
# Changed models of a family.
VARIANTS = 25
# How many networks' worth of training a family is; 25 where nothing is said.
NETWORKS_WORTH = {"architecture": 38.0, "bootstrap": 17.0, "parameter-perturbation": 0.2}
ENSEMBLE = 32


def training_cost(task: Task, networks: float) -> float:
    """Return what it takes to train networks of ours."""
    products = len(task.split.train) * (task.n_features * 32 + 32 * 32)
    return 0.002 + networks * products * 3.5e-8


def bank_cost(task: Task, family: str) -> float:
    """Return what it takes to make a family's changed networks."""
    return training_cost(task, NETWORKS_WORTH.get(family, float(VARIANTS)))


def changes_cost(fit: float = OWN_FIT) -> float:
    """Return what it takes to make a family's changed models of any kind."""
    return VARIANTS * fit


def answering_cost(about: Subject, method: str, asked: int) -> float:
    """Return what it takes a method to answer requests."""
    kept = about.keeps_networks
    seconds = SECONDS_PER_REQUEST if kept else OWN_SECONDS_PER_REQUEST
    cost = 0.05 + asked * seconds.get(method, 0.01)
    if method == "betarce":
        cost += training_cost(about.task, 0.7 * ENSEMBLE) if kept else ENSEMBLE * OWN_FIT
    return cost


def expected_seconds(pieces: Iterable[Piece], fit: float | None = None) -> float:
    """Return what pieces take together, knowing perhaps what it takes to train a model."""
    return sum(
        changes_cost(fit) if fit is not None and piece.kind is Kind.CHANGES else piece.cost
        for piece in pieces
    )
