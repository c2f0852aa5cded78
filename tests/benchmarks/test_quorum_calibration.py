"""quorum's calibration: what is measured of a base network, and what is said of many."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.quorum_calibration import measured, summary
from benchmarks.report import calibration_section


def test_one_base_network_is_measured() -> None:
    found = measured("diabetes", 4101, 0.9, people=20)
    assert found["promised"] == 0.9
    assert (found["people"], found["answered"], found["changed_models"]) == (20, 20, 200)
    for name in ("failures", "refused_by_witnesses", "below_bound"):
        assert 0.0 <= float(str(found[name])) < 0.2


def of(dataset: str, promised: float, failures: float) -> dict[str, object]:
    shares = {"refused_by_witnesses": 0.01, "below_bound": 0.0, "distance": 0.5}
    sizes = {"changed_models": 200, "target": 0.99}
    return {"dataset": dataset, "promised": promised, "failures": failures, **shares, **sizes}


def test_means_stand_beside_what_is_allowed() -> None:
    rows = [of("a", 0.99, 0.002), of("a", 0.99, 0.016), of("b", 0.96, 0.05), of("b", np.nan, 0.9)]
    found = summary(pd.DataFrame(rows)).set_index("dataset")
    assert list(found.index) == ["a", "b", "all"]
    assert found.loc["a", "failures"] == pytest.approx(0.9)
    assert (found.loc["a", "kept"], found.loc["b", "kept"]) == ("yes", "no")
    # 400 draws with a chance of 1 %: from 1 to 8 of them, in 95 %.
    assert found.loc["a", "band"] == "0.25 to 2.00"
    # Without a promise nothing can break it.
    assert found.loc["b", "without_promise"] == 1
    assert found.loc["b", "failures"] == pytest.approx(5.0)
    assert found.loc["all", "allowed"] == pytest.approx(2.0)
    section = calibration_section(pd.DataFrame(rows))
    assert (
        "| a | 0.99 | 2 | 0 | 99.00 | 0.90 | 0.20 to 1.60 | 1.00 | 0.25 to 2.00 | yes |" in section
    )
