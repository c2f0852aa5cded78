"""A table of applications with the time of each, and a small run over time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from changeproof import Results, evaluate
from loans import loans

MEANING = {"target": "approved", "favourable": "yes", "id_column": "applicant", "time": "applied"}
LATER = "later-data(updates=3, replicates=2)"
CHAIN = "updates(length=4, replicates=3, every=2)"
SINGLE = "bootstrap(replicates=4)"


def applications(rows: int = 240) -> pd.DataFrame:
    """Return loans of two years in no order; what it takes to get one rises with time."""
    table = loans(rows)
    generator = np.random.default_rng(5)
    days = generator.permutation(np.arange(rows) * 3)
    table["applied"] = pd.Timestamp("2021-01-01") + pd.to_timedelta(days, unit="D")
    asked = 1800 + 1.2 * days
    table["approved"] = np.where(table["income"] - 300 * table["debts"] > asked, "yes", "no")
    return table


def lasting(out: Path | None, *families: str, **more: Any) -> Results:
    """Run two methods over time."""
    settings: dict[str, Any] = {
        "methods": ["kdtree", "wachter"],
        "families": list(families or (SINGLE, LATER, CHAIN)),
        "factuals": 12,
        "over_time": True,
        "jobs": 1,
        **MEANING,
        **more,
    }
    return evaluate(applications(), out=out, **settings)
