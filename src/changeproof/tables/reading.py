"""Tables that a run has written, read back as they were."""

from __future__ import annotations

import math

import pandas as pd

from changeproof.tables.spreadsheets import read_csv

# Names of groups are text, whatever they look like: "1", "None", or nothing.
NAMES = ["group", "highest", "lowest"]
# What people are called may look like a number and be none: 007.
IDS = ["id"]
# Values of different features, numbers and categories, under one heading.
MIXED = ["before", "after"]


def read_table(content: bytes) -> pd.DataFrame:
    """Return the table of a file that a run has written.

    Only what is empty is missing, as it is written so; a category may be called "None" or "NA".
    """
    table = read_csv(content, keep_default_na=False, na_values=[""])
    there = [name for name in (*NAMES, *IDS) if name in table.columns]
    texts = read_csv(content, usecols=there, dtype=str, keep_default_na=False) if there else table
    for name in there:
        if name in NAMES or not (table[name].astype(str) == texts[name]).all():
            table[name] = texts[name]
    for name in MIXED:
        if name in table.columns and not pd.api.types.is_numeric_dtype(table[name].dtype):
            numbers = pd.to_numeric(table[name], errors="coerce").tolist()
            both = zip(table[name], numbers, strict=True)
            values = [text if math.isnan(number) else shortest(number) for text, number in both]
            table[name] = pd.Series(values, index=table.index, dtype=object)
    return table


def shortest(value: float) -> int | float:
    """Return a number that is written as short as it can be."""
    return int(value) if float(value).is_integer() else value
