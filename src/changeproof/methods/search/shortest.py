"""The shortest realisable row that reaches a goal, from several starts.

Every start is repaired and shortened. From the shortest that is found, each change is given up in
turn for whatever else is shorter.
"""

from __future__ import annotations

import numpy as np

from changeproof.datasets.actions import Actions
from changeproof.methods.search.alternatives import undone
from changeproof.methods.search.repair import WORTHWHILE, Goal, lifted, shortened
from changeproof.model import Booleans, Floats, Integers

EXCHANGES = 10


def shortest(
    actions: Actions,
    factuals: Floats,
    starts: Floats,
    owners: Integers,
    goal: Goal,
    exchanges: int = EXCHANGES,
) -> Floats:
    """Return for every person the shortest row found that reaches the goal; NaN where none does.

    Parameters
    ----------
    actions
        What may change.
    factuals
        People [people, columns].
    starts, owners
        Realisable rows [starts, columns] to start from, and the place of the person of each.
    goal
        What is to be reached. Its score is told by place which person a row is for.
    exchanges
        How many times all changes are given up in turn, at most.
    """
    best = np.full_like(factuals, np.nan)
    lengths = np.full(len(factuals), np.inf)
    _keep_shorter(best, lengths, owners, *_reached(actions, factuals, starts, owners, goal))
    waiting = np.flatnonzero(np.isfinite(lengths))
    for _ in range(exchanges):
        without, differed = undone(actions, factuals[waiting], best[waiting])
        owners, given_up = waiting[np.nonzero(differed)[0]], np.nonzero(differed)[1]
        fixed = np.arange(len(actions.features)) == given_up[:, None]
        before = lengths.copy()
        found = _reached(actions, factuals, without[differed], owners, goal, fixed)
        _keep_shorter(best, lengths, owners, *found)
        waiting = np.flatnonzero(lengths < before)
        if not len(waiting):
            break
    return best


def mended(actions: Actions, factuals: Floats, rows: Floats, goal: Goal) -> tuple[Floats, Booleans]:
    """Return rows, those that miss the goal replaced where others reach it, and which reach it."""
    reached = goal.score(rows, np.arange(len(rows))) >= goal.enough
    lost = np.flatnonzero(~reached)
    starts = np.concatenate([rows[lost], factuals[lost]])
    owners = np.tile(np.arange(len(lost)), 2)
    found = shortest(actions, factuals[lost], starts, owners, goal.of(lost))
    there = np.isfinite(found).all(axis=1)
    rows = rows.copy()
    rows[lost[there]], reached[lost[there]] = found[there], True
    return rows, reached


def _reached(
    actions: Actions,
    factuals: Floats,
    starts: Floats,
    owners: Integers,
    goal: Goal,
    fixed: Booleans | None = None,
) -> tuple[Floats, Floats]:
    """Return what becomes of starts, and how long it is: infinitely, where it misses the goal."""
    people, goal = factuals[owners], goal.of(owners)
    found, reached = lifted(actions, people, starts, goal, fixed)
    found = shortened(actions, people, found, goal, reached)
    return found, np.where(reached, goal.lengths(people, found), np.inf)


def _keep_shorter(
    best: Floats, lengths: Floats, owners: Integers, found: Floats, found_lengths: Floats
) -> None:
    """Keep of every person's rows the first that is shorter than all before it."""
    for row, owner, length in zip(found, owners, found_lengths, strict=True):
        if length < lengths[owner] - WORTHWHILE or (length < np.inf and lengths[owner] == np.inf):
            best[owner], lengths[owner] = row, length
