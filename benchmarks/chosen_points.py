"""How often is BetaRCE's point below the bound that its own votes give it?

A model of that search in which the truth is known. Possible models are linear, with coefficients
around those of the base model; so the share of them that accepts a point is a normal probability.
An ensemble is drawn, and BetaRCE's own two searches (growing spheres, its default settings) look
for a point that the base model and enough of the ensemble accept. The votes of the same ensemble
give the bound. For comparison, the votes of a second ensemble, which did not choose the point, give
another one.

    python -m benchmarks.chosen_points
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from changeproof.methods.betarce import BetaRCE
from changeproof.methods.shared.growing_spheres import GrowingSpheres
from changeproof.model import Booleans, Floats

FEATURES, PEOPLE, SPREAD = 10, 400, 0.2


class Shares(NamedTuple):
    """Of points that were chosen, the shares below the bound of either ensemble."""

    points: int
    own_votes: float
    fresh_votes: float


def simulated(people: int = PEOPLE, spread: float = SPREAD, features: int = FEATURES) -> Shares:
    """Search for people, each with an ensemble of their own.

    Parameters
    ----------
    people
        How many searches.
    spread
        Deviation of every coefficient of a possible model; those of the base model have length 1.
    features
        How many there are.
    """
    method, generator = BetaRCE(), np.random.default_rng(2026)
    bounds = method.votes_bounds(method.ensemble_size, method.confidence)
    first, second = (
        GrowingSpheres(samples=method.samples, norm=2, step=method.step, max_shells=shells)
        for shells in (method.first_shells, method.second_shells)
    )
    base = np.ones(features) / np.sqrt(features)
    below = []
    for person in range(people):
        factual = generator.normal(size=(1, features))
        factual -= (1.0 + factual @ base)[:, None] * base
        own, fresh = (
            base + spread * generator.normal(size=(method.ensemble_size, features))
            for _ in range(2)
        )

        def favourable(rows: Floats) -> Booleans:
            return np.asarray(rows @ base >= 0.0)

        def agreed(rows: Floats, own: Floats = own) -> Booleans:
            votes = (rows @ own.T >= 0.0).sum(axis=1)
            return favourable(rows) & (bounds[votes] > method.robustness)

        start = first.search(factual, favourable, "chosen points", person, "first").points
        point = start
        if not agreed(start)[0]:
            point = second.search(start, agreed, "chosen points", person, "second").points
        if np.isnan(point).any():
            continue
        true = norm.cdf((point @ base)[0] / (spread * np.sqrt((point**2).sum())))
        below.append([true < bounds[(each @ point[0] >= 0.0).sum()] for each in (own, fresh)])
    shares = 100.0 * np.mean(below, axis=0)
    return Shares(len(below), float(shares[0]), float(shares[1]))


if __name__ == "__main__":
    for spread in (0.1, 0.2, 0.3):
        points, chosen, fresh = simulated(spread=spread)
        print(
            f"spread {spread:g}: of {points} points {chosen:.1f} % are below the bound of the "
            f"votes that chose them, {fresh:.1f} % below that of fresh votes"
        )
