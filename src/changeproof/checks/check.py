"""Does somebody's method or family keep to its contract?

>>> def test_my_method():
...     assert not [finding for finding in check_method(MyMethod) if finding.failed]
"""

from __future__ import annotations

from typing import Any

from changeproof import changes, methods
from changeproof.changes.family import Family
from changeproof.checks.bench import Finding, examine
from changeproof.checks.bench import findings_table as findings_table
from changeproof.checks.families import FamilyBench
from changeproof.checks.methods import MethodBench
from changeproof.datasets.find import load_task
from changeproof.datasets.task import Task
from changeproof.evaluation.factuals import evaluation_factuals
from changeproof.methods.method import Method
from changeproof.networks.network import Network
from changeproof.networks.training import TrainingData, TrainingRecipe, train

DATASET, BASE_SEED, PEOPLE = "diabetes", 2026, 12


def check_method(method: type[Method] | str | Any) -> list[Finding]:
    """Try a method on a small real task and say where it keeps to the contract.

    Parameters
    ----------
    method
        A subclass of `Method`, an object of one, a function of (context, factuals), a name or an
        import path, with settings or without.

    Returns
    -------
    list of Finding
        One per check: `check`, `outcome` ("passed", "failed" or "told"), what was `seen`, and the
        `fix` where it failed.
    """
    tried = methods.REGISTRY.of(method)
    task, network = _task_and_network()
    people = evaluation_factuals(task, network, BASE_SEED, PEOPLE)
    return examine(MethodBench(tried, task, network, BASE_SEED, people).checks())


def check_family(family: type[Family] | str | Any) -> list[Finding]:
    """Try a family of change on a small real task and say where it keeps to the contract.

    Parameters
    ----------
    family
        A subclass of `Family`, an object of one, a function of (task, base), a name or an import
        path, with settings or without.

    Returns
    -------
    list of Finding
        As for `check_method`.
    """
    tried = changes.REGISTRY.of(family)
    return examine(FamilyBench(tried, *_task_and_network(), BASE_SEED).checks())


def _task_and_network() -> tuple[Task, Network]:
    """Return a copy of its own, which what is checked may damage, and the base network on it."""
    task = load_task(DATASET)
    task = Task(task.name, task.frame.copy(), task.labels.copy(), task.split)
    recipe = TrainingRecipe(initialisation_seed=BASE_SEED)
    return task, train([recipe], TrainingData.of(task)).stack[0]
