"""Answers that send nobody farther than the published ones do, once those are made realisable."""

from __future__ import annotations

import numpy as np

from changeproof.datasets.actions import Actions
from changeproof.datasets.task import Task
from changeproof.methods.realising import realised
from changeproof.methods.search.alternatives import back, further
from changeproof.methods.search.few_features import FewFeatures
from changeproof.methods.search.repair import ROUNDS, WORTHWHILE, Goal, acceptance, parts, scored
from changeproof.model import Floats, Integers, Model

# A step back saves at least this share of what a row is too long by, where one does.
LEAST_SAVING = 0.25


def as_near(
    actions: Actions, task: Task, model: Model, factuals: Floats, rows: Floats, published: Floats
) -> Floats:
    """Return rows, or the surest that is as near as the published answer where that is nearer.

    Where the model accepts the published answer, put on what may change, nobody gets a longer
    change than that one. Who gets another row for it gets one that the model is no less sure of.

    Parameters
    ----------
    actions, task, model
        What may change, what distance is, and who judges.
    factuals, rows, published
        People, a realisable row of each, and what the published search says; NaN where none.
    """
    told = np.flatnonzero(np.isfinite(published).all(axis=1))
    mended = factuals.copy()
    mended[told] = realised(actions, model, factuals[told], published[told]).rows
    works = model.favourable(mended) & (mended != factuals).any(axis=1)
    nearer = ~(task.distances(factuals, rows) <= task.distances(factuals, mended))
    who = np.flatnonzero(works & nearer)
    result = rows.copy()
    own, short = factuals[who], mended[who]
    whole, few = acceptance(model, actions), FewFeatures(actions, model, own)
    goal = acceptance(few.model, few.actions)
    limits = whole.lengths(own, short)
    starts = few.rows(np.where(np.isfinite(rows[who]), rows[who], short))
    tried = [short] + [
        few.back(climbed(few.actions, few.people, start, goal, limits))
        for start in (
            few.rows(short),
            pulled_back(few.actions, few.people, starts, goal, limits),
        )
    ]
    scores = [whole.score(some, np.arange(len(who))) for some in tried]
    best = np.argmax(scores, axis=0) if len(who) else np.zeros(0, dtype=np.int64)
    result[who] = np.array(tried)[best, np.arange(len(who))]
    return result


def pulled_back(
    actions: Actions, factuals: Floats, rows: Floats, goal: Goal, limits: Floats
) -> Floats:
    """Make changes smaller, one after the other, until rows are as short as their limits.

    What costs least of the score for its length goes first.
    """
    rows = rows.copy()
    waiting = np.flatnonzero(goal.lengths(factuals, rows) > limits)
    while len(waiting):
        going = []
        for some in parts(waiting):
            own, here = factuals[some], rows[some]
            tried, possible = back(actions, own, here)
            length = goal.lengths(own, here)
            needed = (length - limits[some])[:, None]
            saved = length[:, None] - goal.lengths(own, tried)
            possible &= saved > WORTHWHILE
            saved = np.where(possible, np.minimum(saved, needed), 0.0)
            possible &= saved >= np.minimum(LEAST_SAVING * needed, saved.max(axis=1, keepdims=True))
            lost = goal.score(here, some)[:, None] - scored(goal.score, some, tried, possible)
            choice = np.divide(lost, saved, out=np.full_like(saved, np.inf), where=possible).argmin(
                axis=1
            )
            moved = possible.any(axis=1)
            rows[some[moved]] = tried[moved, choice[moved]]
            going.append(some[moved])
        waiting = np.concatenate(going)
        waiting = waiting[goal.lengths(factuals[waiting], rows[waiting]) > limits[waiting]]
    return rows


def climbed(actions: Actions, factuals: Floats, rows: Floats, goal: Goal, limits: Floats) -> Floats:
    """Change a feature at a time, the one that gains most, as long as rows are inside limits."""
    rows = rows.copy()
    waiting: Integers = np.arange(len(rows))
    scores = goal.score(rows, waiting)
    free = np.zeros((len(rows), len(actions.features)), dtype=np.bool_)
    for _ in range(ROUNDS):
        gained = []
        for some in parts(waiting):
            tried, possible = further(actions, factuals[some], rows[some], free[some])
            possible &= goal.lengths(factuals[some], tried) <= limits[some][:, None]
            found = scored(goal.score, some, tried, possible)
            choice = found.argmax(axis=1)
            most = found[np.arange(len(some)), choice]
            better = most > scores[some]
            rows[some[better]] = tried[better, choice[better]]
            scores[some[better]] = most[better]
            gained.append(some[better])
        waiting = np.concatenate(gained) if gained else waiting[:0]
        if not len(waiting):
            break
    return rows
