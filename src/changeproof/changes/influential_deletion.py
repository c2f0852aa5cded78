"""Retraining without the rows that matter most."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import numpy.typing as npt
from pydantic import PositiveInt

from changeproof.changes.family import (
    REPLICATES,
    BaseModel,
    Label,
    ReplicatedFamily,
    Several,
    Share,
    Variant,
    percent,
)
from changeproof.datasets.task import Task
from changeproof.model import Floats, Integers
from changeproof.models.learner import Learner
from changeproof.models.recipes import DELETED_SHARES, weighted_recipe

# Whose rows are deleted, and the label that these have.
AMONG = {"all": None, "favourable": 1, "adverse": 0}
SEEDS = 330_000
# After this many draws a deletion may repeat an earlier one, as it must where rows are few.
MOST_DRAWS = 100
# A model that is sure of every row would have no leverage at all.
LEAST_PROBABILITY = 0.01
SMALLEST_REST = 1e-3
RIDGE = 1e-6


class InfluentialDeletion(ReplicatedFamily):
    """Retrain after deleting the rows that the model depends on most.

    How much a row matters is the step that a logistic model would take without it (see
    `influences`), whatever the kind of model. Shares are of the rows of all people, of the
    favourable or of the adverse ones. In the first replicate of a level the most influential rows
    go; in others as many go, drawn in proportion to their influence. All keep the base model's
    initialisation, so that what is seen is the deletion.

    Parameters
    ----------
    replicates
        How many changed models there are; the levels share them.
    shares
        How much of the rows is deleted.
    """

    name = "influential-deletion"
    label = Label("Influential deletion", "influence", "Influent. deletion")
    summary = "retraining after the 1, 5 or 10 % most influential training rows were deleted"
    source = "changeproof, docs/beyond.md"

    def __init__(
        self, *, replicates: PositiveInt = REPLICATES, shares: Several[Share] = DELETED_SHARES
    ) -> None:
        super().__init__(replicates=replicates)
        self.shares = tuple(shares)

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        rows, labels = task.rows("train"), task.labels_of("train")
        influence = influences(rows, labels, base.model.probabilities(rows))
        variants: list[Variant] = []
        seen: set[bytes] = set()
        levels = product(self.shares, AMONG.items())
        for (share, (among, label)), r, seed in self.with_seeds(levels, base.seed + SEEDS):
            eligible = np.flatnonzero((labels == label) | (label is None))
            for gone in _deletions(influence[eligible], share, r == 0, seed):
                weights = np.ones(len(rows), np.float32)
                weights[eligible[gone]] = 0.0
                if weights.tobytes() not in seen:
                    break
            seen.add(weights.tobytes())
            recipe = weighted_recipe(task, weights, base.seed)
            variants.append(Variant(f"{percent(share)} of {among}", r, recipe))
        return variants


def _deletions(influence: Floats, share: float, first: bool, seed: int) -> Iterator[Integers]:
    """Yield which rows may go: perhaps the most influential, then others drawn by influence."""
    count = max(1, round(share * len(influence)))
    if first:
        yield np.argsort(-influence, kind="stable")[:count]
    generator, chances = np.random.default_rng(seed), influence / influence.sum()
    for _ in range(MOST_DRAWS):
        yield generator.choice(len(influence), count, replace=False, p=chances)


def influences(rows: Floats, labels: npt.ArrayLike, probabilities: Floats) -> Floats:
    """Return how much a logistic model would move without each row, in one step.

    This is Pregibon's approximation: with the residual r and weight w = p(1 - p) of a row at the
    probability p, and its leverage h = w m, the coefficients move by r² m / (1 - h)² in the norm
    of the information matrix. The probabilities are those of the model in question, which need not
    be logistic.
    """
    held = np.clip(probabilities, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
    inputs = np.column_stack([np.ones(len(rows)), rows])
    weights = held * (1.0 - held)
    information = (inputs * weights[:, None]).T @ inputs
    # Columns of one feature's categories add up to a constant: without this it has no inverse.
    information += RIDGE * np.trace(information) / len(information) * np.eye(len(information))
    spread = (inputs * np.linalg.solve(information, inputs.T).T).sum(axis=1)
    rest = np.maximum(1.0 - weights * spread, SMALLEST_REST)
    moved = (np.asarray(labels) - held) ** 2 * spread / rest**2
    # Further digits may depend on the processor, and who goes first on them.
    return np.array([float(f"{value:.9e}") for value in moved])
