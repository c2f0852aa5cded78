from __future__ import annotations

import numpy as np

from changeproof import Network, Task
from changeproof.models.altered import AlteredModel, remeasured


def test_a_measurement_is_folded_into_a_network(small_task: Task, small_network: Network) -> None:
    generator = np.random.default_rng(0)
    gains, offsets = 1 + generator.normal(size=5) / 10, generator.normal(size=5) / 10
    folded = remeasured(small_network, gains, offsets)
    wrapped = AlteredModel(small_network, lambda rows: rows * gains + offsets)
    rows = small_task.rows("test")
    np.testing.assert_allclose(folded.probabilities(rows), wrapped.probabilities(rows), atol=1e-6)
    expected = small_network.logits(rows * gains + offsets) >= 0
    np.testing.assert_array_equal(wrapped.favourable(rows), expected)
