"""Which counterfactuals survive which changed model."""

from __future__ import annotations

import numpy as np

from changeproof.methods.method import Counterfactuals
from changeproof.model import Booleans, Stack


def survival(answers: Counterfactuals, stack: Stack) -> Booleans:
    """Return [requests, models]: whether the counterfactual is favourable under the model.

    A request without a counterfactual survives nothing.
    """
    result = np.zeros((len(answers), len(stack)), dtype=np.bool_)
    found = answers.found
    if found.any():
        result[found] = stack.favourable(answers.rows[found]).T
    return result
