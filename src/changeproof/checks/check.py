"""Does somebody's method or family keep to its contract?

>>> def test_my_method():
...     assert not [finding for finding in check_method(MyMethod) if finding.failed]
"""

from __future__ import annotations

from typing import Any

from changeproof import changes, methods
from changeproof.changes.extension import as_family
from changeproof.changes.family import BaseModel, Family
from changeproof.checks.families import FamilyBench
from changeproof.checks.findings import Finding, examine
from changeproof.checks.findings import findings_table as findings_table
from changeproof.checks.methods import MethodBench
from changeproof.datasets.builtin import load_task
from changeproof.datasets.task import Task
from changeproof.evaluation.factuals import evaluation_factuals
from changeproof.methods.extension import as_method
from changeproof.methods.method import Method
from changeproof.networks.network import Network
from changeproof.networks.training import TrainingData, TrainingRecipe, train
from changeproof.registry import name_of

DATASET, BASE_SEED, PEOPLE = "diabetes", 2026, 12


def check_method(method: type[Method] | str | Any) -> list[Finding]:
    """Try a method on a small real task and say where it keeps to the contract.

    Parameters
    ----------
    method
        A subclass of `Method`, a function of (context, factuals), a name or an import path.

    Returns
    -------
    list of Finding
        One per check: `check`, `outcome` ("passed", "failed" or "told"), what was `seen`, and the
        `fix` where it failed.
    """
    if isinstance(method, str):
        cls = methods.get_method(method)
    else:
        cls = as_method(method, name_of(method) if hasattr(method, "__name__") else "method")
    task = _task()
    network = _base_network(task)
    people = evaluation_factuals(task, network, BASE_SEED, PEOPLE)
    return examine(MethodBench(cls, task, network, BASE_SEED, people).checks())


def check_family(family: type[Family] | str | Any) -> list[Finding]:
    """Try a family of change on a small real task and say where it keeps to the contract.

    Parameters
    ----------
    family
        A subclass of `Family`, a function of (task, base), a name or an import path.

    Returns
    -------
    list of Finding
        As for `check_method`.
    """
    if isinstance(family, str):
        cls = type(changes.get_family(family))
    else:
        cls = as_family(family, name_of(family) if hasattr(family, "__name__") else "family")
    task = _task()
    base = BaseModel(BASE_SEED, _base_network(task))
    author = getattr(cls, "author", cls)
    return examine(FamilyBench(cls, author, task, base).checks())


def _task() -> Task:
    """Return a copy of its own: what is checked may damage it."""
    task = load_task(DATASET)
    return Task(task.name, task.frame.copy(), task.labels.copy(), task.split)


def _base_network(task: Task) -> Network:
    recipe = TrainingRecipe(initialisation_seed=BASE_SEED)
    return train([recipe], TrainingData.of(task)).stack[0]
