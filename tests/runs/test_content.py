"""What pieces hold comes back from bytes as it was."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from changeproof import Network, NetworkStack
from changeproof.models.learner import ModelStack
from changeproof.runs.content import (
    arrays_from_bytes,
    arrays_to_bytes,
    models_from_bytes,
    models_to_bytes,
    table_from_bytes,
    table_to_bytes,
)

RECORD = {"table": {"level": ["10%", "é"], "hard_disagreement": [0.1 + 0.2, 1e-17]}}


def test_networks_come_back_with_record_and_arrays() -> None:
    stack = NetworkStack.of([Network.initialised(4, hidden, 0) for hidden in [(3,), (2, 2)]])
    extra = {"probabilities": np.array([[0.75, 0.25], [2 / 3, 1 / 3]])[:, 1]}
    kept = models_from_bytes(models_to_bytes(stack, RECORD, extra))
    rows = np.random.default_rng(0).normal(size=(5, 4))
    assert kept.stack is not None
    np.testing.assert_array_equal(kept.stack.logits(rows), stack.logits(rows))
    assert kept.record == RECORD
    np.testing.assert_array_equal(kept.arrays["probabilities"], extra["probabilities"])


def test_of_other_models_only_what_is_said_of_them_is_kept() -> None:
    kept = models_from_bytes(models_to_bytes(ModelStack([]), RECORD))
    assert kept == (None, RECORD, {})


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (5, 0), (3, 25)])
def test_arrays_of_any_shape(shape: tuple[int, int]) -> None:
    survived = np.random.default_rng(1).random(shape) < 0.5
    back = arrays_from_bytes(arrays_to_bytes({"survived": survived.T}))
    np.testing.assert_array_equal(back["survived"], survived.T)
    assert back["survived"].dtype == np.bool_


def test_tables_come_back_and_equal_tables_are_equal_bytes() -> None:
    table = pd.DataFrame({"row_id": [3, 1], "x": [np.nan, 1 / 3], "why": ["", "no"]})
    pd.testing.assert_frame_equal(table_from_bytes(table_to_bytes(table)), table)
    assert table_to_bytes(table) == table_to_bytes(table.copy())
