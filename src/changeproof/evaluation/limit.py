"""The limit: the shortest change that survives, found by a search that sees the changed models.

No method can know the changed models, so this is no method: it says how far people would have to
go at least, as far as the search could find. For every person the base model has to accept, and of
the changed models all, 99 % or 95 %. At most so many may reject as these shares leave, rounded
down: of 25 changed models none at 100 % and at 99 %, and one at 95 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np

from changeproof.datasets.task import Task
from changeproof.evaluation.factuals import named_factuals
from changeproof.evaluation.limit_networks import NetworkSearch
from changeproof.evaluation.limit_rows import RowSearch, free_actions
from changeproof.feasible.actions import Actions
from changeproof.model import Booleans, Floats, Integers, Model, Stack
from changeproof.networks.network import Network
from changeproof.networks.stack import NetworkStack

PERCENTS = (100, 99, 95)
PEOPLE_AT_ONCE = 256
# Accepted training rows to start from: at the first share of all families, and at the others.
FIRST_NEAREST = 2
NEAREST = 1


class Part(NamedTuple):
    """The changed models from one position of the bank up to another."""

    start: int
    stop: int

    @property
    def models(self) -> int:
        """How many they are."""
        return self.stop - self.start


class Limit(NamedTuple):
    """The limit of the people of a base model.

    Attributes
    ----------
    row_ids
        Who they are: those whom the base model rejects.
    rows
        How they would have to be [1 + families, shares, people, columns], first over all families
        and then family by family, at 100, 99 and 95 % of the changed models; NaN where nothing was
        found.
    changing
        The same [shares, people, columns] over the families that change something about this base
        model; None where all do, or none does.
    """

    row_ids: Integers
    rows: Floats
    changing: Floats | None = None

    def distances(self, task: Task) -> Floats:
        """Return how far it is [1 + families, shares, people]."""
        return self._far(task, self.rows)

    def changing_distances(self, task: Task) -> Floats | None:
        """Return how far it is [shares, people] over the families that change something."""
        return None if self.changing is None else self._far(task, self.changing)

    def _far(self, task: Task, rows: Floats) -> Floats:
        people = named_factuals(task, self.row_ids.tolist()).rows
        flat = rows.reshape(-1, rows.shape[-1])
        several = np.tile(people, (len(flat) // max(1, len(people)), 1))
        return task.distances(several, flat).reshape(rows.shape[:-1])


class Search(Protocol):
    """Finds short changes for some people that a base model and enough changed models accept."""

    def __call__(
        self, start: int, stop: int, failures: int, starts: Sequence[Floats], nearest: int
    ) -> Floats:
        """Return a row for each person, NaN where none is found.

        Parameters
        ----------
        start, stop
            Which changed models of the bank count.
        failures
            How many of them may reject.
        starts
            Rows to start from, NaN where there are none; what is found is no farther than those
            of the first that are accepted.
        nearest
            How many training rows to start from as well.
        """


def may_fail(percent: int, models: int) -> int:
    """Return how many of some changed models may reject if so many percent shall accept."""
    return (100 - percent) * models // 100


def to_be_asked(base: Model, factuals: Floats) -> Booleans:
    """Return for whom there is a limit: people with finite values whom the base model rejects."""
    asked: Booleans = np.asarray(np.isfinite(factuals).all(axis=1))
    asked[asked] = ~base.favourable(factuals[asked])
    return asked


def find_limit(
    task: Task,
    base: Model,
    bank: Stack,
    sizes: Sequence[int],
    factuals: Floats,
    actions: Actions | None = None,
) -> Floats:
    """Return the rows at the limit [1 + families, shares, people, columns]; NaN where none is.

    The first are those over all families, the shares are `PERCENTS`. A row at a lower share is no
    farther than that at a higher one, and at 100 % a family's is no farther than that of all.

    Parameters
    ----------
    task, base
        The task and the base model.
    bank, sizes
        All changed models, and how many of them, in their order, belong to each family.
    factuals
        People whom the base model rejects [people, columns].
    actions
        What may change, if people are only told what they can do.
    """
    result = np.full((1 + len(sizes), len(PERCENTS), *factuals.shape), np.nan)
    ends = np.cumsum([0, *sizes]).tolist()
    families = [Part(*both) for both in pairwise(ends)]
    for first in range(0, len(factuals), PEOPLE_AT_ONCE):
        some = slice(first, first + PEOPLE_AT_ONCE)
        search = _search(task, base, bank, factuals[some], actions)
        result[0, :, some] = overall = _by_share(search, Part(0, len(bank)), None)
        for place, family in enumerate(families):
            result[1 + place, :, some] = _by_share(search, family, overall)
    return result


def _search(
    task: Task, base: Model, bank: Stack, factuals: Floats, actions: Actions | None
) -> Search:
    if actions is None and isinstance(base, Network) and isinstance(bank, NetworkStack):
        return NetworkSearch(task, base, bank, factuals)
    return RowSearch(task, actions or free_actions(task), base, bank, factuals)


def _by_share(search: Search, part: Part, overall: Floats | None) -> Floats:
    """Return the rows [shares, people, columns] of some changed models.

    Every share starts from the row of the one before and, if there is one, from the overall row.
    """
    found: list[Floats] = []
    for place, percent in enumerate(PERCENTS):
        failures = may_fail(percent, part.models)
        if found and failures == may_fail(PERCENTS[place - 1], part.models):
            found.append(found[-1])
            continue
        starts = [*found[-1:], *([] if overall is None else [overall[place]])]
        nearest = 0 if overall is not None else NEAREST if found else FIRST_NEAREST
        found.append(search(*part, failures, starts, nearest))
    return np.stack(found)
