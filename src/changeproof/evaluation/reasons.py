"""The principal reasons for a decision: features without whose change nothing accepted is near.

They are found one after the other. The first is, of the features that the nearest accepted row
changes, the one without whose change the nearest accepted row is farthest away. It is kept, and the
next is found in the same way, until no accepted row is left within twice the distance of the first,
or four are found. What they are worth is how many times as far one has to go if they stay. Rows are
those that the person may be told, and accepted by the base model; of equals, the larger change
comes first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from changeproof.datasets.task import Task
from changeproof.evaluation.limit import rejected
from changeproof.feasible.actions import Actions
from changeproof.feasible.rules import no_limits
from changeproof.feasible.search import WORTHWHILE, FeasibleSearch
from changeproof.methods.method import MOST_TESTED, STARTS, Factuals, sureness
from changeproof.model import Booleans, Floats, Integers, Model

# At most so many reasons are named.
MOST_REASONS = 4
# A row is near if it is less than so many times as far as the nearest.
NEAR = 2.0


class Reason(NamedTuple):
    """A reason, by the place of its feature in the task.

    `low` is whether there is too little of it: rows that change it have more. That means nothing
    where categories have no order.
    """

    place: int
    worth: float  # infinite where nothing was found
    low: bool


@dataclass(frozen=True, eq=False)
class Reasons:
    """The nearest accepted row of every person, and the reasons.

    `rows` [people, columns] and `lengths` are NaN where none was found. `places` [people, reasons]
    are those of features, -1 where there are fewer, and `without` is how far the nearest row is if
    this feature and those before it stay: infinite where no row was found. `low` is whether rows
    that change it have more of it than the person.
    """

    row_ids: Integers
    rows: Floats
    lengths: Floats
    places: Integers
    without: Floats
    low: Booleans

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {
            "row_id": self.row_ids,
            "rows": self.rows,
            "lengths": self.lengths,
            "places": self.places,
            "without": self.without,
            "low": self.low,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, npt.NDArray[Any]]) -> Self:
        names = ("row_id", "rows", "lengths", "places", "without", "low")
        return cls(*(arrays[name] for name in names))

    @property
    def found(self) -> Booleans:
        """For whom an accepted row was found."""
        return np.asarray(np.isfinite(self.lengths))

    def of(self, person: int) -> list[Reason]:
        """Return the reasons of the person at a place, the weightiest first."""
        worth = self.without[person] / self.lengths[person]
        columns = (self.places[person], worth, self.low[person])
        each = zip(*(column.tolist() for column in columns), strict=True)
        return [Reason(*one) for one in each if one[0] >= 0]


def find_reasons(task: Task, model: Model, people: Factuals, actions: Actions) -> Reasons:
    """Look for the reasons of people whom a model rejects; nobody else has any."""
    asked = np.flatnonzero(rejected(model, people.rows))
    own, row_ids = people.rows[asked], people.row_ids[asked]
    search = _Nearest(task, model, actions, own, row_ids)
    everybody = np.arange(len(own))
    kept = task.kept_of(row_ids, own)
    kept = np.zeros((len(own), len(task.features)), np.bool_) if kept is None else kept.copy()
    rows, lengths = search.nearest(everybody, kept)
    places = np.full((len(own), MOST_REASONS), -1, dtype=np.int64)
    without, low = np.full(places.shape, np.nan), np.zeros(places.shape, dtype=np.bool_)
    near, far = rows.copy(), lengths.copy()
    for rank in range(MOST_REASONS):
        waiting = np.flatnonzero(far < NEAR * lengths - WORTHWHILE)
        who, which = np.nonzero(actions.changed(own[waiting], near[waiting]))
        who = waiting[who]
        if not len(who):
            break
        pairs, tried = np.arange(len(who)), kept[who]
        tried[pairs, which] = True
        found, away = search.nearest(who, tried)
        away = np.maximum(np.where(np.isnan(away), np.inf, away), far[who])
        sizes = search.sizes(who, near[who])[pairs, which]
        # The farthest of everybody comes first.
        order = np.lexsort((which, -sizes, -away, who))
        first = order[np.unique(who[order], return_index=True)[1]]
        person = who[first]
        low[person, rank] = actions.moves(own[who], near[who])[pairs, which][first] > 0.0
        places[person, rank], without[person, rank] = which[first], away[first]
        kept[person], near[person], far[person] = tried[first], found[first], away[first]
    result = Reasons(
        people.row_ids,
        np.full_like(people.rows, np.nan),
        np.full(len(people), np.nan),
        np.full((len(people), MOST_REASONS), -1, dtype=np.int64),
        np.full((len(people), MOST_REASONS), np.nan),
        np.zeros((len(people), MOST_REASONS), dtype=np.bool_),
    )
    result.rows[asked], result.lengths[asked] = rows, lengths
    result.places[asked], result.without[asked], result.low[asked] = places, without, low
    return result


class _Nearest:
    """Finds the nearest rows that a model accepts, for some of the people."""

    def __init__(
        self, task: Task, model: Model, actions: Actions, people: Floats, row_ids: Integers
    ) -> None:
        self.model, self.actions, self.people = model, actions, people
        self.features, self.weights = task.features, 1.0 / task.distance_scale
        personal = task.personal_of(row_ids)
        unlimited = no_limits(len(people), len(task.features))
        self.personal = unlimited if personal is None else personal
        train = task.rows("train")
        self.accepted = train[model.favourable(train)]

    def nearest(self, who: Integers, kept: Booleans) -> tuple[Floats, Floats]:
        """Return the nearest accepted rows, and how far they are; NaN where none was found.

        Features that people keep [people, features] are left alone.
        """
        own = self.personal.of(who)
        actions = self.actions.for_people(own._replace(fixed=own.fixed | kept))
        people, model, sure = self.people[who], self.model, sureness(self.model)
        search = FeasibleSearch(
            actions,
            people,
            lambda rows, _: model.favourable(rows),
            lambda rows, _: sure(rows),
            self.weights,
        )
        near = search.nearest_of(self.accepted, wanted=STARTS, most_tested=MOST_TESTED)
        rows = search.nearest(np.concatenate([near, people[:, None]], axis=1))
        return rows, search.lengths(rows)

    def sizes(self, who: Integers, rows: Floats) -> Floats:
        """Return what changes of features add to lengths [people, features]."""
        people = self.people[who]
        each = np.abs(self.actions.doing(people, rows) - people) * self.weights
        columns = (list(feature.columns) for feature in self.features)
        return np.stack([each[:, own].sum(axis=1) for own in columns], axis=1)
