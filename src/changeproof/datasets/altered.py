"""A task with other rows or columns, on the scale of the one that it was made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from changeproof.datasets.task import Split, Task
from changeproof.feasible.feature import Feature
from changeproof.model import Floats


class AlteredTask(Task):
    """A task to train a changed model on; nobody is asked or told anything on it.

    Columns that the original task has are standardised as they are there.

    Parameters
    ----------
    origin
        The task that it was made from.
    frame, labels, split, features
        As for a task; the first columns are those of the origin.
    """

    def __init__(
        self,
        origin: Task,
        frame: pd.DataFrame,
        labels: npt.ArrayLike,
        split: Split,
        features: Sequence[Feature],
    ) -> None:
        super().__init__(origin.name, frame, labels, split, features)
        mean, scale = self.mean, self.scale
        width = origin.n_features
        # Kept where the properties would keep them.
        self.mean = np.concatenate([origin.mean, mean[width:]])
        self.scale = np.concatenate([origin.scale, scale[width:]])


def with_feature_held(task: Task, feature: Feature) -> Task:
    """Return the task with one feature at its training mean in every row, all of its columns."""
    frame = task.frame.astype(np.float64)
    for column in feature.columns:
        frame.isetitem(column, np.full(len(frame), task.mean[column]))
    return AlteredTask(task, frame, task.labels, task.split, task.features)


def with_columns(task: Task, names: Sequence[str], values: Floats) -> Task:
    """Return the task with further numeric features [rows, new features], behind the others."""
    width = task.n_features
    added = pd.DataFrame(values, columns=list(names), index=task.frame.index)
    features = [Feature(name, "numeric", (width + place,)) for place, name in enumerate(names)]
    return AlteredTask(
        task,
        pd.concat([task.frame, added], axis="columns"),
        task.labels,
        task.split,
        [*task.features, *features],
    )


def with_rows(task: Task, rows: Floats, label: int) -> Task:
    """Return the task with standardised rows of one label at the end of its update pool."""
    first, known = int(task.frame.index.max()) + 1, len(task.frame)
    added = task.original(rows).set_axis(range(first, first + len(rows)), axis="index")
    pool = np.concatenate([task.split.update, np.arange(known, known + len(rows))])
    return AlteredTask(
        task,
        pd.concat([task.frame.astype(np.float64), added]),
        np.concatenate([task.labels, np.full(len(rows), label, np.int8)]),
        replace(task.split, update=pool),
        task.features,
    )
