"""What the published code takes, on one core of a machine of this kind."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd

TABLE = pd.read_csv(Path(__file__).resolve().parent / "published.csv")


def published(dataset: str, subject: str, what: str) -> float:
    """Return the published code's seconds, NaN where none were measured."""
    chosen = TABLE.query("dataset == @dataset and subject == @subject and what == @what")
    return float(chosen["seconds"].iloc[0]) if len(chosen) else math.nan
