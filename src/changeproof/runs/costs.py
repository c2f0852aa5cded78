"""Rough guesses of the seconds that pieces take.

For progress bars, for starting long pieces first, and for what is not worth a worker process.
"""

from __future__ import annotations

from collections.abc import Iterable

from changeproof.changes.family import REPLICATES, Family
from changeproof.datasets.task import Task
from changeproof.methods.method import Method
from changeproof.models.learner import Learner
from changeproof.runs.pieces import Kind, Piece

# What is searched for feasible rows grows with the columns: so many double it.
TWICE_AS_LONG = 200
# What training a model takes that is not ours.
OWN_FIT = 0.2
# Per request; where not every row can be told; with a model that is not ours.
LIMIT, REALISABLE_LIMIT, OWN_LIMIT = 0.05, 0.3, 1.0


def training_cost(task: Task, networks: float) -> float:
    """Return what it takes to train networks of ours."""
    products = len(task.split.train) * (task.n_features * 32 + 32 * 32)
    return 0.002 + networks * products * 3.5e-8


def bank_cost(task: Task, learner: Learner, family: Family, fit: float = OWN_FIT) -> float:
    """Return what it takes to make a family's changed models."""
    models = family.expected_models
    if not family.trains:
        made = 0.0 if learner.stores_models else models / REPLICATES * fit
        return training_cost(task, 0.0) + made
    if not learner.stores_models:
        return models * fit
    return training_cost(task, models * family.cost)


def tuning_cost(task: Task, method: Method, realisable: bool) -> float:
    """Return what it takes to tune a method."""
    return method.cost.tuning * _longer(task) if realisable else 1.0


def _longer(task: Task) -> float:
    return 1.0 + task.n_features / TWICE_AS_LONG


def answering_cost(
    task: Task, learner: Learner, method: Method, asked: int, realisable: bool
) -> float:
    """Return what it takes a method to answer requests."""
    cost = method.cost
    if not learner.stores_models:
        return 0.05 + asked * cost.own_model + cost.models * OWN_FIT
    each = cost.feasible * _longer(task) if realisable else cost.per_person
    trained = training_cost(task, 0.7 * cost.models) if cost.models else 0.0
    return 0.05 + asked * each + trained


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
