"""Have the kernels compiled before the work starts, on all cores at once.

The first run on a machine compiles some forty small functions. Left to the workers, one of them
would compile while the others wait for what it computes, or all would compile the same.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import pandas as pd

from changeproof.datasets.task import Task
from changeproof.evaluation.limit import find_limit
from changeproof.methods import get_method
from changeproof.methods.method import Context, Factuals
from changeproof.networks.network import Network
from changeproof.networks.stack import NetworkStack
from changeproof.networks.training import TrainingData, TrainingRecipe, train
from changeproof.references import parsed
from changeproof.workers.processes import map_in_processes

NETWORKS, LIMIT = "networks", "limit"
# Methods with kernels of their own, those that take longest to compile first.
COMPILED_METHODS = ("apds", "rnce", "rbr", "roar-lime", "robx-balanced", "betarce", "quorum")
# Settings with which a method does not do more than it has to.
SMALL: dict[str, dict[str, int]] = {"quorum": {"members": 8, "held_out": 8, "people": 4}}


class Kernels(NamedTuple):
    """Whose kernels are needed.

    If people are only told what they can do, methods have more kernels. The limit has its own.
    """

    methods: frozenset[str]
    realisable: bool = False
    limit: bool = False

    @property
    def parts(self) -> list[tuple[str, bool]]:
        """What `compile_kernels` takes, those that take longest first."""
        names = {parsed(method)[0] for method in self.methods}
        chosen = [name for name in COMPILED_METHODS if name in names]
        first = [name for name in chosen if name == COMPILED_METHODS[0]]
        work = [*first, NETWORKS, *(name for name in chosen if name not in first)]
        work += [LIMIT] * self.limit
        return [(name, self.realisable) for name in work]


def warm_up(kernels: Kernels, *, jobs: int) -> None:
    """Compile what is needed, on this machine; next to nothing when that is cached."""
    if jobs == 1:
        return  # one process compiles what it needs when it needs it
    for _ in map_in_processes(compile_kernels, kernels.parts, workers=jobs):
        pass


@contextmanager
def _uncollected() -> Iterator[None]:
    """Look for no garbage: compiling makes much to look through, and hardly any."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


@_uncollected()
def compile_kernels(whose: tuple[str, bool]) -> None:
    """Do on a handful of rows what uses the kernels of a method, or those of the networks."""
    name, realisable = whose
    task, network = _tiny_task(), _tiny_network()
    if name == NETWORKS:
        recipe = TrainingRecipe(initialisation_seed=0, hidden=(2,), max_epochs=1)
        train([recipe], TrainingData.of(task))
        rows = task.rows("test")
        network.logits(rows)
        network.logits_and_gradients(rows)
        network.probabilities(rows)
        return
    rows, ids = task.rows("test"), task.row_ids("test")
    adverse = np.flatnonzero(~network.favourable(rows))[:2]
    context = Context(task, network, 0, actions=task.actions if realisable else None)
    if name == LIMIT:
        bank = NetworkStack.of([network, network])
        find_limit(task, network, bank, [2], rows[adverse], context.actions)
        return
    get_method(name)(**SMALL.get(name, {})).fit(context).generate(
        Factuals(ids[adverse], rows[adverse])
    )


def _tiny_task() -> Task:
    rows = np.random.default_rng(0).normal(size=(60, 3))
    return Task("tiny", pd.DataFrame(rows, columns=["a", "b", "c"]), np.arange(60) % 2)


def _tiny_network() -> Network:
    """Return a network whose logit is the first feature."""
    first = np.array([[1, 0, 0], [-1, 0, 0]], np.float32)
    weights = (first, np.eye(2, dtype=np.float32), np.array([[1, -1]], np.float32))
    return Network(weights, tuple(np.zeros(len(weight), np.float32) for weight in weights))
