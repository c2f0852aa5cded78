"""What the published code takes, on a machine that is not the one that benchmarks run on.

Ratios to these times are ratios to that machine.
"""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd

TABLE = pd.read_csv(Path(__file__).resolve().parent / "published.csv")
MACHINE = " and ".join(TABLE["machine"].unique())


def published(dataset: str, subject: str, what: str) -> float:
    """Return the published code's seconds, NaN where none were measured."""
    chosen = TABLE.query("dataset == @dataset and subject == @subject and what == @what")
    return float(chosen["seconds"].iloc[0]) if len(chosen) else math.nan
