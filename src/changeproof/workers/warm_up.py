"""Have the kernels compiled before the work starts, on all cores at once.

The first run on a machine compiles some forty small functions. Left to the workers, one of them
would compile while the others wait for what it computes, or all would compile the same.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection

import numpy as np
import pandas as pd

from changeproof.certificates.programme import lower_bound
from changeproof.datasets.task import Task
from changeproof.evaluation.limit import find_limit
from changeproof.feasible.crossings import Crossings
from changeproof.feasible.search import FeasibleSearch
from changeproof.methods import builtin_method_names, get_method
from changeproof.methods.method import Context, Factuals
from changeproof.model import Access, Booleans, Floats, Integers
from changeproof.networks.network import Network
from changeproof.networks.stack import NetworkStack
from changeproof.networks.training import TrainingData, TrainingRecipe, train
from changeproof.plugins import parsed

NETWORKS, FORESTS, LIMIT = "networks", "forests", "limit"
# How long the kernels of the networks and of the forests take to compile, roughly.
NETWORKS_SECONDS, FORESTS_SECONDS = 9.0, 8.0


def kernels_for(
    methods: Collection[str], *, feasible: bool = False, limit: bool = False, forests: bool = False
) -> list[tuple[str, bool]]:
    """Return what `compile_kernels` takes for some methods, those that take longest first.

    If people are only told what they can do, methods have more kernels. The limit has its own, and
    so have models that are forests.
    """
    names = {parsed(method)[0] for method in methods}
    seconds = {0: (NETWORKS_SECONDS, NETWORKS)}
    for name in (name for name in builtin_method_names() if name in names):
        own = get_method(name).warm_up
        if own is not None:
            seconds.setdefault(id(own), (own.seconds, name))  # inherited kernels only once
    if forests:
        seconds[1] = (FORESTS_SECONDS, FORESTS)
    work = sorted(seconds.values(), key=lambda each: each[0], reverse=True)
    return [(name, feasible) for name in [*(name for _, name in work), *[LIMIT] * limit]]


def compile_kernels(part: tuple[str, bool]) -> None:
    """Do on a handful of rows what uses the kernels of a method, of the networks or forests."""
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
    if name == FORESTS:
        _use_forests(task, rows, feasible)
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
    if method.needs is Access.RELU_PARAMETERS:
        # No row of so small a network is left to the solver.
        nothing, ends, none = np.zeros(0), np.zeros((2, 0)), np.zeros(0, np.int64)
        lower_bound(nothing, 0.0, ends, np.zeros(1, np.int64), none, nothing, ends, nothing)


def _use_forests(task: Task, rows: Floats, feasible: bool) -> None:
    """Ask about few rows, about many, and about draws around points; have rows as a matrix.

    If people are only told what they can do, numbers are moved across splits too.
    """
    # All of them import scikit-learn.
    from changeproof.models.forests.around import Surroundings
    from changeproof.models.forests.forest import MANY_ROWS, Forest, Link, Tree
    from changeproof.models.matrices import Matrix
    from changeproof.models.scaling import PLAIN_SCALE

    # A stump on the first feature.
    stump = Tree(
        feature=np.array([0, 0, 0]),
        threshold=np.zeros(3),
        left=np.array([1, -1, -1]),
        right=np.array([2, -1, -1]),
        missing_left=np.ones(3, np.bool_),
        values=np.array([[0.0], [-1.0], [1.0]]),
    )
    forest = Forest(
        trees=(stump, stump),
        n_features=rows.shape[1],
        n_outputs=1,
        slots=np.zeros(2, np.int64),
        start=np.zeros(1),
        link=Link.LOGISTIC,
        n_classes=2,
    )
    forest.probabilities(rows[:1])
    forest.probabilities(rows[:MANY_ROWS])
    Surroundings(forest, 0.1 * rows).stable(rows[:2], 0.7)
    places = np.arange(rows.shape[1])
    features = np.array([[0, place, 1, -1, place] for place in places])
    outputs = np.column_stack([places, 0 * places])
    scaling = np.tile(PLAIN_SCALE, (len(places), 1))
    Matrix(features, outputs, scaling, np.zeros(0), task.mean, task.scale).of_rows(rows)
    if feasible:
        _search_across_splits(task, rows, forest.probabilities)


def _search_across_splits(
    task: Task, rows: Floats, probabilities: Callable[[Floats], Floats]
) -> None:
    """Look for what a stump on the first feature accepts."""

    def score(rows: Floats, _: Integers) -> Floats:
        return probabilities(rows)[:, 1]

    def passes(rows: Floats, people: Integers) -> Booleans:
        return score(rows, people) > 0.5

    adverse, splits = rows[rows[:, 0] <= 0.0][:2], [np.zeros(1) for _ in task.features]
    crossings = Crossings.of(splits, task.actions.rules)
    given = task.actions, adverse, passes, score, task.distance_weights, crossings
    FeasibleSearch(*given).nearest(adverse[:, None])
