"""A dataset file to edit, with the rules that the rows of a table suggest, and the evidence.

Nothing in it is in force: what was found may be true of these rows only. People take away the # of
what is true.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from changeproof.datasets.columns import Column, understand
from changeproof.datasets.oddities import declared_by_name
from changeproof.datasets.relations import (
    ENOUGH_ROWS,
    Relation,
    Sample,
    constants,
    following,
    orderings,
    rising,
)
from changeproof.datasets.table_file import UTF8, read_table
from changeproof.errors import InputError, unknown

WHICH = "?"


def suggested_rules(
    data: str | Path,
    *,
    out: str | Path | None = None,
    target: str | None = None,
    favourable: Any = None,
    id_column: str | None = None,
    time: str | None = None,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    encoding: str | None = None,
) -> str:
    """Return a dataset file for a table, with the rules that its rows suggest.

    Every rule is a comment, with the evidence beside it: take away the # of what is true. Found are
    columns that follow from others (``charge = 0.17 * minutes``), columns that are never above
    others (``seniority <= age - 16``), numbers that always go with a category, and columns that
    never fall from one row of a person to the next: in the order of `time`, or of their age. What
    people can hardly change, judging by its name, is proposed as well.

    Parameters
    ----------
    data
        A CSV or Parquet file.
    out
        Where the dataset file will be; by default beside the table. The table is named from there.
    target, favourable, id_column, time, drop, categorical, encoding
        As for `own_task`; they go into the file. What is left open is marked there.

    Examples
    --------
    >>> print(suggested_rules("loans.csv", target="approved", favourable="yes"))
    """
    data, out = Path(data), Path(out) if out is not None else Path(data).with_suffix(".toml")
    table = read_table(data, categorical, (), encoding, id_column)
    reserved = [name for name in (target, id_column, time) if name is not None]
    for name in (*reserved, *drop, *categorical):
        if name not in table.columns:
            raise unknown("column", name, table.columns)
    columns = [
        understand(table[name], name in categorical, carry=True)
        for name in table.columns
        if name not in {*reserved, *drop}
    ]
    searched = [column for column in columns if not column.carried]
    sample = Sample.of(searched) if searched else None
    if sample is None:
        raise InputError(
            f"{data} has {len(table)} rows and {len(searched)} columns that advice can change; "
            f"expected at least {ENOUGH_ROWS} rows and a column, or what holds may be chance"
        )
    unique = id_column is None or table[id_column].is_unique
    keys = {
        "data": Path(os.path.relpath(data, out.parent)).as_posix(),
        "target": WHICH if target is None else target,
        "favourable": WHICH if favourable is None else favourable,
        "id": id_column if unique else None,
        "time": time,
        "drop": list(drop) or None,
        "categorical": list(categorical) or None,
        "encoding": None if encoding in (None, UTF8) else encoding,
    }
    lines = [
        f"# Proposed by changeproof from {len(table):,} rows of {data.name}. Nothing below is in "
        "force:",
        "# take away the # of what is true, and delete the rest. See",
        "# docs/rules-between-features.md.",
        *(_line(key, value) for key, value in keys.items() if value is not None),
        "",
        "rules = [",
        *(f"    # {line}" for line in _rules(sample, searched)),
        "]",
        *_features(table, searched, id_column, time),
    ]
    return "\n".join(lines) + "\n"


def _line(key: str, value: Any) -> str:
    # JSON's texts, numbers and lists are TOML's, too.
    open_question = "  # fill this in" if value == WHICH else ""
    return f"{key} = {json.dumps(value, ensure_ascii=False)}{open_question}"


def _rules(sample: Sample, columns: Sequence[Column]) -> Iterator[str]:
    compared = f"in all {sample.rows:,} rows that were compared"
    derived: set[str] = set()
    for relation in following(sample):
        if not relation.rule:
            yield f"{relation.column} {relation.words} {compared}: a rule for each value can say so"
        elif (name := _left(relation)) not in derived:
            derived.add(name)
            yield _proposal(relation, compared)
    for relation in constants(sample, columns):
        yield _proposal(relation, compared)
    # What is computed from others has their limits.
    for relation in orderings(sample.without(derived)):
        yield _proposal(relation, compared)


def _left(relation: Relation) -> str:
    return relation.rule.partition(" = ")[0].strip("`")


def _proposal(relation: Relation, compared: str) -> str:
    rule = json.dumps(relation.rule, ensure_ascii=False)
    return f"{rule},  # {compared}" + (f"; {relation.evidence}" if relation.evidence else "")


def _features(
    table: pd.DataFrame, columns: Sequence[Column], id_column: str | None, time: str | None
) -> Iterator[str]:
    """Yield what may change about features, by their names or because they never fall."""
    found = {
        name: (change, "judging by its name")
        for name, change in declared_by_name(column.name for column in columns).items()
    }
    ages = [name for name, (change, _) in found.items() if change == "increase"]
    for order in (*([] if time is None else [time]), *ages):
        if id_column is not None:
            for name in rising(table, id_column, order, columns):
                reason = (
                    f"in the order of {order}, it never falls from one row of a person to the next"
                )
                found.setdefault(name, ("increase", reason))
    for name, (change, reason) in found.items():
        yield from (
            "",
            f"# [features.{json.dumps(name, ensure_ascii=False)}]",
            f'# change = "{change}"  # {reason}',
        )
