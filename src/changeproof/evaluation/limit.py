"""The limit: the shortest change that survives, found by a search that sees the changed models.

No method can know the changed models, so this is no method: it says how far people would have to
go at least, as far as the search could find. For every person, the base model has to accept, and
all, 99 % or 95 % of the changed models. How many may reject is rounded down: of 25 changed models
none at 100 % and at 99 %, and one at 95 %.

Of updates that follow each other, whole futures are counted: one is broken as soon as any of its
models rejects. All futures have to hold, all but one, or 95 %, again rounded down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from changeproof.datasets.task import Task
from changeproof.evaluation.factuals import named_factuals
from changeproof.feasible.actions import Actions
from changeproof.feasible.crossings import Crossings
from changeproof.feasible.kernels import lengths
from changeproof.feasible.search import FeasibleSearch, SearchEffort
from changeproof.methods.quorum.points import (
    WORTHWHILE,
    Jury,
    Room,
    nearest_accepted_points,
    pulled,
)
from changeproof.methods.shared.ensembles import Ensemble, Groups
from changeproof.methods.shared.free_search import free_actions
from changeproof.model import Booleans, Floats, Integers, Model, Stack
from changeproof.models.learner import splits_of, stacked
from changeproof.networks.network import Network
from changeproof.networks.stack import NetworkStack

PERCENTS = (100, 99, 95)
PEOPLE_AT_ONCE = 256
# Accepted training rows to start from: at the first share of all families, and at the others.
FIRST_NEAREST, NEAREST = 2, 1
EFFORT = SearchEffort(exchanges=2, kept=2)
# More training rows to start from find next to nothing here.
MOST_NEAREST = 2


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
    futures
        Of every sequence, how people would have to be for advice that holds through all updates
        [levels, people, columns]; how many futures may break at each level, `may_break` says.
    """

    row_ids: Integers
    rows: Floats
    changing: Floats | None = None
    futures: Mapping[str, Floats] = MappingProxyType({})

    def distances(self, task: Task) -> Floats:
        """Return how far it is to `rows` [1 + families, shares, people]."""
        return self._distances(task, self.rows)

    def changing_distances(self, task: Task) -> Floats | None:
        """Return how far it is to `changing` [shares, people]."""
        return None if self.changing is None else self._distances(task, self.changing)

    def future_distances(self, task: Task, sequence: str) -> Floats:
        """Return how far it is to `futures` of a sequence [levels, people]."""
        return self._distances(task, self.futures[sequence])

    def _distances(self, task: Task, rows: Floats) -> Floats:
        people = named_factuals(task, self.row_ids.tolist()).rows
        flat = rows.reshape(-1, rows.shape[-1])
        several = np.tile(people, (len(flat) // max(1, len(people)), 1))
        return task.distances(several, flat).reshape(rows.shape[:-1])


def may_fail(percent: int, models: int) -> int:
    """Return how many of some changed models may reject if so many percent shall accept."""
    return (100 - percent) * models // 100


def may_break(futures: int) -> tuple[int, ...]:
    """Return how many of some futures may break at each level: none, one, 5 %; each number once."""
    return tuple(sorted({0, min(1, futures - 1), may_fail(PERCENTS[-1], futures)}))


def rejected(base: Model, factuals: Floats) -> Booleans:
    """Return for whom there is a limit: people with finite values whom the base model rejects."""
    asking: Booleans = np.asarray(np.isfinite(factuals).all(axis=1))
    asking[asking] = ~base.favourable(factuals[asking])
    return asking


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
    bank, sizes
        All changed models, and how many of them, in their order, belong to each family.
    factuals
        People whom the base model rejects [people, columns].
    actions
        What may change, if only feasible rows count.
    """
    result = np.full((1 + len(sizes), len(PERCENTS), *factuals.shape), np.nan)
    families = list(pairwise(np.cumsum([0, *sizes]).tolist()))

    for some, search in _searches(task, base, bank, factuals, actions):
        result[0, :, some] = overall = _by_share(search, 0, len(bank), None)
        for place, (start, stop) in enumerate(families):
            result[1 + place, :, some] = _by_share(search, start, stop, overall)
    return result


def find_future_limit(
    task: Task,
    base: Model,
    bank: Stack,
    futures: Sequence[int],
    factuals: Floats,
    actions: Actions | None = None,
) -> Floats:
    """Return the rows at the limit of a sequence [levels, people, columns]; NaN where none is.

    The levels are those of `may_break`. A row at a later one is no farther than that before.

    Parameters
    ----------
    bank, futures
        The changed models of a sequence, and the future of each.
    factuals, actions
        As for `find_limit`.
    """
    groups = Groups(futures)
    allowed = may_break(len(groups))
    result = np.full((len(allowed), *factuals.shape), np.nan)
    for some, search in _searches(task, base, bank, factuals, actions):
        result[:, some] = _by_level(partial(search, 0, len(bank), groups=groups), allowed)
    return result


def _searches(
    task: Task, base: Model, bank: Stack, factuals: Floats, actions: Actions | None
) -> Iterator[tuple[slice, NetworkSearch | RowSearch]]:
    """Yield some people at a time, and the search for them."""
    for first in range(0, len(factuals), PEOPLE_AT_ONCE):
        some = slice(first, first + PEOPLE_AT_ONCE)
        if actions is None and isinstance(base, Network) and isinstance(bank, NetworkStack):
            yield some, NetworkSearch(task, base, bank, factuals[some])
        else:
            who = np.arange(len(factuals))[some]
            may = free_actions(task) if actions is None else actions.some_people(who)
            yield some, RowSearch(task, may, base, bank, factuals[some])


def _by_share(
    search: NetworkSearch | RowSearch, start: int, stop: int, overall: Floats | None
) -> Floats:
    """Return the rows [shares, people, columns] of the changed models from `start` to `stop`."""
    allowed = [may_fail(percent, stop - start) for percent in PERCENTS]
    return _by_level(partial(search, start, stop), allowed, overall)


def _by_level(
    search: Callable[[int, Sequence[Floats], int], Floats],
    allowed: Sequence[int],
    overall: Floats | None = None,
) -> Floats:
    """Return the rows [levels, people, columns] with which so many failures are allowed.

    Every level starts from the row of the one before and, if there is one, from the overall row.
    """
    found: list[Floats] = []
    for place, failures in enumerate(allowed):
        if found and failures == allowed[place - 1]:
            found.append(found[-1])
            continue
        starts = [*found[-1:], *([] if overall is None else [overall[place]])]
        nearest = 0 if overall is not None else NEAREST if found else FIRST_NEAREST
        found.append(search(failures, starts, nearest))
    return np.stack(found)


class NetworkSearch:
    """The nearest points that a base network and enough changed ones accept.

    Inside the range of the training rows, widened to what a person has now. Starts are the
    person's own row and the nearest accepted training rows, pulled towards the person.
    """

    def __init__(self, task: Task, base: Network, bank: NetworkStack, factuals: Floats) -> None:
        self.networks = (base, *bank)
        self.factuals = factuals
        low, high = task.training_range
        self.room = Room(
            task.distance_weights, np.minimum(low, factuals), np.maximum(high, factuals)
        )
        self._train = task.rows("train")

    def __call__(
        self,
        start: int,
        stop: int,
        failures: int,
        starts: Sequence[Floats],
        nearest: int,
        groups: Groups | None = None,
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
        groups
            Which of these models count together, if groups may fail and not models.
        """
        jury = Jury((self.networks[0], *self.networks[1 + start : 1 + stop]), groups=groups)

        def enough(judged: Booleans) -> Booleans:
            return np.asarray(judged[0] & (_refusals(judged[1:], groups) <= failures))

        def accept(rows: Floats) -> Booleans:
            return enough(jury.log_odds(rows) >= 0.0)

        rows = []
        if nearest:
            asked = [0, *range(1 + start, 1 + stop)]
            rows = self._nearest(enough(self._accepted[asked]), nearest)
        near = [pulled(self.factuals, each, accept) for each in (*starts, *rows)]
        found = self._stepped(jury, failures, [*starts, self.factuals, *near])
        if not nearest:
            return found
        # Once more from the best, in a wide trust region.
        return self._stepped(jury, failures, [found])

    def _stepped(self, jury: Jury, failures: int, starts: Sequence[Floats]) -> Floats:
        """Step from all starts side by side; of two that end equally near the first counts."""
        n, (weights, *limits) = len(starts), self.room
        people, *tiled = (np.tile(each, (n, 1)) for each in (self.factuals, *limits))
        found = nearest_accepted_points(
            jury,
            people,
            np.concatenate(starts),
            Room(weights, *tiled),
            margin=0.0,
            failures=failures,
        )
        rows, far = found.rows.reshape(n, *self.factuals.shape), found.lengths.reshape(n, -1)
        best: Floats = rows[0]
        least = far[0]
        for row, length in zip(rows[1:], far[1:], strict=True):
            shorter = length < least - WORTHWHILE
            best[shorter], least[shorter] = row[shorter], length[shorter]
        return best

    @cached_property
    def _accepted(self) -> Booleans:
        """Which networks accept which training rows [networks, rows]."""
        return Jury(self.networks).stack.favourable(self._train)

    def _nearest(self, accepted: Booleans, nearest: int) -> list[Floats]:
        """Return the nearest of the training rows that are accepted."""
        rows = self._train[accepted]
        several = np.broadcast_to(rows, (len(self.factuals), *rows.shape))
        far = lengths(self.factuals, several, self.room.weights)
        order = np.argsort(far, axis=1, kind="stable")
        return [rows[order[:, place]] for place in range(min(nearest, len(rows)))]


def _refusals(accepted: Booleans, groups: Groups | None) -> Integers:
    """Return how many models, or groups, refuse each row."""
    return np.asarray((~accepted).sum(axis=0) if groups is None else groups.refusals(~accepted))


class RowSearch:
    """The shortest feasible rows that a base model and enough changed ones accept."""

    def __init__(
        self, task: Task, actions: Actions, base: Model, bank: Stack, factuals: Floats
    ) -> None:
        self.actions, self.factuals = actions, factuals
        self.base, self.bank = base, [bank[place] for place in range(len(bank))]
        train = task.rows("train")
        self._rows = train[base.favourable(train)]
        self._rejected = np.sum(~bank.favourable(self._rows), axis=1)

    def __call__(
        self,
        start: int,
        stop: int,
        failures: int,
        starts: Sequence[Floats],
        nearest: int,
        groups: Groups | None = None,
    ) -> Floats:
        """Return a row for each person; as for `NetworkSearch`."""
        strictest = start + np.argsort(-self._rejected[start:stop], kind="stable")
        if groups is not None:
            groups = groups.of(strictest - start)
        ensemble = Ensemble(stacked([self.bank[place] for place in strictest]), groups)
        stack = ensemble.models
        # Logits, where all are networks of ours. They do not compare with probabilities.
        base_score, score = self.base.probabilities, stack.probabilities
        if isinstance(self.base, Network) and isinstance(stack, NetworkStack):
            base_score, score = self.base.logits, stack.logits

        def accepts(rows: Floats, _: Integers) -> Booleans:
            accepted = self.base.favourable(rows)
            accepted[accepted] = ensemble.accepts(rows[accepted], failures)
            return accepted

        def scores(rows: Floats) -> Floats:
            return score(rows) if groups is None else groups.lowest(score(rows))

        def margins(rows: Floats, _: Integers) -> Floats:
            """Return the lowest logit or probability, without those that may reject."""
            changed = np.partition(scores(rows), failures, axis=0)[failures]
            return np.asarray(np.minimum(base_score(rows), changed))

        def capped(rows: Floats, _: Integers) -> Floats:
            """Return the sum of probabilities up to a half, without those that may reject.

            Most changes leave the lowest probability of forests as it is.
            """
            found = np.minimum(scores(rows), 0.5)
            counted = np.sort(found, axis=0)[failures:] if failures else found
            return np.asarray(counted.sum(axis=0) + np.minimum(base_score(rows), 0.5))

        splits = splits_of([self.base, *(self.bank[place] for place in strictest)])
        crossings = None
        if splits is not None and self.actions.relations is None:
            crossings = Crossings.of(splits, self.actions.rules)
        search = FeasibleSearch(
            self.actions,
            self.factuals,
            accepts,
            margins if splits is None else capped,
            1.0 / self.actions.scales.distance,
            crossings,
        )
        rows = [start[:, None] for start in starts]
        if nearest:
            wanted = min(nearest, MOST_NEAREST)
            near = search.nearest_of(self._rows, wanted=wanted)
            rows += [near, self.factuals[:, None]]
        return search.nearest(np.concatenate(rows, axis=1), EFFORT)
