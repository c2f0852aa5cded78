"""Have the kernels compiled before the work starts, on all cores at once.

The first run on a machine compiles some forty small functions. Left to the workers, one of them
would compile while the others wait for what it computes, or all would compile the same.
"""

from __future__ import annotations

import gc
from collections.abc import Collection

import numpy as np
import pandas as pd

from changeproof.datasets.task import Task
from changeproof.evaluation.limit import find_limit
from changeproof.methods import builtin_method_names, get_method
from changeproof.methods.method import Context, Factuals
from changeproof.networks.network import Network
from changeproof.networks.stack import NetworkStack
from changeproof.networks.training import TrainingData, TrainingRecipe, train
from changeproof.plugins import parsed

NETWORKS, LIMIT = "networks", "limit"
# How long the kernels of the networks take to compile, roughly.
NETWORKS_SECONDS = 9.0


def kernels_for(
    methods: Collection[str], *, feasible: bool = False, limit: bool = False
) -> list[tuple[str, bool]]:
    """Return what `compile_kernels` takes for some methods, those that take longest first.

    If people are only told what they can do, methods have more kernels. The limit has its own.
    """
    names = {parsed(method)[0] for method in methods}
    seconds = {0: (NETWORKS_SECONDS, NETWORKS)}
    for name in builtin_method_names():
        own = get_method(name).warm_up
        if name in names and own is not None:
            seconds.setdefault(id(own), (own.seconds, name))  # inherited kernels only once
    work = sorted(seconds.values(), key=lambda each: each[0], reverse=True)
    return [(name, feasible) for name in [*(name for _, name in work), *[LIMIT] * limit]]


def compile_kernels(part: tuple[str, bool]) -> None:
    """Do on a handful of rows what uses the kernels of a method, or those of the networks."""
    collecting = gc.isenabled()
    gc.disable()  # compiling makes much to look through, and hardly any garbage
    try:
        _use_kernels(*part)
    finally:
        if collecting:
            gc.enable()


def _use_kernels(name: str, feasible: bool) -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=["a", "b", "c"])
    task = Task("tiny", frame, np.arange(60) % 2)
    # A network whose logit is the first feature.
    first = np.array([[1, 0, 0], [-1, 0, 0]], np.float32)
    weights = (first, np.eye(2, dtype=np.float32), np.array([[1, -1]], np.float32))
    network = Network(weights, tuple(np.zeros(len(weight), np.float32) for weight in weights))
    rows, ids = task.rows("test"), task.row_ids("test")
    if name == NETWORKS:
        recipe = TrainingRecipe(initialisation_seed=0, hidden=(2,), max_epochs=1)
        train([recipe], TrainingData.of(task))
        network.logits(rows)
        network.logits_and_gradients(rows)
        network.probabilities(rows)
        return
    adverse = np.flatnonzero(~network.favourable(rows))[:2]
    context = Context(task, network, 0, actions=task.actions if feasible else None)
    if name == LIMIT:
        bank = NetworkStack.of([network, network])
        find_limit(task, network, bank, [2], rows[adverse], context.actions)
        return
    method = get_method(name)
    settings = method.warm_up.settings if method.warm_up is not None else {}
    method(**settings).fit(context).generate(Factuals(ids[adverse], rows[adverse]))
