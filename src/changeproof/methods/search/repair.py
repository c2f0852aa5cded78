"""Search among the rows that people may be told, one feature at a time.

From a realisable row to one that reaches a goal (`lifted`), and from there to a shorter change
that still does (`shortened`). In every round all alternatives of all people are scored at once,
and each person takes at most one. People do not see each other, so that nothing depends on the
batch. `shortest.py` does it from several starts, `descent.py` goes down an objective.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from changeproof.datasets.actions import Actions
from changeproof.methods.search.alternatives import CUTS, back, further, lengths, undone
from changeproof.model import Booleans, Floats, Integers, Model
from changeproof.networks.network import Network

# Rounds until a search gives up, or is content with what it has.
ROUNDS = 100
PEOPLE_AT_ONCE = 64
# An alternative this good for its length, compared with the best, is good enough: the largest
# of them is taken, so that a long way is not gone in single steps.
NEARLY_AS_GOOD = 0.8
# Less than this is not shorter.
WORTHWHILE = 1e-9

# Scores rows; the integers say which person each row is for.
Score = Callable[[Floats, Integers], Floats]


class Goal(NamedTuple):
    """A score, how much of it is enough, and what one unit of each column costs."""

    score: Score
    enough: float
    weights: Floats

    def lengths(self, factuals: Floats, rows: Floats) -> Floats:
        """Return how far rows, one or several per person, are from people."""
        several = rows if rows.ndim == 3 else rows[:, None]
        result: Floats = lengths(factuals, several, self.weights)
        return result if rows.ndim == 3 else result[:, 0]

    def of(self, people: Integers) -> Goal:
        """Return the same goal for some of the people, or for some of them several times."""
        return self._replace(score=lambda rows, places: self.score(rows, people[places]))


def acceptance(model: Model, actions: Actions) -> Goal:
    """Return the goal that a model accepts a row, at the least distance of the task."""
    weights = 1.0 / actions.scales.distance
    if isinstance(model, Network):
        return Goal(lambda rows, _: model.logits(rows), 0.0, weights)
    return Goal(lambda rows, _: model.probabilities(rows), 0.5, weights)


def lifted(
    actions: Actions,
    factuals: Floats,
    rows: Floats,
    goal: Goal,
    fixed: Booleans | None = None,
) -> tuple[Floats, Booleans]:
    """Change a feature at a time, the one that gains most for its length, up to the goal.

    Where as many features differ as may, and no other value of these gains anything, one of them
    is put back to change another. Features that are `fixed` [people, features] stay as they are.
    """
    people = np.arange(len(rows))
    rows, scores = rows.copy(), goal.score(rows, people)
    fixed = np.zeros((len(rows), len(actions.features)), np.bool_) if fixed is None else fixed
    waiting = people[scores < goal.enough]
    for _ in range(ROUNDS):
        stuck = []
        for some in parts(waiting):
            tried, possible = further(actions, factuals[some], rows[some], fixed[some])
            found = scored(goal.score, some, tried, possible)
            gains = np.minimum(found, goal.enough) - scores[some][:, None]
            added = goal.lengths(factuals[some], tried)
            added -= goal.lengths(factuals[some], rows[some])[:, None]
            choice = _best_for_length(gains, added)
            moved = choice >= 0
            rows[some[moved]] = tried[moved, choice[moved]]
            scores[some[moved]] = found[moved, choice[moved]]
            stuck.append(some[~moved])
        left = [_exchange(actions, factuals, rows, scores, goal, fixed, s) for s in stuck]
        gone = np.concatenate(left) if left else waiting[:0]
        waiting = np.setdiff1d(waiting[scores[waiting] < goal.enough], gone)
        if not len(waiting):
            break
    return rows, np.asarray(scores >= goal.enough)


def _exchange(
    actions: Actions,
    factuals: Floats,
    rows: Floats,
    scores: Floats,
    goal: Goal,
    fixed: Booleans,
    some: Integers,
) -> Integers:
    """Put one feature back and change another, in place; return for whom nothing is gained."""
    changed = actions.changed(factuals[some], rows[some]).sum(axis=1)
    left = [some[changed < actions.rules.most]]
    for i in some[changed >= actions.rules.most]:
        without, differed = undone(actions, factuals[[i]], rows[[i]])
        starts = without[0][differed[0] & ~fixed[i]]
        mine = np.full(len(starts), i)
        tried, possible = further(actions, factuals[mine], starts, fixed[mine])
        found = scored(goal.score, mine, tried, possible)
        if not found.size or found.max() <= scores[i]:
            left.append(np.array([i]))
            continue
        rows[i] = tried.reshape(-1, tried.shape[2])[found.argmax()]
        scores[i] = found.max()
    return np.concatenate(left)


def shortened(
    actions: Actions,
    factuals: Floats,
    rows: Floats,
    goal: Goal,
    which: Booleans | None = None,
    cuts: Floats = CUTS,
) -> Floats:
    """Take back of the changes what the goal does not need, the longest part first."""
    rows = rows.copy()
    waiting = np.arange(len(rows)) if which is None else np.flatnonzero(which)
    for _ in range(ROUNDS):
        moved_on = []
        for some in parts(waiting):
            tried, possible = back(actions, factuals[some], rows[some], cuts)
            before = goal.lengths(factuals[some], rows[some])
            saved = before[:, None] - goal.lengths(factuals[some], tried)
            possible &= saved > WORTHWHILE
            found = scored(goal.score, some, tried, possible)
            saved[~(found >= goal.enough)] = 0.0
            choice = saved.argmax(axis=1)
            moved = saved[np.arange(len(some)), choice] > 0.0
            rows[some[moved]] = tried[moved, choice[moved]]
            moved_on.append(some[moved])
        waiting = np.concatenate(moved_on) if moved_on else waiting[:0]
        if not len(waiting):
            break
    return rows


def parts(places: Integers) -> list[Integers]:
    """Return places in parts that fit into memory with all their alternatives."""
    return [places[i : i + PEOPLE_AT_ONCE] for i in range(0, len(places), PEOPLE_AT_ONCE)]


def scored(score: Score, people: Integers, tried: Floats, possible: Booleans) -> Floats:
    """Return the scores [people, slots] of what is possible; minus infinity elsewhere."""
    scores = np.full(possible.shape, -np.inf)
    if possible.any():
        scores[possible] = score(tried[possible], people[np.nonzero(possible)[0]])
    return scores


def _best_for_length(gains: Floats, added: Floats) -> Integers:
    """Return per person the alternative that gains most for its length; -1 where none gains."""
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = np.where(gains > 0.0, np.where(added > 0.0, gains / added, np.inf), -np.inf)
    most = worth.max(axis=1, keepdims=True)
    gains = np.where(worth >= NEARLY_AS_GOOD * most, gains, -np.inf)
    gains[~(worth > 0.0)] = -np.inf
    ties = gains == gains.max(axis=1, keepdims=True)
    choice = np.where(ties, added, np.inf).argmin(axis=1)
    return np.where(most[:, 0] > 0.0, choice, -1)
