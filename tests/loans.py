"""A small table of loans, as somebody might bring it."""

from __future__ import annotations

import numpy as np
import pandas as pd


def loans(rows: int = 120) -> pd.DataFrame:
    generator = np.random.default_rng(11)
    income = generator.normal(3000, 800, rows).round(2)
    debts = generator.integers(0, 6, rows)
    return pd.DataFrame(
        {
            "applicant": [f"A{number:03d}" for number in range(rows)],
            "income": income,
            "debts": debts,
            "purpose": generator.choice(["car", "house", "study"], rows),
            "owner": generator.choice(["no", "yes"], rows),
            "member": generator.random(rows) < 0.5,
            "approved": np.where(income - 300 * debts > 2200, "yes", "no"),
        }
    )
