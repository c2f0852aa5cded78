"""Training rows as somebody may be told them: put back to what may change, nearest first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.datasets.actions import Actions
from changeproof.datasets.realising import project_row
from changeproof.datasets.task import Task
from changeproof.model import Booleans, Floats, Integers

# Of how many people distances to all rows are held at once; fewer where that many are too many.
PEOPLE_AT_ONCE, DISTANCES_AT_ONCE = 64, 4_000_000

Accept = Callable[[Floats, Integers], Booleans]


class Nearest(NamedTuple):
    """What was accepted: rows [people, wanted, columns], NaN where fewer; and how many were asked.

    A person's rows are in the order of their distance.
    """

    rows: Floats
    asked: Integers


def nearest_accepted(
    actions: Actions,
    factuals: Floats,
    rows: Floats,
    accept: Accept,
    *,
    centres: Floats | None = None,
    weights: Floats | None = None,
    wanted: int = 1,
    most_asked: int | None = None,
    at_once: int = 256,
) -> Nearest:
    """Project rows for every person and return the nearest that are accepted.

    Parameters
    ----------
    actions, factuals
        What may change, and about whom.
    rows
        Where people might be sent, for instance training rows.
    accept
        Judges rows [n, columns] of people, who are given by their places. It is asked about the
        nearest first, and about as few as possible.
    centres, weights
        The distance: absolute changes from here, times these, summed up. By default that of the
        task, from the person.
    wanted, most_asked
        How many accepted rows there should be, and after how many different ones to give up.
    at_once
        About how many rows of a person `accept` is asked at a time.
    """
    found = np.full((len(factuals), wanted, factuals.shape[1]), np.nan)
    asked = np.zeros(len(factuals), dtype=np.int64)
    centres = factuals if centres is None else centres
    weights = 1.0 / actions.scales.distance if weights is None else weights
    limit = len(rows) if most_asked is None else most_asked
    people = max(1, min(PEOPLE_AT_ONCE, DISTANCES_AT_ONCE // max(1, len(rows))))
    for first in range(0, len(factuals), people):
        some = np.arange(first, min(first + people, len(factuals)))
        lengths = np.empty((len(some), len(rows)))
        own = np.ascontiguousarray(factuals[some])
        fill_distances(lengths, own, rows, centres[some], weights, actions.rules)
        order = np.argsort(lengths, axis=1, kind="stable")
        n_found = np.zeros(len(some), dtype=np.int64)
        for start in range(0, len(rows), at_once):
            going = np.flatnonzero((n_found < wanted) & (asked[some] < limit))
            if not len(going):
                break
            # With the one before, to see whether the first is another.
            chosen = order[going, max(start - 1, 0) : start + at_once]
            told = actions.project(own[going], rows[chosen])
            fresh = (told != own[going][:, None]).any(axis=2)
            fresh[:, 1:] &= (told[:, 1:] != told[:, :-1]).any(axis=2)
            fresh[:, 0] &= start == 0
            fresh &= asked[some[going]][:, None] + np.cumsum(fresh, axis=1) <= limit
            asked[some[going]] += fresh.sum(axis=1)
            who, which = np.nonzero(fresh)
            accepted = np.zeros(0, dtype=np.bool_)
            if len(who):
                accepted = accept(told[who, which], some[going[who]])
            for i, k in zip(who[accepted], which[accepted], strict=True):
                person = going[i]
                # Of rows as far as each other, the same one may come again after another.
                known = found[some[person], : n_found[person]]
                if n_found[person] < wanted and not (known == told[i, k]).all(axis=1).any():
                    found[some[person], n_found[person]] = told[i, k]
                    n_found[person] += 1
    return Nearest(found, asked)


def no_farther(
    task: Task, factuals: Floats, rows: Floats, others: Floats, there: Booleans
) -> Floats:
    """Return rows, or the others, where these are there and nearer, or where a row is NaN."""
    lengths = task.distances(factuals, rows)
    nearer = ~(lengths <= task.distances(factuals, others))
    return np.where((there & nearer)[:, None], others, rows)


@compiled
def fill_distances(
    lengths: Any, factuals: Any, rows: Any, centres: Any, weights: Any, rules: Any
) -> None:
    """Fill in how far every row [people, rows] is once it is projected for a person."""
    savings = np.empty(len(rules.features))
    told = np.empty(rows.shape[1])
    for i in range(len(factuals)):
        for k in range(len(rows)):
            for j in range(len(told)):
                told[j] = rows[k, j]
            project_row(told, factuals[i], rules, savings)
            length = 0.0
            for j in range(len(told)):
                length += abs(told[j] - centres[i, j]) * weights[j]
            lengths[i, k] = length
