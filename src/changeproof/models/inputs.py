"""What fitted models take: the original features of people, and how they name the outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.feasible.feature import text_of
from changeproof.model import Floats

COUNTED = ("0", "1")


@dataclass(frozen=True)
class OriginalInputs:
    """The original features in the order that a fitted model wants.

    `named` says whether they go in as a DataFrame, or as numbers only.
    """

    columns: tuple[str, ...]
    named: bool = True

    def of(self, rows: Floats, task: Task) -> pd.DataFrame | Floats:
        """Return standardised rows as the model takes them."""
        frame = original_frame(task, rows)[list(self.columns)]
        return frame if self.named else frame.to_numpy(dtype=np.float64)


def original_frame(task: Task, rows: Floats) -> pd.DataFrame:
    """Return rows in original units, exactly; numbers as floats whatever other rows there are."""
    frame = task.told(rows)
    for feature in task.features:
        if not feature.categories:
            frame[feature.name] = frame[feature.name].astype(np.float64)
    return frame


def inputs_of(name: str, estimator: Any, task: Task) -> OriginalInputs:
    """Return how a fitted estimator takes the features of a task."""
    features = {feature.name: feature for feature in task.features}
    wanted = getattr(estimator, "feature_names_in_", None)
    if wanted is not None:
        columns = tuple(map(str, wanted))
        check_columns(name, columns, task)
        return OriginalInputs(columns)
    count = getattr(estimator, "n_features_in_", None)
    text = [feature.name for feature in task.features if feature.categories]
    if count is not None and (count != len(features) or text):
        raise InputError(
            f"model {name} was fitted on {count} columns without names; {task.name!r} has the "
            f"{len(features)} features {', '.join(features)}. Fit it on a DataFrame"
        )
    return OriginalInputs(tuple(features), named=count is None)


def check_columns(name: str, columns: Sequence[str], task: Task) -> None:
    """Refuse a model that takes columns which a task does not have."""
    known = [feature.name for feature in task.features]
    missing = [column for column in columns if column not in known]
    if missing:
        raise InputError(
            f"model {name} takes the columns {', '.join(columns)}; {task.name!r} has no "
            f"{', '.join(missing)} among its features: {', '.join(known)}"
        )


def favourable_classes(name: str, classes: Sequence[Any], task: Task) -> list[int]:
    """Return which of a model's classes are favourable: those of the data, or 1 of 0 and 1."""
    texts = [text_of(value) for value in classes]
    wanted = {text_of(value) for value in task.favourable_values}
    found = [place for place, text in enumerate(texts) if text in wanted]
    if 0 < len(found) < len(texts):
        return found
    counted = [str(int(v)) if isinstance(v, bool | np.bool_) else text_of(v) for v in classes]
    if tuple(counted) == COUNTED:
        return [1]
    expected = f"{', '.join(sorted(wanted))} and others, or 0 and 1" if wanted else "0 and 1"
    raise InputError(
        f"model {name} knows the outcomes {', '.join(texts)}; expected {expected}, to tell which "
        "is favourable"
    )
