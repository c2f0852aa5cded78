"""The nearest rows that every linear model of a ball accepts, where columns are numbers in ranges.

The logit of the least favourable model, w.x + b - radius ||(x, 1)||, is concave, since it is a
minimum of functions that are linear in x. So the nearest row is the answer to a convex problem, and
one that comes apart into columns.

With the norm "inf" the penalty is a sum over columns. What a column gains is then piecewise linear:
at most two pieces on the way that gains, the one up to zero being the better. Pieces are taken by
what they gain for their cost, which is exact.

With "1" and "2" a price is put on distance. At a price, the row that is best, logit minus price
times distance, follows column by column once ||(x, 1)|| is known, and that is one number. The
lower the price, the higher the logit. Halving finds the price at which the logit is enough: on one
side of it is a row that falls short, on the other one that does not, and between the two both
logit and distance are linear, since both are best at the same price. The row between them with just
enough is the answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from changeproof.methods.linear_robust.ball import ParameterBall
from changeproof.methods.shared.knapsack import cheapest
from changeproof.model import Booleans, Floats, Integers

# How often the price is halved, and the most steps to the size of a row.
HALVINGS, MOST_STEPS = 64, 80
# Sizes that differ by a smaller share are the same.
SAME_SIZE = 2.0**-50
# Rounding is made up for so often, by twice of what is missing and by at least so much.
REPAIRS, LEAST_REPAIR = 6, 2.0**-50


@dataclass(frozen=True, eq=False)
class NearestRows:
    """Looks for the nearest rows between `low` and `high` [people, columns].

    `weights` are what a unit of change of every column costs.
    """

    ball: ParameterBall
    weights: Floats
    factuals: Floats
    low: Floats
    high: Floats

    def find(self, margin: float) -> Floats:
        """Return rows whose least logit is proven to be the margin at least; NaN if none is."""
        rows = np.full_like(self.factuals, np.nan)
        waiting = np.arange(len(rows))
        lost = self.ball.worst_logits(self.factuals) - self.ball.proven_logits(self.factuals)
        wanted = margin + 2.0 * lost
        for _ in range(REPAIRS):
            some = self._of(waiting)
            found, enough = some._reaching(wanted[waiting])
            proven = self.ball.proven_logits(found)
            passed = enough & (proven >= margin)
            rows[waiting[passed]] = found[passed]
            going = enough & ~passed
            waiting = waiting[going]
            if not len(waiting):
                break
            missing = 2.0 * (margin - proven[going])
            wanted[waiting] += np.maximum(missing, LEAST_REPAIR * (1.0 + abs(margin)))
        return rows

    def _of(self, people: Integers) -> NearestRows:
        given = self.factuals[people], self.low[people], self.high[people]
        return NearestRows(self.ball, self.weights, *given)

    def _reaching(self, wanted: Floats) -> tuple[Floats, Booleans]:
        """Return the nearest rows with such a least logit, and for whom there are any."""
        if self.ball.norm == "inf" or self.ball.radius == 0.0:
            return self._by_pieces(wanted)
        return self._by_price(wanted)

    def _by_pieces(self, wanted: Floats) -> tuple[Floats, Booleans]:
        radius = self.ball.radius
        rate_up = self.ball.coefficients + np.where(self.factuals < 0.0, radius, -radius)
        # On the way down everything is as on the way up, seen in a mirror.
        mirror = np.where(rate_up > 0.0, 1.0, -1.0)
        slopes = mirror * self.ball.coefficients
        here = mirror * self.factuals
        end = np.where(mirror > 0.0, self.high, -self.low)
        to_zero = np.maximum(np.minimum(end, 0.0) - here, 0.0)
        beyond = np.maximum(end - np.maximum(here, 0.0), 0.0)
        needed = wanted - self.ball.worst_logits(self.factuals)
        taken = cheapest(
            np.concatenate([to_zero, beyond], axis=1),
            np.concatenate([slopes + radius, slopes - radius], axis=1),
            np.tile(self.weights, 2)[None],
            needed,
        )
        first, second = np.split(taken.amounts, 2, axis=1)
        rows = self.factuals + mirror * (first + second)
        return np.clip(rows, self.low, self.high), taken.enough

    def _by_price(self, wanted: Floats) -> tuple[Floats, Booleans]:
        n = len(self.factuals)
        priced = self.weights > 0.0
        steepest = np.abs(self.ball.coefficients) + self.ball.radius
        highest = float((steepest[priced] / self.weights[priced]).max(initial=0.0))
        cheap, dear = np.zeros(n), np.full(n, highest)
        rows = reaching = self._best(cheap, self.high)
        short = self.factuals
        enough = np.asarray(self.ball.worst_logits(reaching) >= wanted)
        for _ in range(HALVINGS):
            price = 0.5 * (cheap + dear)
            rows = self._best(price, rows)
            reaches = self.ball.worst_logits(rows) >= wanted
            cheap, dear = np.where(reaches, price, cheap), np.where(reaches, dear, price)
            reaching = np.where(reaches[:, None], rows, reaching)
            short = np.where(reaches[:, None], short, rows)
        above, below = (self.ball.worst_logits(rows) for rows in (reaching, short))
        missing, gap = np.maximum(wanted - below, 0.0), above - below
        share = np.minimum(missing, gap) / np.where(gap > 0.0, gap, 1.0)
        found = short + np.where(gap > 0.0, share, 1.0)[:, None] * (reaching - short)
        return np.asarray(found), enough

    def _best(self, price: Floats, guess: Floats) -> Floats:
        """Return the rows with the most of logit minus price times distance."""
        if self.ball.norm == "1":
            return self._of_largest(price)
        return self._of_length(price, self.ball.reach(guess))

    def _of_largest(self, price: Floats) -> Floats:
        """Return them where the reach is the largest number of (row, 1).

        Seen as a function of that number, what is to be least is convex and piecewise linear; its
        corners are 1, the numbers that people have now, and the ends of the ranges.
        """
        costs, slopes = price[:, None] * self.weights, self.ball.coefficients
        goal = np.where(slopes > costs, self.high, self.factuals)
        goal = np.where(-slopes > costs, self.low, goal)
        least = np.maximum(np.maximum(self.low, -self.high).max(axis=1), 1.0)
        ends = np.concatenate([self.factuals, self.low, self.high], axis=1)
        corners = np.column_stack([np.maximum(np.abs(ends), least[:, None]), least])
        corners = np.sort(corners, axis=1)
        # The next corner that is another.
        places = np.arange(corners.shape[1])
        following = np.where(corners[:, 1:] > corners[:, :-1], places[1:], places[-1])
        following = np.minimum.accumulate(following[:, ::-1], axis=1)[:, ::-1]
        each = np.arange(len(goal))

        def within(place: Integers) -> Floats:
            largest = corners[each, place][:, None]
            near: Floats = np.clip(np.clip(goal, -largest, largest), self.low, self.high)
            return near

        def loss(place: Integers) -> Floats:
            rows = within(place)
            far = (costs * np.abs(rows - self.factuals)).sum(axis=1)
            logits = (slopes * rows).sum(axis=1)
            return np.asarray(self.ball.radius * corners[each, place] + far - logits)

        first = np.zeros(len(goal), dtype=np.int64)
        last = np.full(len(goal), places[-1])
        while (first < last).any():
            middle = np.minimum((first + last) // 2, places[-2])
            after = following[each, middle]
            falls = (loss(after) < loss(middle)) & (first < last)
            first, last = np.where(falls, after, first), np.where(falls, last, middle)
        return within(first)

    def _of_length(self, price: Floats, guess: Floats) -> Floats:
        """Return them where the reach is the length of (row, 1), which has to be the one assumed.

        With a length s assumed, a column is best at s / radius times its slope, give or take the
        price, or as near to there as it may be. What a column does as s grows stays the same for a
        while: that gives the next s, and halving is left for where it leads astray.
        """
        costs, slopes = price[:, None] * self.weights, self.ball.coefficients
        least, most = (slopes - costs) / self.ball.radius, (slopes + costs) / self.ball.radius

        def within(size: Floats) -> Floats:
            near = np.clip(self.factuals, size[:, None] * least, size[:, None] * most)
            return np.clip(near, self.low, self.high)

        ends = np.maximum(np.abs(self.low), np.abs(self.high))
        small, large = np.ones(len(price)), self.ball.reach(ends)
        size, going = np.clip(guess, small, large), np.ones(len(price), dtype=np.bool_)
        for _ in range(MOST_STEPS):
            rows = within(size)
            over = self.ball.reach(rows) > size
            small, large = np.where(over, size, small), np.where(over, large, size)
            moves = (rows == size[:, None] * least) | (rows == size[:, None] * most)
            fixed = np.where(moves, 0.0, rows * rows).sum(axis=1) + 1.0
            share = np.where(moves, rows * rows, 0.0).sum(axis=1) / (size * size)
            with np.errstate(divide="ignore", invalid="ignore"):
                following = np.sqrt(fixed / (1.0 - share))
            arrived = np.abs(following - size) <= SAME_SIZE * size
            inside = (following >= small) & (following <= large)
            following = np.where(inside, following, 0.5 * (small + large))
            size = np.where(going & ~arrived, following, size)
            going &= ~arrived & (large - small > SAME_SIZE * size)
            if not going.any():
                break
        return within(size)
