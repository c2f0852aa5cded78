"""Models that judge advice: how many refuse it, and how many more of their kind would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta

from changeproof.arithmetic.functions import logarithms, normal_tails
from changeproof.methods.quorum.pool import Member
from changeproof.model import Floats, Integers, Model, Stack
from changeproof.models.learner import stacked
from changeproof.networks.stack import NetworkStack

# Probabilities are taken as no nearer to 0 and 1 than this, and spreads as no less.
TINY = 1e-12


def log_odds(stack: Stack, rows: Floats) -> Floats:
    """Return what models think of rows [models, rows], in log odds."""
    if isinstance(stack, NetworkStack):
        return stack.logits(rows)
    given = np.clip(stack.probabilities(rows), TINY, 1.0 - TINY)
    return logarithms(given) - logarithms(1.0 - given)


def usual_log_odds(models: Sequence[Model], rows: Floats) -> Floats:
    """Return how sure of itself each model is: the median of its log odds, whatever their sign.

    The same change of a model moves the log odds of one that is surer of itself by more. In units
    of its own, models are alike.
    """
    usual: Floats = np.median(np.abs(log_odds(stacked(models), rows)), axis=1)
    return np.maximum(usual, TINY)


@dataclass(frozen=True, eq=False)
class Judges:
    """Models that are asked about advice and had no part in searching it.

    They do have a part in the margin that it is searched with: that is chosen by what they refuse.

    Parameters
    ----------
    stack
        The models.
    units
        What a margin of 1 is for each of them, in log odds.
    groups
        Their places, one array for every kind and strength of change.
    weights
        What each group counts; the kinds count the same, and so do the strengths of a kind.
    """

    stack: Stack
    units: Floats
    groups: tuple[Integers, ...]
    weights: Floats

    @classmethod
    def of(cls, members: Sequence[Member], models: Sequence[Model], rows: Floats) -> Judges:
        """Let models judge who became what they are as members say; rows are for training."""
        places: dict[str, dict[float, list[int]]] = {}
        for place, member in enumerate(members):
            places.setdefault(member.kind, {}).setdefault(member.strength, []).append(place)
        groups = [np.array(found) for kind in places.values() for found in kind.values()]
        weights = [1.0 / (len(places) * len(kind)) for kind in places.values() for _ in kind]
        units = usual_log_odds(models, rows)
        return cls(stacked(models), units, tuple(groups), np.array(weights))

    def accepted(self, rows: Floats) -> Integers:
        """Return how many of them accept each row."""
        return np.asarray(self.stack.favourable(rows).sum(axis=0))

    def refusals(self, rows: Floats) -> tuple[Floats, Floats]:
        """Return the share that refuses each row, and an estimate of the share that such models do.

        The second is what a normal distribution with a group's mean and deviation has below
        nought: it counts how narrowly models accept, so that few of them tell of rare failures, as
        far as their log odds are normally distributed.
        """
        refused, expected = np.zeros((2, len(rows)))
        sure = log_odds(self.stack, rows) / self.units[:, None]
        against = ~self.stack.favourable(rows)
        for group, weight in zip(self.groups, self.weights, strict=True):
            middle, spread = sure[group].mean(axis=0), sure[group].std(axis=0)
            refused += weight * against[group].mean(axis=0)
            expected += weight * normal_tails(middle / (spread + TINY))
        return refused, expected


def lower_bounds(accepted: Integers, asked: int, confidence: float) -> Floats:
    """Return Clopper-Pearson lower bounds on the share of models that accepts.

    They are exact if the models that were asked are drawn anew for each answer, and too high if
    the answer was chosen to suit these models.
    """
    some = np.maximum(accepted, 1)
    bounds = beta.ppf(1.0 - confidence, some, asked - some + 1)
    return np.where(accepted > 0, bounds, 0.0)
