"""Rough guesses of the seconds that pieces take.

For progress bars, for starting long pieces first, and for what is not worth a worker process.
"""

from __future__ import annotations

from collections.abc import Iterable

from changeproof.changes.family import REPLICATES, Family
from changeproof.datasets.task import Task
from changeproof.models.learner import Learner
from changeproof.references import parsed
from changeproof.runs.pieces import Kind, Piece

# Per request; 0.01 where nothing is said.
SECONDS_PER_REQUEST = {
    "apds": 0.02,
    "kdtree": 0.0001,
    "quorum": 0.002,
    "rbr": 0.005,
    "rnce": 0.001,
    "roar-lime": 0.016,
    "robx-balanced": 0.012,
    "robx-robust": 0.016,
    "wachter": 0.001,
}
# The same where people are told only what they can do, and what tuning takes then; both grow with
# the columns: so many double them.
REALISABLE_SECONDS_PER_REQUEST = {
    "apds": 0.03,
    "betarce": 0.02,
    "kdtree": 0.001,
    "quorum": 0.01,
    "rbr": 0.1,
    "rnce": 0.2,
    "roar-lime": 0.05,
    "robx-balanced": 0.1,
    "robx-robust": 0.1,
    "wachter": 0.03,
}
REALISABLE_TUNING = {"roar-lime": 4.0, "wachter": 5.0}
TWICE_AS_LONG = 200
# The same with a model that is not ours, and what training one takes.
OWN_SECONDS_PER_REQUEST = {
    "betarce": 0.15,
    "kdtree": 0.0001,
    "quorum": 0.2,
    "rbr": 0.02,
    "roar-lime": 0.1,
    "robx-balanced": 0.4,
    "robx-robust": 0.5,
}
OWN_FIT = 0.2
# Per request; where not every row can be told; with a model that is not ours.
LIMIT, REALISABLE_LIMIT, OWN_LIMIT = 0.05, 0.3, 1.0
# How many networks' worth of training a family is; REPLICATES where nothing is said.
NETWORKS_WORTH = {
    "architecture": 38.0,
    "bootstrap": 17.0,
    "distillation": 45.0,
    "feature-change": 40.0,
    "fine-tuning": 7.0,
    "followed-advice": 36.0,
    "later-data": 300.0,
    "updates": 330.0,
}
# The setting of a sequence that says how many updates there are, and what it is by default.
UPDATES = {"later-data": ("updates", 6), "updates": ("length", 12)}
# Models that methods train for themselves.
ENSEMBLES = {"betarce": 32, "quorum": 84}


def training_cost(task: Task, networks: float) -> float:
    """Return what it takes to train networks of ours."""
    products = len(task.split.train) * (task.n_features * 32 + 32 * 32)
    return 0.002 + networks * products * 3.5e-8


def bank_cost(task: Task, learner: Learner, family: Family, fit: float = OWN_FIT) -> float:
    """Return what it takes to make a family's changed models."""
    name = type(family).name
    setting, updates = UPDATES.get(name, ("", 1))
    longer = float(getattr(family, setting, updates)) / updates
    scale = longer * float(getattr(family, "replicates", REPLICATES)) / REPLICATES
    if not family.trains:
        return training_cost(task, 0.0) + (0.0 if learner.stores_models else scale * fit)
    if not learner.stores_models:
        return REPLICATES * scale * updates * fit
    return training_cost(task, scale * NETWORKS_WORTH.get(name, float(REPLICATES)))


def tuning_cost(task: Task, method: str, realisable: bool) -> float:
    """Return what it takes to tune a method."""
    if not realisable:
        return 1.0
    return REALISABLE_TUNING.get(parsed(method)[0], 1.0) * _longer(task)


def _longer(task: Task) -> float:
    return 1.0 + task.n_features / TWICE_AS_LONG


def answering_cost(
    task: Task, learner: Learner, method: str, asked: int, realisable: bool
) -> float:
    """Return what it takes a method to answer requests."""
    ours, name = learner.stores_models, parsed(method)[0]
    seconds = SECONDS_PER_REQUEST if ours else OWN_SECONDS_PER_REQUEST
    cost = 0.05 + asked * seconds.get(name, 0.01)
    if ours and realisable:
        cost = 0.05 + asked * REALISABLE_SECONDS_PER_REQUEST.get(name, 0.01) * _longer(task)
    if members := ENSEMBLES.get(name):
        cost += training_cost(task, 0.7 * members) if ours else members * OWN_FIT
    return cost


def limit_cost(
    task: Task, learner: Learner, families: Iterable[Family], asked: int, realisable: bool
) -> float:
    """Return what it takes to look for the limit; models that are not kept are made again."""
    if learner.stores_models:
        return 0.1 + asked * (REALISABLE_LIMIT if realisable else LIMIT)
    made = sum(bank_cost(task, learner, family) for family in families)
    return made + asked * OWN_LIMIT


def expected_seconds(pieces: Iterable[Piece], fit: float = OWN_FIT) -> float:
    """Return what pieces take together, knowing perhaps what it takes to train a model."""
    trained = (Kind.BANK, Kind.LIMIT)
    return sum(piece.cost * (fit / OWN_FIT if piece.kind in trained else 1.0) for piece in pieces)
