"""A table of any length: 20 features of all kinds and a target, the same for the same seed.

Eight numbers, six whole numbers, three lists of categories, one list with an order and two
columns of yes and no. Nothing is hidden: `granted` follows from a score of the features and from
noise. With the concept "smooth" the score is a sum with two bends and one product; with "rules" it
counts which of five rules hold, as a scorecard does. Rows are drawn in blocks that have seeds of
their own, so the first rows of a long table are those of a short one, and memory does not grow.

    python -m benchmarks.large_table 1000000 large.parquet
    python -m benchmarks.large_table 10000 large.csv --concept rules --seed 7
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

BLOCK = 100_000
SEED = 2026
REGIONS = ["north", "east", "south", "west", "centre", "coast", "abroad"]
SECTORS = ["trade", "care", "crafts", "office", "public", "farming"]
PURPOSES = ["house", "car", "study", "business", "other"]
SCHOOLING = ["none", "school", "training", "college", "university"]
NOISE = 0.7  # of the score, whose own deviation is about 1.5


def block_of(rows: int, number: int, seed: int, concept: str) -> pd.DataFrame:
    """Return the first rows of one block."""
    draw = np.random.default_rng([seed, number])
    # Every column is drawn to the end of the block, whatever is kept of it.
    table = _features(draw)
    score = CONCEPTS[concept](table) + draw.normal(0, NOISE, BLOCK)
    table["granted"] = np.where(score > 0, "yes", "no")
    return table.iloc[:rows]


def _features(draw: np.random.Generator) -> pd.DataFrame:
    n = BLOCK
    schooling = draw.choice(len(SCHOOLING), n, p=[0.05, 0.3, 0.35, 0.15, 0.15])
    age = draw.integers(18, 76, n)
    jobs = draw.poisson(1.2, n) + 1
    income = np.exp(draw.normal(7.6 + 0.12 * schooling, 0.35, n)).round(2)
    savings = np.exp(draw.normal(np.log(income) + 0.02 * (age - 40), 0.9)).round(2)
    amount = np.exp(draw.normal(9.0, 0.6, n)).round(2)
    return pd.DataFrame(
        {
            "income": income,
            "savings": savings,
            "amount": amount,
            "rent": (income * draw.uniform(0.1, 0.6, n)).round(2),
            "used_credit": draw.beta(1.5, 3.0, n).round(4),
            "utilities": draw.normal(180, 45, n).clip(20).round(2),
            "commute": draw.gamma(2.0, 9.0, n).round(1),
            "balance": draw.normal(600, 900, n).round(2),
            "age": age,
            "months_at_address": draw.integers(0, 360, n),
            "years_employed": np.minimum(draw.geometric(0.12, n), age - 16),
            "jobs": jobs,
            "loans": draw.poisson(0.9, n),
            "reminders": draw.poisson(0.5, n),
            "region": np.array(REGIONS)[draw.integers(0, len(REGIONS), n)],
            "sector": np.array(SECTORS)[draw.integers(0, len(SECTORS), n)],
            "purpose": np.array(PURPOSES)[draw.integers(0, len(PURPOSES), n)],
            "schooling": np.array(SCHOOLING)[schooling],
            "owner": np.where(draw.random(n) < 0.35 + 0.005 * (age - 40), "yes", "no"),
            "guarantor": np.where(draw.random(n) < 0.2, "yes", "no"),
        }
    )


def _smooth(table: pd.DataFrame) -> np.ndarray:
    """Score rows by a sum with two bends and one product."""
    spare = (table["income"] - table["rent"]) / 1000
    return np.asarray(
        1.1 * np.tanh(spare - 1.4)
        + 0.35 * np.log(table["savings"] / table["amount"])
        - 1.6 * table["used_credit"] ** 2
        - 0.5 * table["reminders"]
        - 0.25 * table["loans"] * (table["jobs"] > 2)
        + 0.05 * np.minimum(table["years_employed"], 12)
        + 0.4 * (table["owner"] == "yes")
        + 0.5 * (table["guarantor"] == "yes")
        - 0.3 * (table["sector"] == "farming")
        + 0.2 * (table["schooling"] == "university")
        + 0.4
    )


def _rules(table: pd.DataFrame) -> np.ndarray:
    """Count which of five rules hold; three are enough."""
    rules = (
        table["income"] > 3.2 * table["rent"],
        (table["savings"] > 0.3 * table["amount"]) | (table["owner"] == "yes"),
        (table["used_credit"] < 0.35) & (table["reminders"] == 0),
        table["years_employed"] + 4 * (table["guarantor"] == "yes") >= 6,
        (table["age"] >= 25) & ~table["purpose"].isin(["car", "other"]),
    )
    return np.asarray(1.3 * (sum(rule.to_numpy(dtype=float) for rule in rules) - 2.5))


CONCEPTS: dict[str, Callable[[pd.DataFrame], np.ndarray]] = {"smooth": _smooth, "rules": _rules}


def blocks(rows: int, seed: int = SEED, concept: str = "smooth") -> Iterator[pd.DataFrame]:
    """Return the table, block by block."""
    for number, start in enumerate(range(0, rows, BLOCK)):
        yield block_of(min(BLOCK, rows - start), number, seed, concept)


def large_table(rows: int, seed: int = SEED, concept: str = "smooth") -> pd.DataFrame:
    """Return the whole table at once."""
    return pd.concat(blocks(rows, seed, concept), ignore_index=True)


def write(path: Path, rows: int, seed: int = SEED, concept: str = "smooth") -> None:
    """Write the table as CSV or Parquet, one block in memory at a time."""
    if path.suffix == ".csv":
        for number, block in enumerate(blocks(rows, seed, concept)):
            block.to_csv(path, mode="a" if number else "w", header=not number, index=False)
        return
    writer = None
    for block in blocks(rows, seed, concept):
        table = pa.Table.from_pandas(block, preserve_index=False)
        writer = pq.ParquetWriter(path, table.schema) if writer is None else writer
        writer.write_table(table)
    if writer is not None:
        writer.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", type=int)
    parser.add_argument("path", type=Path, help="ends in .csv or .parquet")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--concept", choices=sorted(CONCEPTS), default="smooth")
    asked = parser.parse_args()
    if asked.rows < 1 or asked.path.suffix not in (".csv", ".parquet"):
        parser.error("expected at least one row, and a path that ends in .csv or .parquet")
    write(asked.path, asked.rows, asked.seed, asked.concept)
    return 0


if __name__ == "__main__":
    sys.exit(main())
