"""The nearest favourable training row, asked of scikit-learn's tree one person at a time."""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import KDTree

from benchmarks.plain.method import PlainMethod


class PlainKDTree(PlainMethod):
    def prepare(self) -> None:
        self.goals = self.training_rows[self.favourable(self.training_rows)]
        self.tree = KDTree(self.goals)

    def answer(self, row_id: int, row: np.ndarray) -> np.ndarray:
        nearest = self.tree.query(row[None], k=1, return_distance=False)
        return self.goals[nearest[0, 0]]
