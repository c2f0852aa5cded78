"""Linear equations with a symmetric, positive matrix, solved in one order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from changeproof.arithmetic.compiling import compiled


@compiled
def solve_positive(matrix: Any, right: Any) -> Any:
    """Return x with matrix x = right by Cholesky's factors; NaN if the matrix is not positive."""
    size = len(right)
    factor = np.zeros((size, size))
    solution = right.copy()
    for i in range(size):
        for j in range(i + 1):
            total = matrix[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if j < i:
                factor[i, j] = total / factor[j, j]
            elif total > 0.0:
                factor[i, i] = math.sqrt(total)
            else:
                return np.full(size, np.nan)
    for i in range(size):
        for k in range(i):
            solution[i] -= factor[i, k] * solution[k]
        solution[i] /= factor[i, i]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            solution[i] -= factor[k, i] * solution[k]
        solution[i] /= factor[i, i]
    return solution
