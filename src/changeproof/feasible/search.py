"""The one search among feasible rows: the nearest row that passes a test, from several starts.

A start is moved, one feature at a time, until it passes (`climb`). Then every change is taken back
as far as the test allows (`shorten`), and each change in turn is given up for whatever else is
shorter (`nearest`). People are searched side by side but do not see each other, so that nothing
depends on the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from changeproof.feasible.actions import Actions
from changeproof.feasible.kernels import fill_distances, fill_neighbours, lengths
from changeproof.feasible.rules import NONE, NUMBER
from changeproof.model import Booleans, Floats, Integers

# Rounds until a climb gives up.
ROUNDS = 100
# How often all changes are taken back in turn, and how often a change of a number is halved.
PASSES, HALVINGS = 2, 7
# How often every change is given up for another one, as long as that is shorter.
EXCHANGES = 2
# How far a number goes, as shares of the room that it has; 0 stands for one step.
JUMPS = np.array([0.0, 0.01, 0.03, 0.1, 0.3, 1.0])
# An alternative this good for its length, compared with the best, is good enough: the largest of
# them is taken, so that a long way is not gone in single steps.
NEARLY_AS_GOOD = 0.8
# Less than this is not shorter.
WORTHWHILE = 1e-9
# How many people, and how many numbers, are looked at at once.
PEOPLE_AT_ONCE, NUMBERS_AT_ONCE = 64, 2**25
# How many rows of a person a test is asked about at a time, and of how many people and rows
# distances are held.
ROWS_AT_ONCE, DISTANCES_AT_ONCE = 32, 4_000_000

# Judge rows [rows, columns], each for the person at the given place.
Test = Callable[[Floats, Integers], Booleans]
Score = Callable[[Floats, Integers], Floats]


@dataclass(frozen=True, eq=False)
class Goal:
    """What is searched for: the nearest row that passes a test.

    Parameters
    ----------
    passes
        The test. It is told by place which person each row is for.
    score
        How near rows are to passing: higher is nearer. It is asked more often than the test.
    weights
        What one unit of change of every column adds to the distance.
    """

    passes: Test
    score: Score
    weights: Floats

    def of(self, people: Integers) -> Goal:
        """Return the same goal for some of the people, or for some of them several times."""
        return replace(
            self,
            passes=lambda rows, places: self.passes(rows, people[places]),
            score=lambda rows, places: self.score(rows, people[places]),
        )

    def lengths(self, factuals: Floats, rows: Floats) -> Floats:
        """Return how far rows, one or several per person, are from people."""
        several = rows if rows.ndim == 3 else rows[:, None]
        result: Floats = lengths(factuals, several, self.weights)
        return result if rows.ndim == 3 else result[:, 0]


def nearest(
    actions: Actions,
    factuals: Floats,
    starts: Floats,
    goal: Goal,
    exchanges: int = EXCHANGES,
) -> Floats:
    """Return for every person the nearest row found that passes; NaN where none does.

    Parameters
    ----------
    actions
        What may change.
    factuals
        People [people, columns].
    starts
        Feasible rows to start from [people, starts, columns]; NaN where somebody has fewer.
    goal
        What is searched for.
    exchanges
        How often all changes are given up in turn, at most.
    """
    best = np.full_like(factuals, np.nan)
    least = np.full(len(factuals), np.inf)
    owners, which = np.nonzero(np.isfinite(starts).all(axis=2))
    _keep_nearest(actions, factuals, starts[owners, which], owners, goal, None, best, least)
    waiting = np.flatnonzero(np.isfinite(least))
    for _ in range(exchanges):
        without, differed = put_back(actions, factuals[waiting], best[waiting])
        owners, given_up = waiting[np.nonzero(differed)[0]], np.nonzero(differed)[1]
        fixed = np.arange(len(actions.features)) == given_up[:, None]
        before = least.copy()
        rows = without[differed]
        _keep_nearest(actions, factuals, rows, owners, goal, fixed, best, least)
        waiting = np.flatnonzero(least < before)
        if not len(waiting):
            break
    return best


def _keep_nearest(
    actions: Actions,
    factuals: Floats,
    starts: Floats,
    owners: Integers,
    goal: Goal,
    fixed: Booleans | None,
    best: Floats,
    least: Floats,
) -> None:
    """Climb from starts, shorten what passes, and keep in place what is nearer than the best."""
    people, own = factuals[owners], goal.of(owners)
    rows, passed = climb(actions, people, starts, own, fixed=fixed)
    there = np.flatnonzero(passed)
    short = shorten(actions, people[there], rows[there], own.of(there))
    far = goal.lengths(people[there], short)
    for row, owner, length in zip(short, owners[there], far, strict=True):
        if length < least[owner] - WORTHWHILE:
            best[owner], least[owner] = row, length


def climb(
    actions: Actions,
    factuals: Floats,
    rows: Floats,
    goal: Goal,
    *,
    fixed: Booleans | None = None,
    longest: Floats | None = None,
) -> tuple[Floats, Booleans]:
    """Change a feature at a time until rows pass; return the rows and which of them pass.

    Each time the alternative is taken that gains most of the score for its length. Where as many
    features differ as may, and no other value of these gains anything, one of them is put back to
    change another.

    Parameters
    ----------
    actions, factuals, rows, goal
        What may change, people, a feasible row of each, and what is searched for.
    fixed
        Features [people, features] that stay as they are.
    longest
        How far rows may go [people].
    """
    rows, people = rows.copy(), np.arange(len(rows))
    fixed = np.zeros((len(rows), len(actions.features)), np.bool_) if fixed is None else fixed
    limits = np.full(len(rows), np.inf) if longest is None else longest + WORTHWHILE
    scores, passed = goal.score(rows, people), goal.passes(rows, people)
    waiting = np.flatnonzero(~passed)
    for _ in range(ROUNDS):
        going = []
        for some in _parts(actions, waiting):
            own = factuals[some]
            tried, possible = neighbours(actions, own, rows[some], fixed[some])
            far = goal.lengths(own, tried)
            possible &= far <= limits[some][:, None]
            found = _scored(goal, some, tried, possible)
            added = far - goal.lengths(own, rows[some])[:, None]
            choice = _best_for_length(found - scores[some][:, None], added)
            moved = choice >= 0
            rows[some[moved]] = tried[moved, choice[moved]]
            scores[some[moved]] = found[moved, choice[moved]]
            stuck = some[~moved]
            swapped = _swap(actions, factuals, rows, scores, goal, fixed, limits, stuck)
            going.append(np.concatenate([some[moved], swapped]))
        moved_on = np.sort(np.concatenate(going)) if going else waiting[:0]
        if not len(moved_on):
            break
        passed[moved_on] = goal.passes(rows[moved_on], moved_on)
        waiting = moved_on[~passed[moved_on]]
    return rows, passed


def _swap(
    actions: Actions,
    factuals: Floats,
    rows: Floats,
    scores: Floats,
    goal: Goal,
    fixed: Booleans,
    limits: Floats,
    stuck: Integers,
) -> Integers:
    """Put one feature back and change another, in place, where no more may change.

    Return for whom that gains something.
    """
    changed = actions.changed(factuals[stuck], rows[stuck]).sum(axis=1)
    swapped = []
    for i in stuck[changed >= actions.rules.most].tolist():
        without, differed = put_back(actions, factuals[[i]], rows[[i]])
        starts = without[0][differed[0] & ~fixed[i]]
        mine = np.full(len(starts), i)
        tried, possible = neighbours(actions, factuals[mine], starts, fixed[mine])
        possible &= goal.lengths(factuals[mine], tried) <= limits[i]
        found = _scored(goal, mine, tried, possible)
        if found.size and found.max() > scores[i]:
            rows[i] = tried.reshape(-1, tried.shape[2])[found.argmax()]
            scores[i] = found.max()
            swapped.append(i)
    return np.array(swapped, dtype=np.int64)


def shorten(actions: Actions, factuals: Floats, rows: Floats, goal: Goal) -> Floats:
    """Take back of every change what the test does not need, the largest change first.

    Rows must be feasible and pass. Features are put back one after the other; of numbers that
    have to change, halving finds how little is enough.
    """
    result = rows.copy()
    waiting = np.arange(len(rows))
    for _ in range(PASSES):
        before = result[waiting]
        some = goal.of(waiting)
        shorter = _undone(actions, factuals[waiting], before, some)
        shorter = _halved(actions, factuals[waiting], shorter, some)
        result[waiting] = shorter
        waiting = waiting[(shorter != before).any(axis=1)]
        if not len(waiting):
            break
    return result


def _undone(actions: Actions, factuals: Floats, rows: Floats, goal: Goal) -> Floats:
    """Put features back, the largest change first, where the row still passes without."""
    result = rows.copy()
    order, counts = _by_size(actions, factuals, rows, goal.weights)
    for k in range(int(counts.max(initial=0))):
        who = np.flatnonzero(k < counts)
        turn = order[who, k][:, None] == _feature_of_column(actions)
        tried = np.where(turn, factuals[who], result[who])
        # Nobody is put back as a whole.
        left = (tried != factuals[who]).any(axis=1)
        who, tried = who[left], tried[left]
        if len(who):
            passed = goal.passes(tried, who)
            result[who[passed]] = tried[passed]
    return result


def _halved(actions: Actions, factuals: Floats, rows: Floats, goal: Goal) -> Floats:
    """Change numbers as little as the test allows, the largest change first."""
    result = rows.copy()
    numbers = np.array([not feature.categories for feature in actions.features])
    order, counts = _by_size(actions, factuals, rows, goal.weights, numbers)
    first = np.array([feature.columns[0] for feature in actions.features])
    for k in range(int(counts.max(initial=0))):
        who = np.flatnonzero(k < counts)
        column = first[order[who, k]]
        own, far = factuals[who, column], result[who, column]
        too_little, enough = np.zeros(len(who)), np.ones(len(who))
        for _ in range(HALVINGS):
            share = 0.5 * (too_little + enough)
            tried = result[who]
            tried[np.arange(len(who)), column] = own + share * (far - own)
            tried = actions.project(factuals[who], tried)
            # What is rounded to the row at hand, or to nothing, need not be asked.
            passed = (tried == result[who]).all(axis=1)
            fresh = ~passed & (tried != factuals[who]).any(axis=1)
            if fresh.any():
                passed[fresh] = goal.passes(tried[fresh], who[fresh])
            result[who[passed]] = tried[passed]
            enough[passed], too_little[~passed] = share[passed], share[~passed]
    return result


def nearest_of(
    actions: Actions,
    factuals: Floats,
    rows: Floats,
    goal: Goal,
    *,
    wanted: int = 1,
    most_asked: int | None = None,
) -> Floats:
    """Project rows for every person and return the nearest that pass [people, wanted, columns].

    They are in the order of their distance; NaN where fewer pass.

    Parameters
    ----------
    actions, factuals, goal
        What may change, people, and what is searched for.
    rows
        Where people might be sent, for instance training rows.
    wanted, most_asked
        How many should pass, and after how many different rows to give up.
    """
    found = np.full((len(factuals), wanted, factuals.shape[1]), np.nan)
    limit = len(rows) if most_asked is None else most_asked
    at_once = max(1, min(PEOPLE_AT_ONCE, DISTANCES_AT_ONCE // max(1, len(rows))))
    for first in range(0, len(factuals), at_once):
        some = np.arange(first, min(first + at_once, len(factuals)))
        own = np.ascontiguousarray(factuals[some])
        far = np.empty((len(some), len(rows)))
        fill_distances(far, own, rows, own, goal.weights, actions.rules)
        order = np.argsort(far, axis=1, kind="stable")
        n_found, asked = np.zeros((2, len(some)), dtype=np.int64)
        for start in range(0, len(rows), ROWS_AT_ONCE):
            going = np.flatnonzero((n_found < wanted) & (asked < limit))
            if not len(going):
                break
            # With the one before, to see whether the first is another.
            chosen = order[going, max(start - 1, 0) : start + ROWS_AT_ONCE]
            tried = actions.project(own[going], rows[chosen])
            fresh = (tried != own[going][:, None]).any(axis=2)
            fresh[:, 1:] &= (tried[:, 1:] != tried[:, :-1]).any(axis=2)
            fresh[:, 0] &= start == 0
            fresh &= asked[going][:, None] + np.cumsum(fresh, axis=1) <= limit
            asked[going] += fresh.sum(axis=1)
            who, which = np.nonzero(fresh)
            if not len(who):
                continue
            passed = goal.passes(tried[who, which], some[going[who]])
            for i, k in zip(who[passed], which[passed], strict=True):
                person = going[i]
                # Of rows as far as each other, the same one may come again after another.
                known = found[some[person], : n_found[person]]
                if n_found[person] < wanted and not (known == tried[i, k]).all(axis=1).any():
                    found[some[person], n_found[person]] = tried[i, k]
                    n_found[person] += 1
    return found


def neighbours(
    actions: Actions, factuals: Floats, rows: Floats, fixed: Booleans
) -> tuple[Floats, Booleans]:
    """Return rows [people, slots, columns] with one feature changed, and which are possible.

    Numbers move by one step or by shares of their room, either way; categories become any other.
    Features that are `fixed` [people, features] stay as they are.
    """
    slots = _slots(actions)
    tried = np.repeat(rows[:, None], slots[-1], axis=1)
    possible = np.zeros(tried.shape[:2], dtype=np.bool_)
    fill_neighbours(rows, factuals, fixed, actions.rules, slots, JUMPS, tried, possible)
    return tried, possible


def put_back(actions: Actions, factuals: Floats, rows: Floats) -> tuple[Floats, Booleans]:
    """Return rows [people, features, columns] with one feature put back, and where it differed."""
    tried = np.repeat(rows[:, None], len(actions.features), axis=1)
    for place, feature in enumerate(actions.features):
        columns = list(feature.columns)
        tried[:, place, columns] = factuals[:, columns]
    return tried, np.asarray((tried != rows[:, None]).any(axis=2))


def _slots(actions: Actions) -> Integers:
    """Return the first slot of every feature and, last, how many there are."""
    kinds = actions.rules.features
    sizes = np.where(kinds[:, 2] == NUMBER, 2 * len(JUMPS), kinds[:, 1])
    sizes[kinds[:, 3] == NONE] = 0
    return np.concatenate([[0], np.cumsum(sizes)])


def _parts(actions: Actions, places: Integers) -> Iterator[Integers]:
    """Yield places in parts that fit into memory with all their alternatives."""
    numbers = int(_slots(actions)[-1]) * len(actions.scales.scale)
    at_once = max(1, min(PEOPLE_AT_ONCE, NUMBERS_AT_ONCE // max(1, numbers)))
    for first in range(0, len(places), at_once):
        yield places[first : first + at_once]


def _scored(goal: Goal, people: Integers, tried: Floats, possible: Booleans) -> Floats:
    """Return the scores [people, slots] of what is possible; minus infinity elsewhere."""
    scores = np.full(possible.shape, -np.inf)
    if possible.any():
        scores[possible] = goal.score(tried[possible], people[np.nonzero(possible)[0]])
    return scores


def _best_for_length(gains: Floats, added: Floats) -> Integers:
    """Return per person the alternative that gains most for its length; -1 where none gains."""
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = np.where(gains > 0.0, np.where(added > 0.0, gains / added, np.inf), -np.inf)
    most = worth.max(axis=1, keepdims=True, initial=-np.inf)
    gains = np.where((worth > 0.0) & (worth >= NEARLY_AS_GOOD * most), gains, -np.inf)
    ties = gains == gains.max(axis=1, keepdims=True, initial=-np.inf)
    if not ties.shape[1]:
        return np.full(len(ties), -1)
    choice = np.where(ties, added, np.inf).argmin(axis=1)
    return np.where(most[:, 0] > 0.0, choice, -1)


def _feature_of_column(actions: Actions) -> Integers:
    """Return by column which feature it belongs to."""
    places = np.zeros(len(actions.scales.scale), dtype=np.int64)
    for place, feature in enumerate(actions.features):
        places[list(feature.columns)] = place
    return places


def _by_size(
    actions: Actions,
    factuals: Floats,
    rows: Floats,
    weights: Floats,
    counted: Booleans | None = None,
) -> tuple[Integers, Integers]:
    """Return every person's features by the size of their change, and how many change.

    Only features that are `counted`; all, by default.
    """
    changes = np.zeros((len(rows), len(actions.features)))
    each = np.abs(rows - factuals) * weights
    for place, feature in enumerate(actions.features):
        for column in feature.columns:
            changes[:, place] += each[:, column]
    if counted is not None:
        changes[:, ~counted] = 0.0
    return np.argsort(-changes, axis=1, kind="stable"), (changes > 0.0).sum(axis=1)
