"""What a person may be told, as rows of a mixed-integer programme.

The programme has, for every column, how far it rises and how far it falls. Here these are tied to
whole steps and categories: a number may stay what it is, also between steps, or go to one of the
steps on either side; of the other categories at most one is taken.
"""

from __future__ import annotations

import math

from benchmarks.mixed_programme import MixedProgramme
from changeproof.feasible.actions import Actions
from changeproof.feasible.kernels import STEP_SLACK
from changeproof.feasible.rules import NONE, NUMBER
from changeproof.model import Floats

# A move this short is none.
NO_ROOM = 1e-9


def add_moves(programme: MixedProgramme, actions: Actions, factual: Floats, radius: float) -> None:
    """Allow only feasible moves of a person.

    Parameters
    ----------
    programme
        Its first columns are how far every column of a row rises, then how far each falls.
    actions
        What may change.
    factual
        The person.
    radius
        No move in question is longer.
    """
    changes: list[int] = []
    for place, feature in enumerate(actions.features):
        _, _, kind, change = actions.rules.features[place]
        if change == NONE:
            continue
        if kind == NUMBER:
            changes += _add_number(programme, actions, factual, place, radius)
        elif feature.kind == "binary":
            changes += _add_two_valued(programme, actions, factual, feature.columns[0])
        else:
            changes += _add_categories(programme, actions, factual, place)
    if actions.rules.most < len(actions.features):
        _at_most(programme, changes, actions.rules.most)


def _tie(programme: MixedProgramme, move: int, parts: dict[int, float]) -> None:
    """Make a move the sum of its parts."""
    programme.add_row([move, *parts], [-1.0, *parts.values()], at_least=0.0, at_most=0.0)


def _at_most(programme: MixedProgramme, columns: list[int], most: float) -> None:
    programme.add_row(columns, [1.0] * len(columns), at_most=most)


def _add_number(
    programme: MixedProgramme, actions: Actions, factual: Floats, place: int, radius: float
) -> list[int]:
    rules, n = actions.rules, len(factual)
    j = int(rules.features[place, 0])
    own, low, high = (float(each[0, j]) for each in actions.limits(factual[None]))
    base, step = rules.base[place], rules.step[place]
    at = (own - base) / step
    above, below = math.floor(at + STEP_SLACK) + 1, math.ceil(at - STEP_SLACK) - 1
    steps_up = math.floor((high - base) / step + STEP_SLACK) - above
    steps_down = below - math.ceil((low - base) / step - STEP_SLACK)
    unit = step / rules.scale[j]
    changes = []
    for move, first, steps in (
        (j, (above - at) * unit, steps_up),
        (n + j, (at - below) * unit, steps_down),
    ):
        if steps < 0 or first > radius:
            _tie(programme, move, {})
            continue
        steps = min(steps, math.ceil(radius / unit))
        changes.append(programme.add_column(0.0, 1.0, whole=True))
        more = programme.add_column(0.0, float(steps), whole=True)
        _tie(programme, move, {changes[-1]: first, more: unit})
        programme.add_row([changes[-1], more], [float(steps), -1.0], at_least=0.0)
    if len(changes) == 2:
        _at_most(programme, changes, 1.0)
    return changes


def _add_two_valued(
    programme: MixedProgramme, actions: Actions, factual: Floats, column: int
) -> list[int]:
    low, high = actions.bounds(factual[None])
    changes = []
    for move, room in (
        (column, high[0, column] - factual[column]),
        (len(factual) + column, factual[column] - low[0, column]),
    ):
        if room <= NO_ROOM:
            _tie(programme, move, {})
            continue
        changes.append(programme.add_column(0.0, 1.0, whole=True))
        _tie(programme, move, {changes[-1]: room})
    return changes


def _add_categories(
    programme: MixedProgramme, actions: Actions, factual: Floats, place: int
) -> list[int]:
    feature, scale, n = actions.features[place], actions.rules.scale, len(factual)
    columns = feature.columns
    limits = actions.limits(factual[None])
    allowed = limits.high[0, list(columns)] > 0.0
    own = int(limits.own[0, list(columns)].argmax())
    others = [k for k in range(len(columns)) if allowed[k] and k != own]
    taken = {k: programme.add_column(0.0, 1.0, whole=True) for k in others}
    for k, column in enumerate(columns):
        if k in taken:
            _tie(programme, column, {taken[k]: 1.0 / scale[column]})
    leave = 1.0 / scale[columns[own]]
    _tie(programme, n + columns[own], dict.fromkeys(taken.values(), leave))
    if taken:
        _at_most(programme, [*taken.values()], 1.0)
    return [*taken.values()]
