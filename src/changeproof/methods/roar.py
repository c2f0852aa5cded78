"""ROAR on the true coefficients of a linear model (Upadhyay, Joshi, Lakkaraju)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, cast

import numpy as np
from pydantic import Field

from changeproof.certificates.box import check_radius
from changeproof.methods.linear_robust.ball import ParameterBall
from changeproof.methods.method import (
    Candidates,
    Columns,
    Cost,
    Factuals,
    Method,
    People,
)
from changeproof.methods.roar_lime.method import walk
from changeproof.model import Access, Floats, LinearModel

# The penalties that tuning chooses from, in tenths.
GRID = range(1, 11)
NOT_WORTH_IT = "no change is worth its penalty"


@dataclass(kw_only=True, eq=False, repr=False)
class Roar(Method):
    """Walk down the worst-case loss of a linear model plus `penalty x |x' - x|`.

    The loss is the cross-entropy of the favourable class under the least favourable change of
    coefficients and intercept, each by at most `radius`. That is the method as published for linear
    models; `roar-lime` is its use on others. The paper leaves open when the walk ends: here as in
    `roar-lime`, with which it shares the walk. The penalty is chosen on validation rows by how many
    answers the base model accepts. Where every coefficient is smaller than the penalty, nothing is
    worth a change, and nothing is found.

    A row is good enough if its worst case is no worse than that of the method's own proposal. The
    proposal itself need not be certified: `linear-robust` finds the nearest row that is.

    Parameters
    ----------
    penalty
        Weight of the absolute change (the paper's lambda).
    radius
        How far each coefficient and the intercept may move (the paper's delta).
    learning_rate
        Step size of Adam.
    tolerance
        The walk ends with the step at which the loss differs by no more from the one before.
    max_steps
        After so many steps the last iterate is returned.
    """

    name = "roar"
    label = "ROAR"
    cost = Cost(per_person=0.001, feasible=0.02, own_model=0.001, tuning=0.5)
    summary = "gradient descent on the worst case of a linear model"
    source = (
        "Upadhyay, Joshi, Lakkaraju 2021: Towards robust and reliable algorithmic recourse, "
        "NeurIPS (https://arxiv.org/abs/2102.13620)"
    )
    needs = Access.LINEAR

    penalty: Annotated[float, Field(ge=0)] = 0.1
    radius: float = 0.1
    learning_rate: Annotated[float, Field(gt=0)] = 1e-3
    tolerance: Annotated[float, Field(ge=0)] = 1e-4
    max_steps: Annotated[int, Field(ge=1)] = 20_000

    def __post_init__(self) -> None:
        check_radius(self.radius)

    @classmethod
    def tuning_candidates(cls) -> Sequence[Roar]:
        """Return the paper's grid of penalties."""
        return [cls(penalty=tenths / 10) for tenths in GRID]

    def _prepare(self) -> None:
        model = cast("LinearModel", self.context.model)
        coefficients = np.ascontiguousarray(model.coefficients, dtype=np.float64)
        self._ball = ParameterBall(coefficients, float(model.intercept), self.radius, "inf")

    def _search(self, factuals: Factuals) -> Candidates:
        ball = self._ball
        rows = np.array(factuals.rows, dtype=np.float64)
        steps = np.zeros(len(rows), dtype=np.int64)
        settings = self.learning_rate, self.tolerance, self.max_steps
        for i, factual in enumerate(factuals.rows):
            given = ball.coefficients, ball.intercept, self.penalty, ball.radius
            steps[i] = walk(rows[i], factual, *given, *settings)
        moved = (rows != factuals.rows).any(axis=1)
        rows[~moved] = np.nan
        return Candidates(
            rows,
            np.where(moved, "", NOT_WORTH_IT).tolist(),
            {
                "steps": steps,
                "penalty": np.full(len(rows), self.penalty),
                "worst_logit": ball.worst_logits(rows),
            },
        )

    def _score(self, rows: Floats, people: People) -> Floats:
        return self._ball.worst_logits(rows)

    def _measure(self, rows: Floats, people: People) -> Columns:
        return {"worst_logit": self._ball.worst_logits(rows)}
