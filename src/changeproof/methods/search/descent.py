"""Down an objective, among the rows that people may be told, one feature at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from changeproof.datasets.actions import Actions
from changeproof.methods.search.alternatives import back, further
from changeproof.methods.search.repair import ROUNDS, Score, parts, scored
from changeproof.model import Floats


def lowest(
    actions: Actions,
    factuals: Floats,
    starts: Sequence[Floats],
    objective: Score,
    rounds: int = ROUNDS,
) -> Floats:
    """Return the lowest of what is reached from several rows per person; NaN where all is inf.

    Parameters
    ----------
    actions
        What may change.
    factuals
        People [people, columns].
    starts
        Realisable rows, one per person in each array.
    objective
        What is to be low. It is told by place which person a row is for.
    rounds
        The most changes per start.
    """
    people = np.arange(len(factuals))
    best, least = np.full_like(factuals, np.nan), np.full(len(factuals), np.inf)
    for start in starts:
        rows = lowered(actions, factuals, start, objective, rounds)
        values = objective(rows, people)
        better = values < least
        best[better], least[better] = rows[better], values[better]
    return best


def lowered(
    actions: Actions, factuals: Floats, rows: Floats, objective: Score, rounds: int = ROUNDS
) -> Floats:
    """Take the alternative of the least objective, as long as it is less than before."""
    people = np.arange(len(rows))
    rows, values = rows.copy(), objective(rows, people)
    fixed = np.zeros((len(rows), len(actions.features)), np.bool_)
    waiting = people
    for _ in range(rounds):
        moved_on = []
        for some in parts(waiting):
            ways = further(actions, factuals[some], rows[some], fixed[some])
            ways_back = back(actions, factuals[some], rows[some])
            tried = np.concatenate([ways[0], ways_back[0]], axis=1)
            possible = np.concatenate([ways[1], ways_back[1]], axis=1)
            found = -scored(lambda r, p: -objective(r, p), some, tried, possible)
            choice = found.argmin(axis=1)
            least = found[np.arange(len(some)), choice]
            moved = least < values[some]
            rows[some[moved]] = tried[moved, choice[moved]]
            values[some[moved]] = least[moved]
            moved_on.append(some[moved])
        waiting = np.concatenate(moved_on) if moved_on else waiting[:0]
        if not len(waiting):
            break
    return rows
