"""Tasks with other rows or columns, standardised like the task that they come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from changeproof.datasets.split import Split
from changeproof.datasets.task import Task
from changeproof.feasible.feature import Feature
from changeproof.model import Floats


class AlteredTask(Task):
    """A task to train a changed model on; nobody asks for advice on it.

    Its first columns are those of the origin, and standardised as they are there.
    """

    def __init__(
        self,
        origin: Task,
        frame: pd.DataFrame,
        labels: npt.ArrayLike,
        split: Split,
        features: Sequence[Feature],
        outcomes: npt.NDArray[Any] | None = None,
    ) -> None:
        own = origin.outcomes if outcomes is None else outcomes
        super().__init__(
            origin.name,
            frame,
            labels,
            split,
            features,
            raw=origin.raw,
            outcomes=own,
            favourable_values=origin.favourable_values,
        )
        width = origin.n_features
        # These replace what the cached properties found.
        self.mean = np.concatenate([origin.mean, self.mean[width:]])
        self.scale = np.concatenate([origin.scale, self.scale[width:]])


def with_feature_held(task: Task, feature: Feature) -> Task:
    """Return the task with all columns of one feature at their training means."""
    frame = task.frame.astype(np.float64)
    for column in feature.columns:
        frame.isetitem(column, np.full(len(frame), task.mean[column]))
    return AlteredTask(task, frame, task.labels, task.split, task.features)


def with_columns(task: Task, names: Sequence[str], values: Floats) -> Task:
    """Return the task with more numeric features [rows, features], after the others."""
    width = task.n_features
    added = pd.DataFrame(values, columns=list(names), index=task.frame.index)
    features = [Feature(name, "numeric", (width + place,)) for place, name in enumerate(names)]
    frame = pd.concat([task.frame, added], axis="columns")
    return AlteredTask(task, frame, task.labels, task.split, [*task.features, *features])


def with_rows(task: Task, rows: Floats, label: int) -> Task:
    """Return the task with standardised rows of one label at the end of its update pool."""
    first, known = int(task.frame.index.max()) + 1, len(task.frame)
    added = task.original(rows).set_axis(range(first, first + len(rows)), axis="index")
    pool = np.concatenate([task.split.update, np.arange(known, known + len(rows))])
    frame = pd.concat([task.frame.astype(np.float64), added])
    labels = np.concatenate([task.labels, np.full(len(rows), label, np.int8)])
    split, outcomes = replace(task.split, update=pool), task.outcomes
    if outcomes is not None:
        usual = np.full(len(rows), task.usual_outcome(label), dtype=outcomes.dtype)
        outcomes = np.concatenate([outcomes, usual])
    return AlteredTask(task, frame, labels, split, task.features, outcomes)
