"""Gradient descent on prediction loss plus distance (Wachter, Mittelstadt and Russell)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from changeproof.arithmetic.functions import log, sigmoids
from changeproof.datasets.actions import Actions
from changeproof.methods.method import BUDGET, Candidates, Factuals, Method
from changeproof.methods.profile import Cost
from changeproof.methods.realising import realised
from changeproof.methods.search.few_features import FewFeatures, logits_or_probabilities
from changeproof.methods.search.repair import Goal
from changeproof.methods.search.shortest import EXCHANGES, shortest
from changeproof.methods.search.straight_through import walk
from changeproof.methods.search.undoing import undone
from changeproof.model import Access, DifferentiableModel, Floats, Integers
from changeproof.networks.kernels import ADAM_BETA1, ADAM_BETA2, ADAM_EPSILON
from changeproof.plugins import PAPER


@dataclass(kw_only=True, eq=False, repr=False)
class Wachter(Method):
    """Walk down `features x BCE(f(x'), 1) + penalty x |x' - x|`, until f(x') is favourable.

    Where not everything may change, the published answer is made realisable, and then as short as
    it can be without losing in f. For whom that fails, the walk is repeated: the point that walks
    is free inside of its range, and f is asked about the nearest row that the person may be told.
    On tables with very many features that search is among few of them; see docs/own-data.md.

    Parameters
    ----------
    penalty
        Weight of the absolute change (the paper's lambda).
    learning_rate
        Step size of Adam with AMSGrad.
    target
        Probability at which the search ends, with one last step.
    max_steps
        After so many steps the last iterate is returned, favourable or not.
    """

    name = "wachter"
    label = "Wachter"
    cost = Cost(per_person=0.001, feasible=0.03, tuning=5.0)
    summary = "gradient descent on prediction loss plus absolute change"
    source = f"Wachter et al. 2018 (https://arxiv.org/abs/1711.00399), as in {PAPER}"
    needs = Access.GRADIENTS

    penalty: float = 1.0
    learning_rate: float = 0.01
    target: float = 0.501
    max_steps: int = 20_000

    @classmethod
    def tuning_candidates(cls) -> Sequence[Wachter]:
        """Return the paper's grid."""
        return [
            cls(penalty=penalty, learning_rate=rate)
            for penalty in (0.01, 0.1, 1.0)
            for rate in (0.01, 0.02)
        ]

    def _search(self, factuals: Factuals) -> Candidates:
        model = self.context.model
        assert isinstance(model, DifferentiableModel)
        if self.context.actions is not None:
            return self._realisable(self.context.actions, model, factuals)
        rows, steps = self._published(model, factuals)
        return Candidates(rows, diagnostics={"steps": steps})

    def _published(self, model: DifferentiableModel, factuals: Factuals) -> tuple[Floats, Integers]:
        """Walk wherever it goes down; return where the walks end, and their steps."""
        n_features = factuals.rows.shape[1]
        target_logit = log(self.target / (1.0 - self.target))
        rows = factuals.rows.copy()
        steps = np.full(len(rows), self.max_steps)
        # The rows still walking, and their state; arrays shrink as rows arrive.
        walking = np.arange(len(rows))
        start = factuals.rows
        here = start.copy()
        mean, square, largest = np.zeros((3, *here.shape))
        decay1 = decay2 = 1.0
        for step in range(1, self.max_steps + 1):
            logits, slopes = model.logits_and_gradients(here)
            loss_slope = (-n_features * sigmoids(-logits))[:, None] * slopes
            gradient = loss_slope + self.penalty * np.sign(here - start)
            mean = ADAM_BETA1 * mean + (1.0 - ADAM_BETA1) * gradient
            square = ADAM_BETA2 * square + (1.0 - ADAM_BETA2) * gradient**2
            largest = np.maximum(largest, square)
            decay1, decay2 = decay1 * ADAM_BETA1, decay2 * ADAM_BETA2
            size = self.learning_rate / (1.0 - decay1)
            spread = np.sqrt(largest) / np.sqrt(1.0 - decay2) + ADAM_EPSILON
            here = here - size * mean / spread
            arrived = logits >= target_logit
            if arrived.any():
                rows[walking[arrived]] = here[arrived]
                steps[walking[arrived]] = step
                going = ~arrived
                walking, start, here = walking[going], start[going], here[going]
                mean, square, largest = mean[going], square[going], largest[going]
                if not len(walking):
                    break
        rows[walking] = here
        return rows, steps

    def _realisable(
        self, actions: Actions, model: DifferentiableModel, factuals: Factuals
    ) -> Candidates:
        n_features = factuals.rows.shape[1]
        target_logit = log(self.target / (1.0 - self.target))

        def judge(told: Floats, here: Floats, start: Floats) -> tuple[Floats, Floats]:
            logits, slopes = model.logits_and_gradients(told)
            loss_slope = (-n_features * sigmoids(-logits))[:, None] * slopes
            return logits, loss_slope + self.penalty * np.sign(here - start)

        own = factuals.rows
        rows = realised(actions, model, own, self._published(model, factuals)[0]).rows
        there = model.favourable(rows) & (rows != own).any(axis=1)
        targets = np.where(there, model.logits_and_gradients(rows)[0], target_logit)
        # Where few features are looked at, that search finds what a walk would.
        all_features = actions.looked_at is None
        left = np.flatnonzero(~there & all_features)
        ended = walk(
            actions,
            own[left],
            judge,
            target=target_logit,
            learning_rate=self.learning_rate,
            max_steps=self.max_steps,
        )
        rows[left], there[left] = ended.rows, ended.arrived
        steps = np.zeros(len(own), dtype=np.int64)
        steps[left] = ended.steps
        who = np.flatnonzero(there | (not all_features))
        few = FewFeatures(actions, model, own[who])

        def spare(tried: Floats, places: Integers) -> Floats:
            return np.asarray(few.sure(tried) - targets[who[places]])

        goal = Goal(spare, 0.0, 1.0 / few.actions.scales.distance)
        starts, people = few.rows(rows[who]), np.arange(len(who))
        found = shortest(few.actions, few.people, starts, people, goal, few.exchanges(EXCHANGES))
        rows[who] = self._or_else(actions, own[who], few.back(found), rows[who], targets[who])
        rows[(rows == own).all(axis=1)] = np.nan
        return Candidates(rows, reasons=[BUDGET] * len(rows), diagnostics={"steps": steps})

    def _or_else(
        self, actions: Actions, own: Floats, found: Floats, rows: Floats, targets: Floats
    ) -> Floats:
        """Return what was found or, where few features do not suffice, rows with fewer changes."""
        sure = logits_or_probabilities(self.context.model)
        lost = np.flatnonzero(np.isnan(found[:, 0]))
        lost = lost[sure(rows[lost]) >= targets[lost]]
        found[lost] = undone(
            actions, own[lost], rows[lost], lambda tried, at: sure(tried) >= targets[lost[at]]
        )
        return found
