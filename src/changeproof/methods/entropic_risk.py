"""Entropic risk (Noorani et al.): the nearest point with a low risk over an ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field, PositiveFloat, PositiveInt

from changeproof.arithmetic.functions import exponentials, log, logarithms, sigmoids
from changeproof.feasible.kernels import lengths
from changeproof.methods.betarce import ensemble_recipes
from changeproof.methods.method import Candidates, Columns, Cost, Factuals, Method, People, WarmUp
from changeproof.methods.shared.first_counterfactuals import MARGIN, nearest_points
from changeproof.model import Floats, Model
from changeproof.models.learner import stacked
from changeproof.networks.stack import NetworkStack

# Nothing is taken as surer than this.
TINY = 1e-12


@dataclass(kw_only=True, eq=False, repr=False)
class EntropicRisk(Method):
    """Send people to the nearest point whose entropic risk over an ensemble is low enough.

    A model's loss at a point is what its probability lacks to 1. The risk of a point is the
    logarithm of the mean, over the models, of the exponential of `theta` times the loss, divided
    by `theta`. With a small `theta` that is the mean loss, with a large one the largest. At a
    threshold of a half, every model of the ensemble then accepts. A row is good enough if its risk
    is at most the threshold and the base model accepts it.

    The paper explains an ensemble that decides together. Here the ensemble stands for what the base
    model may become: bootstrap models with the base initialisation, the same as BetaRCE's. The
    paper leaves open how the least cost under the threshold is found; public code takes gradient
    steps on the risk until it is below the threshold, with no regard to cost. Here networks are
    searched by linear programmes on the log odds of 1 minus the risk, and other models by the
    search among feasible rows, both for the least distance.

    Parameters
    ----------
    theta
        How much the worst models count. The default is that of public code; the paper varies it.
    threshold
        The largest risk (the paper's tau).
    ensemble_size
        Bootstrap models with the base initialisation. They are the method's own: their sampling
        seeds are not those of the evaluation.
    """

    name = "entropic-risk"
    label = "Entropic risk"
    cost = Cost(per_person=0.002, feasible=0.01, own_model=0.2, models=32)
    warm_up = WarmUp(seconds=3, settings={"ensemble_size": 2})
    summary = "the nearest point whose entropic risk over an ensemble of bootstrap models is low"
    source = (
        "Noorani, Dissanayake, Hamman and Dutta, Counterfactual Explanations for Model Ensembles "
        "Using Entropic Risk Measures, AAMAS 2025 (https://arxiv.org/abs/2503.07934)"
    )
    trains = True

    theta: PositiveFloat = 1.0
    threshold: Annotated[float, Field(gt=0, lt=1)] = 0.5
    ensemble_size: PositiveInt = 32

    def _prepare(self) -> None:
        context = self.context
        recipes = ensemble_recipes(context.task, context.base_seed, self.ensemble_size)
        trained = context.learner.train(recipes, context.task)
        self._members = [trained[place] for place in range(len(trained))]
        self._models = stacked((context.model, *self._members))

    def _judged(self, rows: Floats) -> tuple[Floats, Floats]:
        """Return the base model's probabilities, and the risks of rows."""
        likely = self._models.probabilities(rows)
        return likely[0], risks_and_weights(likely[1:], self.theta)[0]

    def risks(self, rows: Floats) -> Floats:
        return self._judged(rows)[1]

    def _search(self, factuals: Factuals) -> Candidates:
        if isinstance(self._models, NetworkStack):
            rows = nearest_points(self._left, self.context, factuals.rows)
        else:
            rows = self._nearest_rows(factuals.rows)
            if self.context.actions is None:
                actions = self.context.task.actions
                proposals = self._propose(actions, factuals, rows, {})
                rows = self._nearest_accepted(actions, proposals)
        there = np.isfinite(rows).all(axis=1)
        diagnostics = {name: np.full(len(rows), np.nan) for name in ("risk", "ensemble_accepts")}
        for name, values in self._diagnosed(rows[there]).items():
            diagnostics[name][there] = values
        reason = f"no point was found with a risk of at most {self.threshold:g}"
        return Candidates(rows, [reason] * len(rows), diagnostics)

    def _left(self, rows: Floats) -> tuple[Floats, Floats]:
        """Return what must not be below nought, of networks, and its slopes [rows, 2, features].

        That is the base network's logit, and the log odds of 1 minus the risk beyond those of 1
        minus the threshold.
        """
        assert isinstance(self._models, NetworkStack)
        logits, gradients = self._models.logits_and_gradients(rows)
        likely = sigmoids(logits[1:])
        risks, weights = risks_and_weights(likely, self.theta)
        safe = np.clip(1.0 - risks, TINY, 1.0 - TINY)
        odds = logarithms(safe) - logarithms(1.0 - safe)
        values, slopes = np.empty((len(rows), 2)), np.zeros((len(rows), 2, rows.shape[1]))
        values[:, 0], slopes[:, 0] = logits[0] - MARGIN, gradients[:, 0]
        values[:, 1] = odds - log(1.0 - self.threshold) + log(self.threshold) - MARGIN
        steep = weights * likely * (1.0 - likely) / (safe * (1.0 - safe))
        # One after the other, so that the order of the sum does not depend on shapes.
        for number, each in enumerate(steep):
            slopes[:, 1] += each[:, None] * gradients[:, 1 + number]
        return values, slopes

    def _nearest_rows(self, factuals: Floats) -> Floats:
        """Return the nearest training rows that will do; NaN where there are none."""
        rows = self.context.task.rows("train")
        _, risks = self._judged(rows)
        rows = rows[self.context.model.favourable(rows) & (risks <= self.threshold)]
        if not len(rows):
            return np.full_like(factuals, np.nan)
        several = np.broadcast_to(rows, (len(factuals), *rows.shape))
        far = lengths(factuals, several, self.context.task.distance_weights)
        return np.asarray(rows[far.argmin(axis=1)])

    def _score(self, rows: Floats, people: People) -> Floats:
        base, risks = self._judged(rows)
        return np.minimum(base - 0.5, self.threshold - risks)

    def _level(self, people: People) -> Floats:
        return np.zeros(len(people.places))

    def _deciding_models(self) -> Sequence[Model]:
        return [self.context.model, *self._members]

    def _measure(self, rows: Floats, people: People) -> Columns:
        return self._diagnosed(rows)

    def _diagnosed(self, rows: Floats) -> dict[str, Floats]:
        accepting = self._models.favourable(rows)[1:]
        return {"risk": self.risks(rows), "ensemble_accepts": accepting.mean(axis=0)}


def risks_and_weights(likely: Floats, theta: float) -> tuple[Floats, Floats]:
    """Return entropic risks of probabilities [models, rows], and how much each loss counts."""
    losses = 1.0 - likely
    worst = losses.max(axis=0)
    parts = exponentials(theta * (losses - worst))
    total = np.zeros(likely.shape[1])
    for part in parts:
        total += part
    return worst + logarithms(total / len(parts)) / theta, parts / total
