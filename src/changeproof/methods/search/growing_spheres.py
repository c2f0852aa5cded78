"""Growing spheres: the closest accepted point, shell after shell, for a whole batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from changeproof.certificates.reach import adverse_radii
from changeproof.datasets.task import Floats, Integers
from changeproof.networks.model import Booleans, EstimatingModel, Model
from changeproof.networks.network import Network
from changeproof.randomness import stream

ROWS_AT_ONCE = 8_192
ESTIMATES_AT_ONCE = 262_144
KEPT_BYTES = 256 * 2**20

Accept = Callable[[Floats], Booleans]


class Spheres(NamedTuple):
    """Where the search ended: points (NaN where nothing was accepted) and shells looked at."""

    points: Floats
    shells: Integers


@dataclass(frozen=True, kw_only=True)
class GrowingSpheres:
    """How shells grow.

    Shell k holds radii from k to k + 1 steps. Its points are normal directions scaled, in the
    stated norm, to a radius drawn uniformly in the shell. The draws of a shell have one address
    and serve everybody in the batch, so an answer does not depend on who else asks.

    Parameters
    ----------
    samples
        Points per shell.
    norm
        1 or 2.
    step, max_shells
        Width of a shell and how many there are.
    low, high
        Points are clipped to this range before they are judged and measured.
    """

    samples: int
    norm: Literal[1, 2]
    step: float
    max_shells: int
    low: Floats | None = None
    high: Floats | None = None
    _kept: dict[tuple[str | int, ...], Floats] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def search(
        self, centres: Floats, accept: Accept, *address: str | int, model: Model | None = None
    ) -> Spheres:
        """Return for every centre the closest accepted point of the first shell that has one.

        Points that are adverse under `model`, if one is given, must not be accepted: they are
        then told by an estimate and never looked at.
        """
        points = np.full(centres.shape, np.nan)
        shells = np.full(len(centres), self.max_shells, dtype=np.int64)
        searching = np.arange(len(centres))
        estimating = model if isinstance(model, EstimatingModel) else None
        first_shells = self._first_shells(centres, model)
        for shell in range(self.max_shells):
            if not len(searching):
                break
            active = searching[first_shells[searching] <= shell]
            if not len(active):
                continue
            moves = self._moves(shell, centres.shape[1], *address)
            group = max(1, (ESTIMATES_AT_ONCE if estimating else ROWS_AT_ONCE) // self.samples)
            for first in range(0, len(active), group):
                chosen = active[first : first + group]
                found, hit = self._closest(centres[chosen], moves, accept, estimating)
                points[chosen[hit]] = found[hit]
                shells[chosen[hit]] = shell + 1
            searching = searching[np.isnan(points[searching, 0])]
        return Spheres(points, shells)

    def _first_shells(self, centres: Floats, model: Model | None) -> Integers:
        """Return the first shell of every centre in which anything can be favourable."""
        if not isinstance(model, Network):
            return np.zeros(len(centres), dtype=np.int64)
        radii = adverse_radii(model, centres, self.norm, self.step * self.max_shells)
        # A point that is clipped may be as much farther away as its centre is out of range.
        radii -= self._lengths(np.clip(centres, self.low, self.high) - centres)
        return np.maximum(0, np.floor(radii / self.step).astype(np.int64))

    def _moves(self, shell: int, n_features: int, *address: str | int) -> Floats:
        """Return the draws of a shell; they are kept for the next request."""
        key = (shell, n_features, *address)
        if key in self._kept:
            return self._kept[key]
        generator = stream(*address, "shell", shell)
        directions = generator.standard_normal((self.samples, n_features))
        radii = self.step * (shell + generator.random(self.samples))
        lengths = self._lengths(directions)
        moves = np.asarray(directions * (radii / lengths)[:, None])
        if len(self._kept) * moves.nbytes < KEPT_BYTES:
            self._kept[key] = moves
        return moves

    def _closest(
        self, centres: Floats, moves: Floats, accept: Accept, model: EstimatingModel | None
    ) -> tuple[Floats, Booleans]:
        possible = np.ones((len(centres), len(moves)), dtype=np.bool_)
        if model is not None:
            estimates, error = model.estimate_logits(centres, moves, self.low, self.high)
            possible = estimates >= -error
            if not possible.any():
                return np.full(centres.shape, np.nan), np.zeros(len(centres), dtype=np.bool_)
        who, which = np.nonzero(possible)
        candidates = centres[who] + moves[which]
        if self.low is not None or self.high is not None:
            np.clip(candidates, self.low, self.high, out=candidates)
        accepted = accept(candidates)
        candidates, who = candidates[accepted], who[accepted]
        # Sorted by person, then by length; ties by the order of the draws.
        order = np.lexsort((self._lengths(candidates - centres[who]), who))
        hit, first = np.unique(who[order], return_index=True)
        points: Floats = np.full(centres.shape, np.nan)
        points[hit] = candidates[order[first]]
        return points, np.isin(np.arange(len(centres)), hit)

    def _lengths(self, vectors: Floats) -> Floats:
        if self.norm == 1:
            return np.asarray(np.abs(vectors).sum(axis=-1))
        return np.asarray(np.sqrt((vectors**2).sum(axis=-1)))
