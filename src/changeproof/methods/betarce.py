"""BetaRCE (Stepka et al.): agreed on by an ensemble of models that may come."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import beta

from changeproof.datasets.actions import Actions
from changeproof.datasets.few_columns import fewer
from changeproof.datasets.task import Floats, Task
from changeproof.methods.method import BUDGET, Candidates, Factuals, Method
from changeproof.methods.profile import Cost, Promise, WarmUp
from changeproof.methods.search.as_near import as_near
from changeproof.methods.search.growing_spheres import GrowingSpheres
from changeproof.methods.search.realisable_spheres import search_spheres
from changeproof.methods.search.undoing import shortened
from changeproof.model import Booleans, Integers
from changeproof.models.recipes import bootstrap_recipe
from changeproof.networks.training import TrainingRecipe
from changeproof.plugins import PAPER

ENSEMBLE_OFFSET = 100_000
# How many members have been asked about a point before it is given up.
FEW_MEMBERS = (2, 8)
# Of training rows put back to what may change, for whom no row has enough votes.
ROWS_LOOKED_AT = 100


def ensemble_recipes(task: Task, base_seed: int, size: int) -> list[TrainingRecipe]:
    """Describe bootstrap networks with the base initialisation and sampling seeds of their own."""
    first = base_seed + ENSEMBLE_OFFSET
    return [bootstrap_recipe(task, base_seed, seed) for seed in range(first, first + size)]


class BetaRCE(Method):
    """Growing spheres to a counterfactual, then from it to one that the ensemble agrees on.

    The lower bound on the share of admissible models that accept a point is a quantile of the
    Beta posterior given the votes of the ensemble, with Jeffreys' prior. Its confidence is that of
    a point chosen in advance. The search chooses the point by the same votes, so that more points
    than 1 - `confidence` are below their bound (`benchmarks/chosen_points.py` simulates how many).
    Where not everything may
    change, both searches are among rows that the person may be told, and nobody is sent farther
    than by the published answer, put on what may change, where the model accepts that one; see
    `farther`.

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
    farther
        Whether people may be sent farther than that, where the ensemble's agreement needs it.
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

    def __init__(
        self,
        *,
        ensemble_size: int = 32,
        robustness: float = 0.9,
        confidence: float = 0.95,
        samples: int = 100,
        step: float = 0.1,
        first_shells: int = 200,
        second_shells: int = 100,
        farther: bool = False,
    ) -> None:
        self.ensemble_size = ensemble_size
        self.robustness = robustness
        self.confidence = confidence
        self.samples = samples
        self.step = step
        self.first_shells = first_shells
        self.second_shells = second_shells
        self.farther = farther

    def _prepare(self) -> None:
        task = self.context.task
        recipes = ensemble_recipes(task, self.context.base_seed, self.ensemble_size)
        self._ensemble = self.context.learner.train(recipes, task)
        ends = [0, *(size for size in FEW_MEMBERS if size < self.ensemble_size), self.ensemble_size]
        self._parts = [self._ensemble.part(start, stop) for start, stop in pairwise(ends)]
        self._bounds = self.votes_bounds(self.ensemble_size, self.confidence)
        self._spheres = [
            GrowingSpheres(samples=self.samples, norm=2, step=self.step, max_shells=shells)
            for shells in (self.first_shells, self.second_shells)
        ]
        # As published, points have all columns.
        fitting = fewer(self.samples, task.n_features)
        self._published = self._spheres
        if fitting < self.samples:
            self._published = [replace(spheres, samples=fitting) for spheres in self._spheres]

    @staticmethod
    def votes_bounds(ensemble_size: int, confidence: float) -> Floats:
        """Return the lower bound for every number of favourable votes, from none to all."""
        votes = np.arange(ensemble_size + 1)
        return np.asarray(beta.ppf(1.0 - confidence, 0.5 + votes, 0.5 + ensemble_size - votes))

    def bounds(self, points: Floats) -> Floats:
        """Return the lower bound on the share of admissible models that accept each point."""
        return np.asarray(self._bounds[self._ensemble.favourable(points).sum(axis=0)])

    def _robust(self, points: Floats) -> Booleans:
        """Ask few members first, and the others where the votes that are needed can still come."""
        needed = int((self._bounds <= self.robustness).sum())
        robust = self.context.model.favourable(points)
        asked = np.flatnonzero(robust)
        votes, to_come = np.zeros(len(asked), dtype=np.int64), self.ensemble_size
        for members in self._parts:
            if not len(asked):
                break
            votes += members.favourable(points[asked]).sum(axis=0)
            to_come -= len(members)
            possible = votes + to_come >= needed
            robust[asked[~possible]] = False
            asked, votes = asked[possible], votes[possible]
        return robust

    def _search(self, factuals: Factuals) -> Candidates:
        n = len(factuals)
        if self._bounds[-1] <= self.robustness:
            reason = (
                f"an ensemble of {self.ensemble_size} cannot show a robustness above "
                f"{self.robustness}: at most {self._bounds[-1]:.3f}"
            )
            return Candidates(np.full_like(factuals.rows, np.nan), reasons=[reason] * n)
        actions = self.context.actions
        rows, diagnostics = self._searched(factuals, actions)
        if actions is not None and not self.farther:
            task, model, published = (
                self.context.task,
                self.context.model,
                self._searched(factuals, None),
            )
            rows = as_near(actions, task, model, factuals.rows, rows, published[0])
        found = np.asarray(np.isfinite(rows).all(axis=1))
        bounds = np.full(n, np.nan)
        bounds[found] = self.bounds(rows[found])
        diagnostics["bound"] = bounds
        if actions is not None:
            diagnostics["certified"] = bounds > self.robustness
        return Candidates(rows, np.where(found, "", BUDGET).tolist(), diagnostics)

    def _searched(
        self, factuals: Factuals, actions: Actions | None
    ) -> tuple[Floats, dict[str, npt.NDArray[Any]]]:
        address = (self.context.task.name, self.context.base_seed)
        model = self.context.model
        own, favourable = factuals.rows, model.favourable
        first_spheres, second_spheres = self._published if actions is None else self._spheres
        first = search_spheres(
            first_spheres, actions, own, own, favourable, *address, "betarce first", model=model
        )
        rows = first.points.copy()
        second_shells = np.zeros(len(rows), dtype=np.int64)
        waiting = np.flatnonzero(np.isfinite(rows).all(axis=1))
        waiting = waiting[~self._robust(rows[waiting])]
        own, centres, robust = own[waiting], rows[waiting], self._robust
        second = search_spheres(
            second_spheres, actions, own, centres, robust, *address, "betarce second", model=model
        )
        rows[waiting], second_shells[waiting] = second.points, second.shells
        if actions is not None:
            for i in waiting[np.isnan(second.points).any(axis=1)]:
                start = first.points[[i]]
                rows[i] = self._most_agreed(actions, factuals.rows[[i]], start)
        return rows, {"first_shells": first.shells, "second_shells": second_shells}

    def _most_agreed(self, actions: Actions, factual: Floats, start: Floats) -> Floats:
        """Return the row that most members accept, for one person who has none with enough votes.

        Of training rows, those that the base model calls favourable most surely are looked at.
        """
        model = self.context.model
        told = actions.project(factual, self.context.task.rows("train")[None])[0]
        likely = np.argsort(-model.probabilities(told), kind="stable")
        told = np.concatenate([start, told[likely[:ROWS_LOOKED_AT]]])
        votes = self._ensemble.favourable(told).sum(axis=0)
        votes[~model.favourable(told)] = -1
        most = votes.max()

        def as_agreed(rows: Floats, _: Integers) -> Booleans:
            agreed = self._ensemble.favourable(rows).sum(axis=0) >= most
            return np.asarray(agreed & model.favourable(rows))

        return np.asarray(shortened(actions, factual, told[[votes.argmax()]], as_agreed)[0])
