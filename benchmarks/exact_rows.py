"""The nearest feasible row that a whole pool of small models accepts, proven.

Of forests, the values of a number that count are few: of all between the same two splits, the one
nearest to the person. A row is a choice of one value per feature. Which choice is shortest, HiGHS
proves where all models have to accept; for any other test, all of them are tried. Of networks with
ReLU, HiGHS takes steps and categories as they are (see `feasible_moves.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.feasible_moves import add_moves
from benchmarks.mixed_programme import MixedProgramme
from changeproof.feasible.actions import Actions
from changeproof.feasible.kernels import STEP_SLACK
from changeproof.feasible.rules import CATEGORIES, NONE
from changeproof.model import Booleans, Floats
from changeproof.models.forests.forest import Forest, Link, Tree
from changeproof.models.forests.views import ForestView
from changeproof.networks.network import Network

MAX_NODES = 100_000
# A margin this small counts as none: HiGHS could not tell it from one on the other side.
LEAST_MARGIN = 1e-7
ROWS_AT_ONCE = 100_000


class Choices(NamedTuple):
    """The values that a feature can have [values, columns], and how far each is; first its own."""

    columns: list[int]
    values: Floats
    lengths: Floats


def choices(
    actions: Actions, person: Floats, splits: Sequence[Floats], weights: Floats
) -> list[Choices]:
    """Return what is worth trying for each feature, given all splits per column."""
    assert actions.relations is None, "rules between features are not known here"
    rules, limits = actions.rules, actions.limits(person[None])
    found = []
    for place, (first, width, kind, change) in enumerate(rules.features.tolist()):
        columns = list(range(first, first + width))
        values = person[columns][None]
        if change != NONE and kind == CATEGORIES:
            others = [j for j in columns if limits.high[0, j] > 0 and not limits.own[0, j] > 0]
            shares = (np.array(columns) == np.array(others)[:, None]).astype(np.float64)
            encoded = (shares - rules.mean[columns]) / rules.scale[columns]
            values = np.concatenate([values, encoded.reshape(-1, width)])
        elif change != NONE:
            values = _numbers(actions, place, person, limits, splits[first])[:, None]
        lengths = (np.abs(values - person[columns]) * weights[columns]).sum(axis=1)
        found.append(Choices(columns, values, lengths))
    return found


def _numbers(actions: Actions, place: int, person: Floats, limits: Any, splits: Floats) -> Floats:
    """Return a person's own number and, between any two splits, the nearest that is allowed."""
    rules = actions.rules
    column, base, step = rules.features[place, 0], rules.base[place], rules.step[place]
    low, high = ((each[0, column] - base) / step for each in (limits.low, limits.high))
    steps = np.arange(np.ceil(low - STEP_SLACK), np.floor(high + STEP_SLACK) + 1)
    values = np.rint((base + steps * step) * rules.power[place]) / rules.power[place]
    values = values[np.abs(values - limits.own[0, column]) > STEP_SLACK * step]
    encoded = (values - rules.mean[column]) / rules.scale[column]
    encoded = encoded[np.argsort(np.abs(encoded - person[column]), kind="stable")]
    cells, nearest = np.unique(np.searchsorted(splits, encoded), return_index=True)
    others = nearest[cells != np.searchsorted(splits, person[column])]
    return np.concatenate([person[[column]], encoded[others]])


def nearest_by_trying(
    accepts: Callable[[Floats], Booleans], actions: Actions, person: Floats, found: list[Choices]
) -> float:
    """Return how far the nearest row is that passes a test: all choices are tried; else infinity.

    The person's own row is not among them.
    """
    least = np.inf
    for rows, lengths in _all_rows(actions, person, found):
        near = np.flatnonzero(lengths < least)
        passed = near[accepts(rows[near])] if len(near) else near
        least = min(least, lengths[passed].min(initial=np.inf))
    return float(least)


def _all_rows(
    actions: Actions, person: Floats, found: list[Choices]
) -> Iterator[tuple[Floats, Floats]]:
    counts = [len(each.values) for each in found]
    total = int(np.prod(counts))
    for start in range(1, total, ROWS_AT_ONCE):
        which = np.unravel_index(np.arange(start, min(start + ROWS_AT_ONCE, total)), counts)
        changed = sum((place > 0).astype(np.int64) for place in which)
        allowed = np.flatnonzero(changed <= actions.rules.most)
        rows, lengths = np.tile(person, (len(allowed), 1)), np.zeros(len(allowed))
        for each, place in zip(found, which, strict=True):
            rows[:, each.columns] = each.values[place[allowed]]
            lengths += each.lengths[place[allowed]]
        yield rows, lengths


def nearest_of_forests(
    views: Sequence[ForestView], actions: Actions, person: Floats, found: list[Choices]
) -> float:
    """Return how far the nearest row is that all forests accept, or infinity."""
    programme = MixedProgramme()
    chosen: dict[int, tuple[list[int], Floats]] = {}
    changes: list[int] = []
    for each in found:
        places = [programme.add_column(0, 1, cost=float(far), whole=True) for far in each.lengths]
        programme.add_row(places, [1.0] * len(places), at_least=1, at_most=1)
        chosen |= {j: (places, each.values[:, k]) for k, j in enumerate(each.columns)}
        changes += places[1:]
    programme.add_row(changes, [1.0] * len(changes), at_most=actions.rules.most)
    for view in views:
        assert view.taken is None and view.at is None and len(view.places) == 1
        _add_forest(programme, view.forest, view.places[0], chosen, actions.rules.feature_of)
    solution = programme.solve(MAX_NODES, absolute_gap=1e-9)
    assert solution.optimal or solution.infeasible, "HiGHS did not finish"
    return float(solution.bound) if solution.optimal else np.inf


def _add_forest(
    programme: MixedProgramme,
    forest: Forest,
    place: int,
    chosen: dict[int, tuple[list[int], Floats]],
    feature_of: Any,
) -> None:
    """Let a forest accept: its probability of the class at a place is at least a half."""
    assert forest.n_classes == 2 and not forest.sets
    one = forest.n_outputs == 1
    column, sign = (0, 1.0 if place == 1 else -1.0) if one else (place, 1.0)
    half = 0.5 if forest.link is Link.NONE else 0.0
    bias = float(np.broadcast_to(forest.bias, forest.n_outputs)[column])
    worth: dict[int, float] = {}
    for tree in forest.trees:
        leaves = []
        for value, bounds in _leaves(tree, column):
            leaf = programme.add_column(0, 1)
            leaves.append(leaf)
            worth[leaf] = sign * value
            by_feature: dict[int, tuple[list[int], Booleans]] = {}
            for j, (above, up_to) in bounds.items():
                places, values = chosen[j]
                inside = (values > above) & (values <= up_to)
                _, before = by_feature.get(feature_of[j], (places, np.ones_like(inside)))
                by_feature[feature_of[j]] = places, inside & before
            for places, inside in by_feature.values():
                some = [p for p, there in zip(places, inside, strict=True) if there]
                programme.add_row([leaf, *some], [1.0, *[-1.0] * len(some)], at_most=0.0)
        programme.add_row(leaves, [1.0] * len(leaves), at_least=1.0, at_most=1.0)
    needed = sign * ((half - bias) * forest.divisor - float(forest.start[column])) + LEAST_MARGIN
    programme.add_row([*worth], [*worth.values()], at_least=needed)


def _leaves(tree: Tree, column: int) -> Iterator[tuple[float, dict[int, tuple[float, float]]]]:
    """Yield what leaves are worth, and between what numbers columns lie there."""
    waiting: list[tuple[int, dict[int, tuple[float, float]]]] = [(0, {})]
    while waiting:
        at, bounds = waiting.pop()
        if tree.left[at] < 0:
            yield float(tree.values[at, column]), bounds
            continue
        j, threshold = int(tree.feature[at]), float(tree.threshold[at])
        low, high = bounds.get(j, (-np.inf, np.inf))
        waiting.append((int(tree.left[at]), bounds | {j: (low, min(high, threshold))}))
        waiting.append((int(tree.right[at]), bounds | {j: (max(low, threshold), high)}))


def nearest_of_networks(
    networks: Sequence[Network], actions: Actions, person: Floats, weights: Floats
) -> float:
    """Return how far the nearest row is that all networks accept, or infinity."""
    low, high = (each[0] for each in actions.bounds(person[None]))
    up, down = np.maximum(high - person, 0.0), np.maximum(person - low, 0.0)
    programme = MixedProgramme()
    for room, weight in zip((*up, *down), (*weights, *weights), strict=True):
        programme.add_column(0.0, float(room), cost=float(weight))
    add_moves(programme, actions, person, float(max(up.max(), down.max())))
    for network in networks:
        _add_network(programme, network, person, up, down)
    solution = programme.solve(MAX_NODES, absolute_gap=1e-9)
    assert solution.optimal or solution.infeasible, "HiGHS did not finish"
    return float(solution.bound) if solution.optimal else np.inf


def _add_network(
    programme: MixedProgramme, network: Network, person: Floats, up: Floats, down: Floats
) -> None:
    """Let a network accept: its logit is at least 0."""
    inputs = list(range(2 * len(person)))
    least, most = np.zeros(2 * len(person)), np.concatenate([up, down])
    weight = network.weights[0].astype(np.float64)
    constants = weight @ person + network.biases[0]
    weight = np.concatenate([weight, -weight], axis=1)
    for layer in range(len(network.hidden)):
        positive, negative = np.maximum(weight, 0.0), np.minimum(weight, 0.0)
        low = positive @ least + negative @ most + constants
        high = positive @ most + negative @ least + constants
        columns = []
        for own, constant, lowest, highest in zip(weight, constants, low, high, strict=True):
            after = programme.add_column(0.0, float(max(highest, 0.0)))
            switch = programme.add_column(0.0, 1.0, whole=True)
            # At least what goes in, and no more where it is switched on; else nothing.
            given = [after, *inputs], [1.0, *(-own)]
            programme.add_row(*given, at_least=float(constant))
            programme.add_row(
                [switch, *given[0]],
                [float(-min(lowest, 0.0)), *given[1]],
                at_most=float(constant - min(lowest, 0.0)),
            )
            programme.add_row([after, switch], [1.0, -float(max(highest, 0.0))], at_most=0.0)
            columns.append(after)
        inputs, least, most = columns, np.maximum(low, 0.0), np.maximum(high, 0.0)
        weight = network.weights[layer + 1].astype(np.float64)
        constants = network.biases[layer + 1].astype(np.float64)
    programme.add_row(inputs, [*weight[0]], at_least=float(-constants[0]))
