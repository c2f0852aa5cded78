"""All tables of a run: who builds them, and how they are read, written and shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from changeproof.errors import InputError
from changeproof.runs.directory import TABLES
from changeproof.runs.manifest import read_plan
from changeproof.runs.plan import Plan
from changeproof.runs.published import check_plan, origin_of, publish, published
from changeproof.runs.results import StoredResults
from changeproof.tables import (
    advice,
    alternatives,
    imprecise,
    letters,
    life,
    life_limit,
    limit,
    model,
    people,
    reasons,
    scores,
)
from changeproof.tables.display import Table, Tables
from changeproof.tables.spreadsheets import csv_bytes, read_table

# A builder returns tables by name, and none where a run has nothing to say of them.
BUILDERS = (
    model.model_tables,
    scores.score_tables,
    advice.advice_tables,
    limit.limit_tables,
    life.life_tables,
    life_limit.life_limit_tables,
    imprecise.imprecise_tables,
    alternatives.alternative_tables,
    people.interval_tables,
    people.bar_tables,
    advice.everyone_tables,
    reasons.reason_tables,
    scores.same_base_tables,
    letters.letter_tables,
    people.group_tables,
    scores.record_tables,
)
# Every run has these, since sentences about it need them.
ALWAYS = {"seed_results", "full_results", people.INTERVALS, people.ABOVE_BAR}
# The tables that people read: terminal, notebooks and print show them.
FORMS = scores.FORMS | advice.FORMS | limit.FORMS | life.FORMS | people.FORMS
FORMS |= life_limit.FORMS | model.FORMS | imprecise.FORMS | alternatives.FORMS
# The main ones, in the order in which screens show them.
ON_SCREEN = (
    "full_results",
    "people_intervals",
    "family_results",
    "life_summary",
    "price",
    "life_price",
    imprecise.IMPRECISE,
    alternatives.ALTERNATIVES,
    "advice",
    "change_magnitude",
    model.MODEL,
    "dataset_summary",
    "generation_seconds",
)


def build_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Return every table of a run by name.

    Parameters
    ----------
    results
        The run. Of an unfinished one the tables hold what is finished: the answers that were put
        to all changed models, and the base models that have all of theirs.
    """
    return {name: table for build in BUILDERS for name, table in build(results).items()}


def readable_tables(tables: Tables, names: Iterable[str] = FORMS) -> list[Table]:
    """Return the tables that people read, of those that there are."""
    return [table for name in names if (table := FORMS[name].table(name, tables))]


def screen_tables(tables: Tables) -> list[Table]:
    """Return the main tables for screens, the results first."""
    return readable_tables(tables, ON_SCREEN)


def write_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Build every table, and write them as CSV into the run directory."""
    tables = build_tables(results)
    publish(results.folder / TABLES, _as_files(tables), origin_of(results.folder))
    return tables


def read_tables(folder: Path, *, current: bool = True) -> dict[str, pd.DataFrame]:
    """Return the tables that a run has written; none if they are damaged, outdated or foreign.

    Foreign are tables that were not made from the plan and the pieces of the directory. Where
    tables have to be `current`, those of another version that lack a table or a column of this one
    are outdated, too.
    """
    origin = origin_of(folder)
    files = {} if origin is None else published(folder / TABLES, origin)
    try:
        tables = _from_files(files)
        if current:
            readable_tables(tables)
    except (ValueError, KeyError):
        return {}
    return tables if tables.keys() >= ALWAYS or not current else {}


def read_finished(folder: Path, *, current: bool = False) -> tuple[Plan, dict[str, pd.DataFrame]]:
    """Return plan and tables of a finished run; refuse one that is not.

    Tables that are damaged, outdated or foreign are made again from the pieces. Nothing is written.
    """
    plan, tables = read_plan(folder), read_tables(folder, current=current)
    if tables:
        return plan, tables
    results = StoredResults(folder)
    inventory = results.inventory
    if not inventory.complete:
        left, every = len(inventory.missing) + len(inventory.damaged), len(results.manifest.pieces)
        raise InputError(
            f"the run in {folder} is not finished: {left} of {every} pieces are "
            f"missing or damaged; go on with: changeproof run --out {folder}"
        )
    check_plan(results.folder, results.manifest)
    return plan, _from_files(_as_files(build_tables(results)))


def _as_files(tables: Mapping[str, pd.DataFrame]) -> dict[str, bytes]:
    return {f"{name}.csv": csv_bytes(table) for name, table in tables.items()}


def _from_files(contents: Mapping[str, bytes]) -> dict[str, pd.DataFrame]:
    return {
        name.removesuffix(".csv"): read_table(content) for name, content in sorted(contents.items())
    }
