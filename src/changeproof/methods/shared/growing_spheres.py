"""Growing spheres: the closest accepted point, shell after shell, for a whole batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from changeproof.feasible.wide_tables import affordable
from changeproof.methods.shared.estimates import Estimates, Moves, tiled_moves
from changeproof.model import Booleans, Floats, Integers, Model
from changeproof.networks.network import Network
from changeproof.randomness import stream

ROWS_AT_ONCE = 8_192
ESTIMATES_AT_ONCE = 262_144
KEPT_BYTES = 256 * 2**20
# Shells that are drawn, and gone through without a word from Python, at once.
SHELLS_AT_ONCE = 8

Accept = Callable[[Floats], Booleans]
Address = tuple[str | int, ...]


class Spheres(NamedTuple):
    """Where a search ended: points (NaN where nothing was accepted) and shells looked at."""

    points: Floats
    shells: Integers


class Shells(NamedTuple):
    """The draws of some shells [shells, samples, features], also as estimates want them."""

    moves: Floats
    tiled: Moves


@dataclass(frozen=True)
class GrowingSpheres:
    """How shells grow.

    Shell k holds radii from k to k + 1 steps. Its points are normal directions scaled, in the
    stated norm, to a radius drawn uniformly in the shell, fewer of them on wide tables. They are
    clipped to a range before they are judged and measured. The draws of a shell have one address
    and serve everybody in the batch, so an answer does not depend on who else asks.
    """

    samples: int
    step: float
    max_shells: int
    norm: Literal[1, 2]
    low: Floats | float = -np.inf
    high: Floats | float = np.inf
    _kept: dict[Address, Shells] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def search(
        self, centres: Floats, accept: Accept, *address: str | int, model: Model | None = None
    ) -> Spheres:
        """Return for every centre the closest accepted point of the first shell that has one.

        Points that are adverse under `model`, if one is given, must not be accepted: where it is
        a network, an estimate then rules them out before they are looked at.
        """
        points = np.full(centres.shape, np.nan)
        # The next shell to look at, and at last the number of shells looked at.
        shells = np.zeros(len(centres), dtype=np.int64)
        estimates = None
        if isinstance(model, Network):
            estimates = Estimates(model, self.low, self.high)
        searching = np.flatnonzero(shells < self.max_shells)
        samples = affordable(self.samples, centres.shape[1])
        at_once = max(1, (ESTIMATES_AT_ONCE if estimates else ROWS_AT_ONCE) // samples)
        while len(searching):
            # Centres are at different shells; those at the nearest go first.
            some = shells[searching].min() // SHELLS_AT_ONCE
            active = searching[shells[searching] // SHELLS_AT_ONCE == some][:at_once]
            first = some * SHELLS_AT_ONCE
            drawn = self._draws(first, centres.shape[1], *address)
            possible = np.ones((len(active), samples), dtype=np.bool_)
            group = shells[active] - first
            if estimates is not None:
                group, possible = estimates.first_possible(centres[active], drawn.tiled, group)
            there = group < len(drawn.moves)
            found, hit = self._closest(
                centres[active[there]], drawn.moves, group[there], possible[there], accept
            )
            shells[active] = np.minimum(first + group + 1, first + len(drawn.moves))
            ended = active[there][hit]
            points[ended] = found[hit]
            left = np.isnan(points[searching, 0]) & (shells[searching] < self.max_shells)
            searching = searching[left]
        return Spheres(points, np.minimum(shells, self.max_shells))

    def _draws(self, first: int, n_features: int, *address: str | int) -> Shells:
        """Return the draws of a shell and of those that follow; they are kept for later."""
        key = (int(first), n_features, *address)
        if key not in self._kept:
            last = min(first + SHELLS_AT_ONCE, self.max_shells)
            moves = [self._moves(shell, n_features, *address) for shell in range(first, last)]
            shells = Shells(np.array(moves), tiled_moves(moves))
            most = KEPT_BYTES // (2 * shells.moves.nbytes)
            while self._kept and len(self._kept) >= most:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = shells
        return self._kept[key]

    def _moves(self, shell: int, n_features: int, *address: str | int) -> Floats:
        generator = stream(*address, "shell", shell)
        samples = affordable(self.samples, n_features)
        directions = generator.standard_normal((samples, n_features))
        radii = self.step * (shell + generator.random(samples))
        return np.asarray(directions * (radii / self.lengths(directions))[:, None])

    def _closest(
        self, centres: Floats, moves: Floats, shells: Integers, possible: Booleans, accept: Accept
    ) -> tuple[Floats, Booleans]:
        """Return each centre's closest accepted point of its shell, and who has one."""
        who, which = np.nonzero(possible)
        candidates = centres[who] + moves[shells[who], which]
        np.clip(candidates, self.low, self.high, out=candidates)
        accepted = accept(candidates)
        candidates, who = candidates[accepted], who[accepted]
        # Sorted by centre, then by length; ties by the order of the draws.
        order = np.lexsort((self.lengths(candidates - centres[who]), who))
        hit, first = np.unique(who[order], return_index=True)
        points: Floats = np.full(centres.shape, np.nan)
        points[hit] = candidates[order[first]]
        return points, np.isin(np.arange(len(centres)), hit)

    def lengths(self, vectors: Floats) -> Floats:
        if self.norm == 1:
            return np.asarray(np.abs(vectors).sum(axis=-1))
        return np.asarray(np.sqrt((vectors**2).sum(axis=-1)))
