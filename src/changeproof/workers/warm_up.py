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
from changeproof.methods import builtin_method_names, get_method
from changeproof.methods.method import Context, Factuals
from changeproof.methods.profile import WarmUp
from changeproof.networks.network import Network
from changeproof.networks.stack import NetworkStack
from changeproof.networks.training import TrainingData, TrainingRecipe, train
from changeproof.plugins import parsed
from changeproof.workers.processes import map_in_processes

NETWORKS, LIMIT = "networks", "limit"
# How long the kernels of the networks take to compile, roughly.
NETWORKS_SECONDS = 9.0


class Kernels(NamedTuple):
    """Whose kernels are needed.

    If people are only told what they can do, methods have more kernels. The limit has its own.
    """

    methods: frozenset[str]
    feasible: bool = False
    limit: bool = False

    @property
    def parts(self) -> list[tuple[str, bool]]:
        """What `compile_kernels` takes, those that take longest first."""
        names = {parsed(method)[0] for method in self.methods}
        seconds = {NETWORKS: NETWORKS_SECONDS}
        compiled: list[WarmUp] = []
        for name in (name for name in builtin_method_names() if name in names):
            own = get_method(name).warm_up
            # A method that inherits another's kernels need not compile them again.
            if own is not None and not any(own is other for other in compiled):
                compiled.append(own)
                seconds[name] = own.seconds
        work = sorted(seconds, key=seconds.__getitem__, reverse=True)
        return [(name, self.feasible) for name in [*work, *[LIMIT] * self.limit]]


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
    name, feasible = whose
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
    context = Context(task, network, 0, actions=task.actions if feasible else None)
    if name == LIMIT:
        bank = NetworkStack.of([network, network])
        find_limit(task, network, bank, [2], rows[adverse], context.actions)
        return
    method = get_method(name)
    settings = method.warm_up.settings if method.warm_up is not None else {}
    method(**settings).fit(context).generate(Factuals(ids[adverse], rows[adverse]))


def _tiny_task() -> Task:
    rows = np.random.default_rng(0).normal(size=(60, 3))
    return Task("tiny", pd.DataFrame(rows, columns=["a", "b", "c"]), np.arange(60) % 2)


def _tiny_network() -> Network:
    """Return a network whose logit is the first feature."""
    first = np.array([[1, 0, 0], [-1, 0, 0]], np.float32)
    weights = (first, np.eye(2, dtype=np.float32), np.array([[1, -1]], np.float32))
    return Network(weights, tuple(np.zeros(len(weight), np.float32) for weight in weights))
