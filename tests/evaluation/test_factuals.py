from __future__ import annotations

import numpy as np
import pandas as pd

from changeproof import Network, Task, evaluation_factuals
from changeproof.evaluation.factuals import tuning_factuals


def test_factuals_are_the_protocols_sample(cancer: Task, cancer_network: Network) -> None:
    ids = cancer.row_ids("test")
    adverse = [
        i
        for i, row in zip(ids, cancer.rows("test"), strict=True)
        if cancer_network.probabilities(row[None])[0] < 0.5
    ]
    expected = pd.Series(adverse).sample(n=25, random_state=2026 + 30_000)
    factuals = evaluation_factuals(cancer, cancer_network, 2026, 25)
    assert factuals.row_ids.tolist() == expected.tolist()
    raw = cancer.standardise(cancer.frame.loc[factuals.row_ids])
    np.testing.assert_array_equal(factuals.rows, raw)
    everyone = evaluation_factuals(cancer, cancer_network, 2026, 250)
    assert sorted(everyone.row_ids) == sorted(adverse)
    assert len(everyone) == 64


def test_tuning_rows_are_validation_rows(cancer: Task, cancer_network: Network) -> None:
    factuals = tuning_factuals(cancer, cancer_network, 2026)
    assert set(factuals.row_ids) <= set(cancer.row_ids("validation"))
    assert 0 < len(factuals) <= 25
    assert not cancer_network.favourable(factuals.rows).any()
