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
from changeproof.feasible.rules import Limits
from changeproof.feasible.search import WORTHWHILE, FeasibleSearch
from changeproof.methods.method import MOST_TESTED, STARTS, Factuals, sureness
from changeproof.model import Booleans, Floats, Integers, Model

# At most so many reasons are named.
MOST_REASONS = 4
# A row is near if it is less than so many times as far as the nearest.
NEAR = 2.0


class Reason(NamedTuple):
    """A reason, by the place of its feature in the task."""

    place: int
    worth: float  # infinite where nothing was found


@dataclass(frozen=True, eq=False)
class Reasons:
    """The nearest accepted row of every person, and the reasons.

    `rows` [people, columns] and `lengths` are NaN where none was found. `places` [people, reasons]
    are those of features, -1 where there are fewer, and `without` is how far the nearest row is if
    this feature and those before it stay: infinite where no row was found.
    """

    row_ids: Integers
    rows: Floats
    lengths: Floats
    places: Integers
    without: Floats

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {
            "row_id": self.row_ids,
            "rows": self.rows,
            "lengths": self.lengths,
            "places": self.places,
            "without": self.without,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, npt.NDArray[Any]]) -> Self:
        names = ("row_id", "rows", "lengths", "places", "without")
        return cls(*(arrays[name] for name in names))

    @property
    def found(self) -> Booleans:
        """For whom an accepted row was found."""
        return np.asarray(np.isfinite(self.lengths))

    def of(self, person: int) -> list[Reason]:
        """Return the reasons of the person at a place, the weightiest first."""
        named = self.places[person] >= 0
        worth = self.without[person][named] / self.lengths[person]
        return [
            Reason(place, each)
            for place, each in zip(self.places[person][named].tolist(), worth.tolist(), strict=True)
        ]


def find_reasons(task: Task, model: Model, people: Factuals, actions: Actions) -> Reasons:
    """Look for the reasons of people whom a model rejects; nobody else has any."""
    asked = np.flatnonzero(rejected(model, people.rows))
    own = people.rows[asked]
    kept = task.kept_of(people.row_ids[asked], own)
    kept = np.zeros((len(own), len(task.features)), np.bool_) if kept is None else kept.copy()
    train = task.rows("train")
    actions = actions.for_people(task.personal_of(people.row_ids[asked]))
    search = _Nearest(task, model, actions, train[model.favourable(train)])
    rows, lengths = search.nearest(own, kept, np.arange(len(own)))
    places = np.full((len(own), MOST_REASONS), -1, dtype=np.int64)
    without = np.full(places.shape, np.nan)
    near, far = rows.copy(), lengths.copy()
    for rank in range(MOST_REASONS):
        waiting = np.flatnonzero(far < NEAR * lengths - WORTHWHILE)
        who, which = np.nonzero(actions.changed(own[waiting], near[waiting]))
        who = waiting[who]
        if not len(who):
            break
        tried = kept[who]
        tried[np.arange(len(who)), which] = True
        found, away = search.nearest(own[who], tried, who)
        away = np.maximum(np.where(np.isnan(away), np.inf, away), far[who])
        sizes = search.sizes(own[who], near[who])[np.arange(len(who)), which]
        # The farthest of everybody comes first.
        order = np.lexsort((which, -sizes, -away, who))
        first = order[np.unique(who[order], return_index=True)[1]]
        person = who[first]
        places[person, rank], without[person, rank] = which[first], away[first]
        kept[person], near[person], far[person] = tried[first], found[first], away[first]
    result = Reasons(
        people.row_ids,
        np.full_like(people.rows, np.nan),
        np.full(len(people), np.nan),
        np.full((len(people), MOST_REASONS), -1, dtype=np.int64),
        np.full((len(people), MOST_REASONS), np.nan),
    )
    result.rows[asked], result.lengths[asked] = rows, lengths
    result.places[asked], result.without[asked] = places, without
    return result


@dataclass(frozen=True, eq=False)
class _Nearest:
    """Finds the nearest rows that a model accepts."""

    task: Task
    model: Model
    actions: Actions
    accepted: Floats

    def nearest(self, people: Floats, kept: Booleans, who: Integers) -> tuple[Floats, Floats]:
        """Return the nearest accepted rows, and how far they are; NaN where none was found.

        Features that people keep [people, features] stay as they are. `who` are the places of the
        people among all who are asked about.
        """
        sure = sureness(self.model)
        search = FeasibleSearch(
            self.actions.some_people(who),
            people,
            lambda rows, _: self.model.favourable(rows),
            lambda rows, _: sure(rows),
            1.0 / self.task.distance_scale,
        )
        given, fixed = search.limits, kept[:, self.actions.rules.feature_of]
        limits = (np.where(fixed, given[0], each) for each in given)
        vars(search)["limits"] = Limits(*limits)
        near = search.nearest_of(self.accepted, wanted=STARTS, most_tested=MOST_TESTED)
        rows = search.nearest(np.concatenate([near, people[:, None]], axis=1))
        there = np.flatnonzero(np.isfinite(rows).all(axis=1))
        broken = (self.actions.changed(people[there], rows[there]) & kept[there]).any(axis=1)
        rows[there[broken]] = np.nan
        return rows, search.lengths(rows)

    def sizes(self, people: Floats, rows: Floats) -> Floats:
        """Return what changes of features add to lengths [people, features]."""
        done = self.actions.doing(people, rows)
        each = np.abs(done - people) / self.task.distance_scale
        columns = (list(feature.columns) for feature in self.task.features)
        return np.stack([each[:, own].sum(axis=1) for own in columns], axis=1)
