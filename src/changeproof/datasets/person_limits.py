"""People's own limits: a table with an id and columns low:X, high:X and fixed:X."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from changeproof.datasets.table_file import read_table
from changeproof.errors import InputError, unknown
from changeproof.feasible.feature import Feature, as_numbers, refuse_first, text_of
from changeproof.feasible.rules import Personal, no_limits

SIDES = ("low", "high", "fixed")
YES, NO = {"yes", "true", "1", "x"}, {"no", "false", "0", ""}


def read_person_limits(
    source: pd.DataFrame | str | Path,
    ids: Sequence[Any],
    features: Sequence[Feature],
    id_column: str | None,
) -> Personal:
    """Return each person's own limits [rows, features], in the order of `ids`.

    Parameters
    ----------
    source
        A DataFrame, or the path of a CSV or Parquet file. Empty cells say nothing.
    ids
        What people call the rows of the task.
    features
        The features of the task.
    id_column
        The column with the ids; by default the first column of the table.
    """
    table = read_table(source, id_column=id_column)
    where = "the table of people's own limits"
    column = str(table.columns[0]) if id_column is None else id_column
    if column not in table.columns:
        raise InputError(f"{where} has no column {column!r} with the ids of people")
    places = {text_of(each): place for place, each in enumerate(ids)}
    known = {feature.name: place for place, feature in enumerate(features)}
    rows = _rows(table[column], places, where)
    limits = no_limits(len(ids), len(features))
    for name in table.columns:
        if name == column:
            continue
        side, colon, feature = name.partition(":")
        if not colon or side not in SIDES:
            raise InputError(
                f"{where} has a column {name!r}; expected the id and columns such as low:income, "
                "high:income or fixed:income"
            )
        if feature not in known:
            raise unknown("feature", feature, known)
        place = known[feature]
        if side == "fixed":
            limits.fixed[rows, place] = _truths(table[name], name)
            continue
        if features[place].categories:
            raise InputError(f"{where}: {feature!r} holds categories; {side} is for numbers")
        values, text = as_numbers(table[name])
        refuse_first(f"column {name!r}", table[name], text, "a number, or nothing")
        stated = np.isfinite(values)
        (limits.low if side == "low" else limits.high)[rows[stated], place] = values[stated]
    for row, place in np.argwhere(limits.low > limits.high)[:1].tolist():
        raise InputError(
            f"{where}: low:{features[place].name} is above high:{features[place].name} for person "
            f"{ids[row]!r}"
        )
    return limits


def _rows(values: pd.Series[Any], places: dict[str, int], where: str) -> Any:
    texts = [text_of(value) for value in values]
    if twice := [text for text in dict.fromkeys(texts) if texts.count(text) > 1]:
        raise InputError(f"{where} has person {twice[0]!r} more than once")
    if strangers := [text for text in texts if text not in places]:
        raise InputError(f"{where} has person {strangers[0]!r}, who is not in the data")
    return np.array([places[text] for text in texts], dtype=np.int64)


def _truths(values: pd.Series[Any], name: str) -> Any:
    texts = ["" if pd.isna(value) else text_of(value).lower() for value in values]
    odd = np.array([text not in YES | NO for text in texts])
    refuse_first(f"column {name!r}", values, odd, "yes, no, or nothing")
    return np.array([text in YES for text in texts])
