"""The nearest feasible row that every linear model of a ball accepts, as an integer programme.

Every way in which a feature may change is a column: a category, or whole steps up or down from what
a person has. What a column adds to the distance and to the logit is known beforehand. What the
least favourable model takes off the logit is a sum of sizes ("inf"), their largest ("1"), or their
length ("2"). The first two are columns of their own, at least as large as each of their parts. The
length is cut off from below by what single models of the ball say, a new one whenever the row that
is found is not certified: the one that is least favourable to it.

HiGHS solves it, with one thread and a fixed seed. Nothing is taken from it but which category and
how many steps. The row that these make is projected, and the caller certifies it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import highspy
import numpy as np

from changeproof.certificates.programme import Programme
from changeproof.feasible.actions import Actions
from changeproof.feasible.kernels import STEP_SLACK
from changeproof.feasible.rules import CATEGORIES, NONE, Limits
from changeproof.methods.linear_robust.ball import ParameterBall
from changeproof.model import Floats

# What HiGHS takes for equal, and by how much more than the margin is asked of it.
TOLERANCE, SLACK = 1e-9, 1e-8
# The most models that may be added, of those least favourable to a row.
MOST_CUTS = 200


class Way(NamedTuple):
    """A way in which one column of a row may change.

    Up (or down, where `unit` is negative) by `first` and then by up to `most` units, all
    standardised; without whole steps the last unit may be taken in part. Where there is a `first`,
    it comes before the units: the next whole step from a number between two.
    """

    column: int
    unit: float
    most: float
    first: float
    whole: bool


def nearest_feasible(
    actions: Actions, factuals: Floats, ball: ParameterBall, margin: float
) -> Floats:
    """Return the nearest feasible rows that all models of the ball give the margin.

    NaN where there is none. A number that does not go in whole steps is rounded at the end, so that
    a row may fall short by one such step.
    """
    limits = actions.limits(factuals)
    rows = np.full_like(factuals, np.nan)
    for person in range(len(factuals)):
        one = limits.of(np.array([person]))
        found = _Search(actions, factuals[person], one, ball, margin).row()
        if found is not None:
            rows[person] = found
    there = np.flatnonzero(np.isfinite(rows).all(axis=1))
    rows[there] = actions.some_people(there).project(factuals[there], rows[there])
    return rows


@dataclass
class _Search:
    """The programme of one person."""

    actions: Actions
    factual: Floats
    limits: Limits
    ball: ParameterBall
    margin: float
    programme: Programme = field(default_factory=Programme, init=False)
    # By column of a row: the columns of the programme that move it, and by how much.
    moves: dict[int, list[tuple[int, float]]] = field(default_factory=dict, init=False)
    whole: list[int] = field(default_factory=list, init=False)
    changes: list[int] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        rules = self.actions.rules
        self._counts = rules.most < int((rules.features[:, 3] != NONE).sum())
        for place, (first, width, kind, change) in enumerate(rules.features.tolist()):
            if change == NONE:
                continue
            if kind == CATEGORIES:
                self._add_categories(range(first, first + width))
            else:
                self._add_number(place, first)
        if self._counts and self.changes:
            ones = [1.0] * len(self.changes)
            self.programme.add_row(self.changes, ones, at_most=float(rules.most))

    def row(self) -> Floats | None:
        """Return the nearest row, standardised and not yet projected; None if there is none."""
        solver = self._solver()
        for _ in range(MOST_CUTS):
            solver.run()
            if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
                return None
            values = np.array(solver.getSolution().col_value)
            values[self.whole] = np.rint(values[self.whole])
            row = self.factual.copy()
            for column, moves in self.moves.items():
                row[column] += sum(values[place] * size for place, size in moves)
            if self.ball.norm != "2" or self.ball.worst_logits(row[None])[0] >= self.margin:
                return row
            places, sizes, least = self._seen_by(self._least_favourable(row))
            solver.addRow(least, np.inf, len(places), np.array(places, np.int32), np.array(sizes))
        return None

    def _add_categories(self, columns: range) -> None:
        """Add a column for every other category that a person may have; at most one is taken."""
        rules = self.actions.rules
        own = self.limits.own[0]
        taken = []
        for chosen in columns:
            if own[chosen] > 0.0 or self.limits.high[0, chosen] <= 0.0:
                continue
            after = [
                (float(c == chosen) - rules.mean[c]) / rules.scale[c] - self.factual[c]
                for c in columns
            ]
            cost = sum(abs(move) / self._unit(c) for c, move in zip(columns, after, strict=True))
            place = self._add_whole(1.0, cost)
            for column, move in zip(columns, after, strict=True):
                if move != 0.0:
                    self.moves.setdefault(column, []).append((place, move))
            taken.append(place)
        if len(taken) > 1:
            self.programme.add_row(taken, [1.0] * len(taken), at_most=1.0)
        self.changes += taken

    def _add_number(self, place: int, column: int) -> None:
        switches = []
        for way in self._ways(place, column):
            sign, cost = np.sign(way.unit), 1.0 / self._unit(column)
            moves = self.moves.setdefault(column, [])
            switch = None
            if way.first > 0.0 or self._counts:
                switch = self._add_whole(1.0, way.first * cost)
                if way.first > 0.0:
                    moves.append((switch, float(sign * way.first)))
                switches.append(switch)
            if way.most <= 0.0:
                continue
            size = abs(way.unit)
            if way.whole:
                steps = self._add_whole(way.most, size * cost)
            else:
                steps = self.programme.add_column(0.0, way.most, cost=size * cost)
            moves.append((steps, way.unit))
            if switch is not None:
                self.programme.add_row([steps, switch], [1.0, -way.most], at_most=0.0)
        if len(switches) > 1:
            self.programme.add_row(switches, [1.0] * len(switches), at_most=1.0)
        if self._counts:
            self.changes += switches

    def _ways(self, place: int, column: int) -> list[Way]:
        """Return how a number may move; not where all that this does is lower the logit."""
        rules = self.actions.rules
        own, low, high = (float(each[0, column]) for each in self.limits)
        base, step, scale = (float(each) for each in (rules.base[place], rules.step[place], 1.0))
        scale = float(rules.scale[column])
        whole = bool(rules.whole_steps[place]) or bool(self.actions.features[place].categories)
        least = np.ceil((low - base) / step - STEP_SLACK)
        most = np.floor((high - base) / step + STEP_SLACK)
        here = (own - base) / step
        on_step = abs(here - np.rint(here)) <= STEP_SLACK
        slope, value, found = self.ball.coefficients[column], self.factual[column], []
        for sign, end, worth in (
            (1.0, most, slope > 0.0 or value < 0.0),
            (-1.0, least, slope < 0.0 or value > 0.0),
        ):
            if not worth:
                continue
            if not whole:
                far = sign * ((high if sign > 0.0 else low) - own) / scale
                if far > 0.0:
                    found.append(Way(column, sign, far, 0.0, whole=False))
                continue
            begin = np.rint(here) if on_step else (np.ceil(here) if sign > 0.0 else np.floor(here))
            steps = sign * (end - begin)
            if steps < 0.0:
                continue
            first = 0.0 if on_step else sign * (begin - here) * step / scale
            if steps > 0.0 or first > 0.0:
                found.append(Way(column, sign * step / scale, float(steps), float(first), True))
        return found

    def _add_whole(self, most: float, cost: float) -> int:
        place = self.programme.add_column(0.0, most, cost=cost)
        self.whole.append(place)
        return place

    def _unit(self, column: int) -> float:
        """Return what one unit of distance is on a column, standardised."""
        return float(self.actions.scales.distance[column])

    def _solver(self) -> highspy.Highs:
        ball, programme = self.ball, self.programme
        if ball.norm == "2":
            seen = self._least_favourable(self.factual)
            places, sizes, least = self._seen_by(seen)
            programme.add_row(places, sizes, at_least=least)
        else:
            self._add_reach()
        solver = programme.solver()
        options = {
            "mip_rel_gap": 0.0,
            "mip_abs_gap": TOLERANCE,
            "mip_feasibility_tolerance": TOLERANCE,
            "primal_feasibility_tolerance": TOLERANCE,
            "dual_feasibility_tolerance": TOLERANCE,
        }
        for name, value in options.items():
            solver.setOptionValue(name, value)
        for place in self.whole:
            solver.changeColIntegrality(place, highspy.HighsVarType.kInteger)
        return solver

    def _least_favourable(self, row: Floats) -> Floats:
        """Return the parameters of the Euclidean ball that give a row the least logit."""
        moved = np.append(row, 1.0) * (self.ball.radius / self.ball.reach(row[None])[0])
        return np.asarray(np.append(self.ball.coefficients, self.ball.intercept) - moved)

    def _seen_by(self, parameters: Floats) -> tuple[list[int], list[float], float]:
        """Return columns, what they add to the logit of one model, and the least of their sum."""
        own = (parameters[:-1] * self.factual).sum() + parameters[-1]
        added: dict[int, float] = {}
        for column, moves in self.moves.items():
            for place, size in moves:
                added[place] = added.get(place, 0.0) + float(parameters[column]) * size
        return [*added], [*added.values()], self.margin + SLACK - float(own)

    def _add_reach(self) -> None:
        """Ask for the margin of the worst logit, where what it loses is a sum or the largest."""
        ball, programme = self.ball, self.programme
        parameters = np.append(ball.coefficients, ball.intercept)
        places, sizes, least = self._seen_by(parameters)
        if ball.radius == 0.0:
            programme.add_row(places, sizes, at_least=least)
            return
        fixed = [c for c in range(len(self.factual)) if c not in self.moves]
        still = np.abs(self.factual[fixed])
        if ball.norm == "inf":
            least += ball.radius * (1.0 + still.sum())
            reached = {column: programme.add_column(0.0, np.inf) for column in self.moves}
            lost: Sequence[int] = [*reached.values()]
        else:
            largest = programme.add_column(float(max(1.0, still.max(initial=0.0))), np.inf)
            reached, lost = dict.fromkeys(self.moves, largest), [largest]
        for column, moves in self.moves.items():
            own = float(self.factual[column])
            for sign in (1.0, -1.0):
                columns = [place for place, _ in moves]
                values = [-sign * size for _, size in moves]
                programme.add_row([reached[column], *columns], [1.0, *values], at_least=sign * own)
        programme.add_row([*places, *lost], [*sizes, *[-ball.radius] * len(lost)], at_least=least)
