"""Quorum's search for points as one would write it first: every network is asked about everything.

It takes the package's scores and linear programmes and has to find the same points, to the byte.
"""

from __future__ import annotations

import numpy as np

from changeproof.feasible.kernels import lengths
from changeproof.methods.quorum import points
from changeproof.methods.quorum.choosing import Aim
from changeproof.methods.quorum.points import Asked, Nearest, Room
from changeproof.model import Floats


def plain_stepped(
    asked: Asked, factuals: Floats, start: Floats, room: Room, aim: Aim, rounds: int
) -> Nearest:
    """Do what `points._stepped` does; as there, who has no more room drops out."""
    here, regions = start.copy(), np.full(len(start), points.FIRST_REGION)
    best = Nearest(np.full_like(start, np.nan), np.full(len(start), np.inf))
    worth = np.full(len(start), np.nan)
    going = np.arange(len(start))

    def judged(rows: Floats) -> Floats:
        """Remember what is nearest, and return what rows [people, points, columns] are worth."""
        flat = rows.reshape(-1, rows.shape[2])
        least = asked.least(asked.scores(flat), aim.failures).reshape(rows.shape[:2])
        far = lengths(factuals[going], rows, room.weights)
        for point in range(rows.shape[1]):
            shorter = far[:, point] < best.lengths[going]
            nearer = (least[:, point] >= aim.margin) & shorter
            best.rows[going[nearer]] = rows[nearer, point]
            best.lengths[going[nearer]] = far[nearer, point]
        return np.asarray(far + aim.penalty * np.maximum(aim.margin - least, 0.0))

    worth[:] = judged(here[:, None])[:, 0]
    for _ in range(rounds):
        own, now, limits = factuals[going], here[going], room.of(going)
        values, slopes = asked.linear(now, asked.scores(now), aim.margin, aim.failures)
        people, goal = np.arange(len(going)), now.copy()
        columns = points._columns_that_move(own, now, slopes, people, room.weights)
        points._solve_all(
            people,
            own,
            goal,
            values,
            slopes,
            columns,
            *limits,
            regions[going],
            aim.margin + points.HAIR,
            aim.penalty,
        )
        ways = [points._on_the_way(own, now, goal, limits, share) for share in points.SHARES]
        tried = np.stack(ways, axis=1)
        worths = judged(tried)
        choice = worths.argmin(axis=1)
        found = worths[people, choice]
        better = found < worth[going] - points.WORTHWHILE
        here[going[better]], worth[going[better]] = tried[people, choice][better], found[better]
        factor = np.where(better, points.REGIONS[choice], points.NOTHING_GAINED)
        regions[going] = np.minimum(factor * regions[going], points.LARGEST_REGION)
        going = going[regions[going] >= points.SMALLEST_REGION]
        if not len(going):
            break
    return best
