"""BetaRCE (Stepka et al.): agreed on by an ensemble of models that may come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from changeproof.arithmetic.votes import share_bound
from changeproof.datasets.task import Task
from changeproof.methods.answers import BUDGET
from changeproof.methods.method import (
    Candidates,
    Columns,
    Cost,
    Factuals,
    Method,
    People,
    Promise,
    WarmUp,
)
from changeproof.methods.shared.ensembles import Ensemble
from changeproof.methods.shared.growing_spheres import GrowingSpheres
from changeproof.model import Booleans, Floats, Model
from changeproof.models.recipes import bootstrap_recipe
from changeproof.networks.training import TrainingRecipe
from changeproof.plugins import PAPER

ENSEMBLE_OFFSET = 100_000


def ensemble_recipes(task: Task, base_seed: int, size: int) -> list[TrainingRecipe]:
    """Describe bootstrap networks with the base initialisation and sampling seeds of their own."""
    first = base_seed + ENSEMBLE_OFFSET
    return [bootstrap_recipe(task, base_seed, seed) for seed in range(first, first + size)]


@dataclass(kw_only=True, eq=False, repr=False)
class BetaRCE(Method):
    """Growing spheres to a counterfactual, then from it to one that the ensemble agrees on.

    The lower bound on the share of admissible models that accept a point is a quantile of the
    Beta posterior given the votes of the ensemble, with Jeffreys' prior. Its confidence is that of
    a point chosen in advance. The search chooses the point by the same votes, so that more points
    than 1 - `confidence` are below their bound (`benchmarks/chosen_points.py` simulates how many).
    A row is good enough if its bound is.

    Parameters
    ----------
    ensemble_size
        Bootstrap models with the base initialisation. They are the method's own: their sampling
        seeds are not those of the evaluation.
    robustness, confidence
        The bound must exceed this robustness. For a point chosen in advance it would hold with
        this confidence.
    samples, step
        Growing spheres of both searches, in the Euclidean norm and without clipping.
    first_shells, second_shells
        The most shells of the two searches.
    """

    name = "betarce"
    label = "BetaRCE"
    cost = Cost(feasible=0.02, own_model=0.15, models=32)
    warm_up = WarmUp(seconds=3)
    promise = Promise(
        "holds for at least {level:g} % of networks like the {ensemble_size} bootstrap networks "
        "that the method trained, with {sure:g} % confidence. That is the confidence for a point "
        "chosen in advance. Here the votes that chose the point also give its bound, so the share "
        "of points below their bound is higher than {unsure:g} %",
        "bootstrap",
        always=True,
    )
    summary = "the closest point that an ensemble of bootstrap models agrees on"
    source = f"Stepka et al. 2025 (https://arxiv.org/abs/2408.04842), as in {PAPER}"
    trains = True

    ensemble_size: int = 32
    robustness: float = 0.9
    confidence: float = 0.95
    samples: int = 100
    step: float = 0.1
    first_shells: int = 200
    second_shells: int = 100

    def _prepare(self) -> None:
        task = self.context.task
        recipes = ensemble_recipes(task, self.context.base_seed, self.ensemble_size)
        self._ensemble = Ensemble(self.context.learner.train(recipes, task))
        self._bounds = self.votes_bounds(self.ensemble_size, self.confidence)
        self._spheres = [
            GrowingSpheres(self.samples, self.step, shells, norm=2)
            for shells in (self.first_shells, self.second_shells)
        ]

    @staticmethod
    def votes_bounds(ensemble_size: int, confidence: float) -> Floats:
        """Return the lower bound for every number of favourable votes, from none to all."""
        votes = range(ensemble_size + 1)
        return np.array([share_bound(confidence, each, ensemble_size) for each in votes])

    def bounds(self, points: Floats) -> Floats:
        """Return the lower bound on the share of admissible models that accept each point."""
        return np.asarray(self._bounds[self._ensemble.models.favourable(points).sum(axis=0)])

    def _robust(self, points: Floats) -> Booleans:
        """Return which points the base model and enough of the ensemble accept."""
        needed = int((self._bounds <= self.robustness).sum())
        robust = self.context.model.favourable(points)
        robust[robust] = self._ensemble.accepts(points[robust], self.ensemble_size - needed)
        return robust

    def _search(self, factuals: Factuals) -> Candidates:
        n = len(factuals)
        if self._bounds[-1] <= self.robustness:
            reason = (
                f"an ensemble of {self.ensemble_size} cannot show a robustness above "
                f"{self.robustness}: at most {self._bounds[-1]:.3f}"
            )
            return Candidates(np.full_like(factuals.rows, np.nan), reasons=[reason] * n)
        address, model = (self.context.task.name, self.context.base_seed), self.context.model
        first_spheres, second_spheres = self._spheres
        first = first_spheres.search(
            factuals.rows, model.favourable, *address, "betarce first", model=model
        )
        rows, second_shells = first.points.copy(), np.zeros(n, dtype=np.int64)
        waiting = np.flatnonzero(np.isfinite(rows).all(axis=1))
        waiting = waiting[~self._robust(rows[waiting])]
        rows[waiting], second_shells[waiting] = second_spheres.search(
            rows[waiting], self._robust, *address, "betarce second", model=model
        )
        found = np.asarray(np.isfinite(rows).all(axis=1))
        bounds = np.full(n, np.nan)
        bounds[found] = self.bounds(rows[found])
        return Candidates(
            rows,
            np.where(found, "", BUDGET).tolist(),
            {"first_shells": first.shells, "second_shells": second_shells, "bound": bounds},
        )

    def _accepts(self, rows: Floats, people: People) -> Booleans:
        return self._robust(rows)

    def _deciding_models(self) -> Sequence[Model]:
        ensemble = self._ensemble.models
        return [self.context.model, *(ensemble[place] for place in range(len(ensemble)))]

    def _measure(self, rows: Floats, people: People) -> Columns:
        bounds = self.bounds(rows)
        return {"bound": bounds, "certified": bounds > self.robustness}
