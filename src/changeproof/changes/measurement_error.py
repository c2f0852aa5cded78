"""Features that are measured differently, with the same model."""

from __future__ import annotations

import numpy as np
from pydantic import PositiveInt

from changeproof.changes.family import (
    REPLICATES,
    BaseModel,
    Label,
    ReplicatedFamily,
    Several,
    Share,
    Variant,
    either,
    percent,
)
from changeproof.datasets.task import Task
from changeproof.model import Booleans
from changeproof.models.altered import remeasured
from changeproof.models.learner import Learner
from changeproof.randomness import stream


class MeasurementError(ReplicatedFamily):
    """Show the model numbers that are off, for everybody in the same way.

    Each changed model has one draw for every numeric feature: an offset, and a gain about the mean
    of the training rows, both uniform up to a share of the feature's standard deviation there.
    Categories and columns of two values stay as they are.

    Parameters
    ----------
    replicates
        How many changed models there are, at all levels together.
    shares
        How far a measurement is off at most: the offset in standard deviations, the gain in
        standard deviations per standard deviation from the mean.
    """

    name = "measurement-error"
    label = Label("Measurement error", "measure", "Measure. error")
    source = "changeproof, docs/beyond.md"
    trains = False

    def __init__(
        self, *, replicates: PositiveInt = REPLICATES, shares: Several[Share] = (0.01, 0.05, 0.10)
    ) -> None:
        super().__init__(replicates=replicates)
        self.shares = tuple(shares)
        found = either([100 * share for share in self.shares])
        self.summary = (
            f"numeric features measured wrongly, by up to {found} % of a standard deviation"
        )

    def reason_against_task(self, task: Task) -> str | None:
        return None if measured(task).any() else f"{task.name} has no numeric features"

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        columns, variants = measured(task), []
        for share, r in self.shared_out(self.shares):
            generator = stream(task.name, base.seed, "measurement error", f"{share:g}", r)
            # Rows are standardised: the mean is 0, and a standard deviation 1.
            offsets, errors = generator.uniform(-share, share, (2, task.n_features)) * columns
            model = remeasured(base.model, 1.0 + errors, offsets)
            variants.append(Variant(percent(share), r, model))
        return variants


def measured(task: Task) -> Booleans:
    """Return which columns hold measurements: numbers with more than two values."""
    columns = np.zeros(task.n_features, dtype=np.bool_)
    for feature in task.features:
        if not feature.categories:
            (column,) = feature.columns
            columns[column] = task.frame.iloc[:, column].nunique() > 2
    return columns
