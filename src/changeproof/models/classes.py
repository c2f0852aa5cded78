"""Classes that models tell apart: which are favourable, and which of them leads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from changeproof.datasets.task import Task
from changeproof.datasets.threshold import HALF
from changeproof.errors import InputError
from changeproof.feasible.feature import text_of
from changeproof.model import Booleans, Floats

# So near to a tie, the likeliest class need not be the one that a model predicts.
TIE = 1e-6


def favourable_classes(name: str, classes: Sequence[Any], task: Task) -> list[int]:
    """Return which of a model's classes are favourable: those of the data, or 1 of 0 and 1."""
    texts = [text_of(value) for value in classes]
    wanted = {text_of(value) for value in task.favourable_values}
    if (numbers := task.favourable_range) is not None:
        values = pd.to_numeric(pd.Series(texts), errors="coerce").to_numpy(np.float64)
        found = np.flatnonzero(numbers.accepts(values)).tolist()
    else:
        found = [place for place, text in enumerate(texts) if text in wanted]
    if 0 < len(found) < len(texts):
        return found
    if texts in (["0", "1"], ["False", "True"]):
        return [1]
    expected = f"{', '.join(sorted(wanted))} and others, or 0 and 1" if wanted else "0 and 1"
    raise InputError(
        f"model {name} knows the outcomes {', '.join(texts)}; expected {expected}, to tell which "
        "is favourable"
    )


def favourable_share(shares: Floats, places: Sequence[int]) -> tuple[Floats, Floats]:
    """Return the probability of the best favourable class against the best other one; its lead.

    `shares` are probabilities of classes [rows, classes]. The log odds of what is returned are the
    difference of the logarithms of the two. Of two classes, it is the probability as it is.
    """
    best, other = shares[:, places].max(axis=1), np.delete(shares, places, axis=1).max(axis=1)
    if shares.shape[1] == 2:
        return best, best - other
    together = best + other
    even = np.full_like(best, HALF)
    return np.divide(best, together, out=even, where=together > 0.0), best - other


def are_among(outcomes: npt.NDArray[Any], wanted: Sequence[Any]) -> Booleans:
    """Return which outcomes are wanted, compared by their texts."""
    texts = set(map(text_of, wanted))
    codes, different = pd.factorize(outcomes)
    return np.array([text_of(each) in texts for each in different], dtype=np.bool_)[codes]
