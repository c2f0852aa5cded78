"""The entries in a folder, and what their records say: which of them have numbers, and why not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from changeproof.board.answers import CERTIFIED
from changeproof.board.entry import ENTRY, Entry, Handed, read_entry
from changeproof.board.records import (
    ALL,
    CLAIMED,
    HELD,
    OF_PEOPLE,
    RECORD,
    WHO,
    Record,
    read_people,
    read_record,
)
from changeproof.errors import InputError, one_line

# How far a score may be from what the people of the same record say, in points or deviations.
ROUNDING = 1e-6
BY_FAMILY = ("robustness", "end_to_end")
BASE = ["track", "dataset", "model", "base_seed"]


@dataclass(frozen=True, eq=False)
class Listed:
    """An entry, and its record with the people if it is about the entry as it is.

    Attributes
    ----------
    why
        Why there are no numbers; "" where there are.
    """

    handed: Handed
    record: Record | None = None
    people: pd.DataFrame | None = None
    why: str = ""

    @property
    def entry(self) -> Entry:
        return self.handed.entry

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def state(self) -> str:
        return CLAIMED if self.record is None else self.record.state

    def without_numbers(self, why: str) -> Listed:
        return replace(self, record=None, people=None, why=why)


class Found(NamedTuple):
    """The entries in a folder, by name, and why others are none."""

    entries: list[Listed]
    refused: dict[str, str]


def find_entries(entries: Path, records: Path, benchmark: str) -> Found:
    """Return all entries in a folder; those of another version of the benchmark have no numbers."""
    if not entries.is_dir():
        raise InputError(f"{entries} is not a directory; expected a folder with entries in it")
    found, refused = [], {}
    for folder in sorted(entries.iterdir(), key=lambda each: each.name):
        if not folder.is_dir() or folder.name.startswith("."):
            continue
        try:
            found.append(_listed(read_entry(folder), records, benchmark))
        except InputError as error:
            refused[folder.name] = one_line(error)
    if not found and not refused:
        raise InputError(f"{entries} holds no entry; expected folders with a file {ENTRY} in each")
    return Found(found, refused)


def _listed(handed: Handed, records: Path, benchmark: str) -> Listed:
    entry = handed.entry
    if entry.benchmark != benchmark:
        why = f"It answers version {entry.benchmark} of the benchmark; this board is of {benchmark}"
        return Listed(handed, why=f"{why}.")
    folder = records / entry.name
    if not (folder / RECORD).is_file():
        return Listed(handed, why="Nobody has verified it.")
    try:
        record = read_record(folder)
        if record.benchmark != benchmark:
            raise InputError(f"its record is of version {record.benchmark} of the benchmark")
        if not record.is_about(handed.entry_sha256, handed.answers_sha256):
            raise InputError("its files have changed since they were verified")
        people = _checked(read_people(folder), record)
    except InputError as error:
        return Listed(handed, why=f"It has no valid record: {one_line(error)}.")
    return Listed(handed, record, people)


def families_of(people: pd.DataFrame) -> list[str]:
    """Return the families by which people have shares that hold."""
    return [name.removeprefix(HELD) for name in people.columns if name.startswith(HELD)]


def _checked(people: pd.DataFrame, record: Record) -> pd.DataFrame:
    """Return what became of the people if it is possible, and what the scores are made from."""
    shares = ["held", *(HELD + family for family in families_of(people))]
    numbers = ["found", "base_valid", "distance", "limit", CERTIFIED, *shares]
    try:
        if CERTIFIED not in people:
            people = people.assign(**{CERTIFIED: np.nan})
        people = people[[*OF_PEOPLE, CERTIFIED, *shares[1:]]]
        people = people.astype(dict.fromkeys(numbers, np.float64))
        people = people.astype({"base_seed": np.int64, "row_id": np.int64})
        people = people.astype(dict.fromkeys(BASE[:3], str))
    except (TypeError, ValueError) as error:
        raise InputError(f"its people are not readable: {one_line(error)}") from None
    if people.duplicated(list(WHO)).any():
        raise InputError("somebody is listed twice among its people")
    if strange := sorted(set(people["track"]) - set(record.tracks)):
        raise InputError(f"its people are of the track {strange[0]!r}, which it is not in")
    found, valid = people["found"], people["base_valid"]
    possible = found.isin((0.0, 1.0)) & valid.isin((0.0, 1.0)) & (valid <= found)
    possible &= people[CERTIFIED].isna() | people[CERTIFIED].isin((0.0, 1.0))
    distance = people["distance"].to_numpy()
    possible &= (valid == 0.0) | (np.isfinite(distance) & (distance >= 0.0))
    for name in shares:
        share = people[name]
        known = share.notna() if name != "held" else True
        possible &= ~np.asarray(known) | (share.between(0.0, 1.0) & ((valid > 0) | (share == 0)))
    if not possible.all():
        row = people.loc[~possible, list(WHO)].iloc[0]
        raise InputError(f"what it says of row {row.row_id} of {row.dataset} cannot be")
    _compare(_scores(people), record)
    return people.sort_values(list(WHO), kind="stable", ignore_index=True)


def _scores(people: pd.DataFrame) -> pd.DataFrame:
    """Return every score that the people give, by base model, family and metric."""
    found, valid = people["found"] > 0.0, people["base_valid"] > 0.0
    columns: dict[tuple[str, str], pd.Series[float]] = {
        (ALL, "coverage"): 100.0 * people["found"],
        (ALL, "validity"): 100.0 * people["base_valid"].where(found),
        (ALL, "distance"): people["distance"].where(valid),
    }
    for family in (ALL, *families_of(people)):
        share = people["held" if family == ALL else HELD + family]
        columns[family, "robustness"] = 100.0 * share.where(valid)
        columns[family, "end_to_end"] = 100.0 * share
    table = pd.DataFrame(columns)
    table.columns = pd.MultiIndex.from_tuples(list(columns), names=["family", "metric"])
    return table.groupby([people[name] for name in BASE]).mean()


def _compare(means: pd.DataFrame, record: Record) -> None:
    """Refuse scores that are not those of the people; of the limit, people say too little."""
    ours = {
        (*base, *column): value
        for base, row in zip(means.index, means.to_numpy(), strict=True)
        for column, value in zip(means.columns, row, strict=True)
    }
    given = {
        (each.track, each.dataset, each.model, each.base_seed, each.family, each.metric): each.value
        for each in record.scores
    }
    if len(given) < len(record.scores):
        raise InputError("it has two scores for the same thing")
    if {key[:4] for key in given} != {key[:4] for key in ours}:
        raise InputError("its scores and its people are not of the same base models")
    for key in sorted(ours.keys() | given.keys()):
        track, dataset, _, seed, family, metric = key
        if metric in ("limit", "price"):
            continue
        # Who got advice, and how far it is, is the same under every family.
        same = key if metric in BY_FAMILY else (*key[:4], ALL, metric)
        known, said = ours.get(same, math.nan), given.get(key)
        if (math.isnan(known) and said is None) or abs(known - (said or 0.0)) <= ROUNDING:
            continue
        what = metric.replace("_", " ") + ("" if family == ALL else f" under {family}")
        raise InputError(
            f"its {what} on {dataset}, {seed}, in the track {track} is not what its people say"
        )


def in_order(entries: Sequence[Listed]) -> list[Listed]:
    """Return entries by what people call them."""
    return sorted(entries, key=lambda each: (each.entry.label.casefold(), each.name))
