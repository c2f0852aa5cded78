"""Which counterfactuals survive which changed model."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from changeproof.methods.method import Counterfactuals
from changeproof.model import Booleans
from changeproof.models.learner import Stack


def survival(answers: Counterfactuals, stack: Stack) -> Booleans:
    """Return [requests, models]: whether the counterfactual is favourable under the model.

    A request without a counterfactual survives nothing.
    """
    result = np.zeros((len(answers), len(stack)), dtype=np.bool_)
    found = answers.found
    if found.any():
        result[found] = stack.favourable(answers.rows[found]).T
    return result


def pack_bits(survived: Booleans) -> list[bytes]:
    """Return every row of survival as bits."""
    return [row.tobytes() for row in np.packbits(survived, axis=1)]


def unpack_bits(rows: list[bytes], n_models: int) -> Booleans:
    """Undo `pack_bits`."""
    packed: npt.NDArray[np.uint8] = np.frombuffer(b"".join(rows), dtype=np.uint8)
    packed = packed.reshape(len(rows), -(-n_models // 8))
    return np.unpackbits(packed, axis=1, count=n_models).astype(np.bool_)
