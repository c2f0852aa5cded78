"""Mean and covariance, with the same digits on every processor."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from changeproof.model import Floats


class Spread(NamedTuple):
    """How rows lie: their mean and covariance."""

    mean: Floats
    covariance: Floats

    @classmethod
    def of(cls, rows: Floats) -> Self:
        mean = rows.mean(axis=0)
        around = rows - mean
        products = [(around * around[:, [column]]).sum(axis=0) for column in range(rows.shape[1])]
        return cls(mean, np.array(products) / max(1, len(rows) - 1))
