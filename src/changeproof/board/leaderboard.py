"""The leaderboard: what became of the answers of every entry, side by side.

Every number is from the record of an entry that was verified; what an entry says of itself is no
number here. Values are means over base models, and then over datasets, as in the tables of a run.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from changeproof.board.answers import CERTIFIED
from changeproof.board.differences import (
    Differences,
    end_to_end_differences,
    enough,
    grouped,
    mean_of,
    price_difference,
)
from changeproof.board.listed import BY_FAMILY, Listed, families_of, find_entries, in_order
from changeproof.board.records import ALL, HELD, WHO
from changeproof.board.tracks import TRACKS
from changeproof.evaluation.metrics import People
from changeproof.evaluation.people import Sampled
from changeproof.evaluation.uncertainty import Value
from changeproof.model import Floats
from changeproof.tables.names import DATASETS

# Entries are also compared by price among those that hold, end to end, for so many percent.
BARS = (95, 99)
# What our metrics are called where runs are evaluated.
NAMES = {
    "coverage": "coverage",
    "validity": "base_validity",
    "robustness": "empirical_robustness",
    "end_to_end": "end_to_end_robustness",
    "distance": "distance",
}
NOTHING = Value(math.nan, math.nan, math.nan)


class Cell(NamedTuple):
    """A dataset and a kind of model: what numbers are averaged over."""

    dataset: str
    model: str


class Place(NamedTuple):
    """What a number is about; "all" for a mean over datasets, and for families that count."""

    cell: Cell
    family: str
    metric: str


EVERYWHERE = Cell(ALL, ALL)


@dataclass(frozen=True, eq=False)
class Result:
    """An entry in a track, with everything that was measured of it there.

    `people` has what became of the people by family, cell and base seed. `certified` has the share
    of people who get a certified answer ("share"), and by family how often those hold; it is empty
    where the method certifies nothing.
    """

    listed: Listed
    numbers: dict[Place, Value]
    people: dict[str, list[list[People]]]
    sampled: dict[str, list[Sampled]]
    certified: dict[str, Value]

    @property
    def name(self) -> str:
        return self.listed.name

    def value(self, metric: str, family: str = ALL, cell: Cell = EVERYWHERE) -> Value:
        return self.numbers.get(Place(cell, family, metric), NOTHING)

    @property
    def end_to_end(self) -> float:
        return self.value("end_to_end").value


@dataclass(frozen=True, eq=False)
class TrackBoard:
    """A track: who was asked, and the entries that have numbers, the best first.

    `waiting` says of the others in the track why they have none.
    """

    name: str
    title: str
    words: str
    cells: tuple[Cell, ...] = ()
    base_seeds: tuple[int, ...] = ()
    families: tuple[str, ...] = ()
    people: int = 0
    limits: Mapping[Cell, float] = field(default_factory=dict)
    results: tuple[Result, ...] = ()
    waiting: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def differences(self) -> dict[str, Differences]:
        """Differences end to end between all entries, by family."""
        found = {}
        for family in (ALL, *self.families) if self.results else ():
            # A family may not be there for every dataset.
            there = [n for n in range(len(self.cells)) if self._known(family, n)]
            each = [[result.sampled[family][n] for result in self.results] for n in there]
            if each:
                found[family] = end_to_end_differences(each)
        return found

    def _known(self, family: str, place: int) -> bool:
        return all(len(result.sampled[family][place].means) for result in self.results)

    @cached_property
    def groups(self) -> dict[str, dict[str, str]]:
        """Groups of no clear difference end to end, by family and entry."""
        found = {}
        for family, each in self.differences.items():
            values = [result.value("end_to_end", family).value for result in self.results]
            clear = each.clear if enough(self.fewest) else np.zeros_like(each.clear)
            names = (result.name for result in self.results)
            found[family] = dict(zip(names, grouped(values, clear), strict=True))
        return found

    @cached_property
    def fewest(self) -> int:
        """How many different people there are, in the cell with the fewest."""
        return min((s.people for s in self.results[0].sampled[ALL]), default=0)

    @property
    def priced(self) -> str:
        """What entries above a bar are compared by: the price, or distance without a limit."""
        known = any(not math.isnan(result.value("price").value) for result in self.results)
        return "price" if known else "distance"

    @cached_property
    def above(self) -> dict[int, tuple[list[Result], Differences, list[str]]]:
        """The entries at or above each bar: differences in price, and groups."""
        return {bar: self._above(bar) for bar in BARS}

    def _above(self, bar: int) -> tuple[list[Result], Differences, list[str]]:
        chosen = [result for result in self.results if result.end_to_end >= bar]
        values = [result.value(self.priced).value for result in chosen]
        scaled = [self._in_limits(result) for result in chosen]
        shape = (len(chosen), len(chosen))
        parts = (np.zeros(shape), np.zeros(shape), np.zeros(shape))
        clear = np.zeros(shape, np.bool_)
        for one in range(len(chosen)):
            for other in range(one):
                found, fewest = price_difference(scaled[one], scaled[other])
                for part, there, back in zip(
                    parts, found, (-found.value, -found.high, -found.low), strict=True
                ):
                    part[one, other], part[other, one] = there, back
                decided = enough(fewest) and (found.low > 0.0 or found.high < 0.0)
                clear[one, other] = clear[other, one] = decided
        return chosen, Differences(*parts), grouped(values, clear, least=True)

    def _in_limits(self, result: Result) -> list[list[People]]:
        """Return people with distances in units of the mean limit of their dataset."""
        if self.priced == "distance":
            return result.people[ALL]
        scaled = []
        for cell, groups in zip(self.cells, result.people[ALL], strict=True):
            limit = self.limits.get(cell, math.nan)
            scaled.append([each._replace(distance=each.distance / limit) for each in groups])
        return scaled


@dataclass(frozen=True, eq=False)
class Board:
    """All entries of a version of the benchmark, by track.

    `elsewhere` answers another version of the benchmark, and `refused` says why folders are no
    entries.
    """

    benchmark: str
    tracks: tuple[TrackBoard, ...]
    entries: tuple[Listed, ...]
    elsewhere: tuple[Listed, ...]
    refused: Mapping[str, str]


def leaderboard(entries: str | Path, records: str | Path, benchmark: str) -> Board:
    """Return the board of the entries in a folder, by their records in another."""
    found, refused = find_entries(Path(entries), Path(records), benchmark)
    mine = in_order([each for each in found if each.entry.benchmark == benchmark])
    others = in_order([each for each in found if each.entry.benchmark != benchmark])
    names = {name for each in mine for name in each.entry.tracks}
    tracks = tuple(_track(name, mine) for name in sorted(names, key=_track_place))
    return Board(benchmark, tracks, tuple(mine), tuple(others), refused)


def _track_place(name: str) -> tuple[int, str]:
    return (list(TRACKS).index(name) if name in TRACKS else len(TRACKS), name)


def _cell_place(cell: Cell) -> tuple[str, int, str]:
    known = list(DATASETS)
    place = known.index(cell.dataset) if cell.dataset in known else len(known)
    return cell.model, place, cell.dataset


def _track(name: str, entries: Sequence[Listed]) -> TrackBoard:
    """Return a track with the entries in it; those that answer other people have no numbers."""
    known = TRACKS.get(name)
    title, words = (known.title, known.words) if known else (name, "")
    mine = {each.name: each for each in entries if name in each.entry.tracks}
    waiting = {entry: each.why for entry, each in mine.items() if each.record is None}
    tables: dict[str, pd.DataFrame] = {}
    for entry, each in mine.items():
        if each.people is not None:
            tables[entry] = each.people[each.people["track"] == name].reset_index(drop=True)
    for entry in [entry for entry, table in tables.items() if table.empty]:
        waiting[entry] = "Its answers in this track were not verified."
        del tables[entry]
    if not tables:
        return TrackBoard(name, title, words, waiting=waiting)
    asked = {entry: _who(table) for entry, table in tables.items()}
    # The people whom most entries answered.
    ((usual, _),) = Counter(asked.values()).most_common(1)
    for entry in [entry for entry, who in asked.items() if who != usual]:
        waiting[entry] = "The people whom it answered are not those of the other entries."
        del tables[entry]
    one = next(iter(tables.values()))
    pairs = zip(one["dataset"], one["model"], strict=True)
    cells = tuple(sorted((Cell(*pair) for pair in set(pairs)), key=_cell_place))
    families = dict.fromkeys(
        family
        for table in tables.values()
        for family in families_of(table)
        if table[HELD + family].notna().any()
    )
    results = [
        _result(mine[entry], table, name, cells, tuple(families)) for entry, table in tables.items()
    ]
    # Entries are in the order of their labels, and stay so where they are equally good.
    results.sort(key=lambda each: -each.end_to_end)
    seeds = tuple(int(seed) for seed in sorted(set(one["base_seed"])))
    limits = one.groupby(["dataset", "model"])["limit"].mean()
    return TrackBoard(
        name, title, words, cells, seeds, tuple(families), len(one),
        {cell: float(limits[cell]) for cell in cells}, tuple(results), waiting,
    )  # fmt: skip


def _who(table: pd.DataFrame) -> tuple[object, ...]:
    """Return who was asked, as something to compare."""
    return tuple(tuple(table[name].tolist()) for name in WHO)


def _result(
    listed: Listed, table: pd.DataFrame, track: str, cells: Sequence[Cell], families: Sequence[str]
) -> Result:
    """Return everything that was measured of an entry in a track."""
    table = table.assign(distance=table["distance"].where(table["base_valid"] > 0.0, 0.0))
    rows: dict[Cell, list[pd.DataFrame]] = {cell: [] for cell in cells}
    for (dataset, model, _), part in table.groupby(["dataset", "model", "base_seed"]):
        rows[Cell(str(dataset), str(model))].append(part)
    people: dict[str, list[list[People]]] = {}
    sampled: dict[str, list[Sampled]] = {}
    numbers: dict[Place, Value] = {}
    for family in (ALL, *families):
        share = "held" if family == ALL else HELD + family
        people[family] = [_people(rows[cell], share) for cell in cells]
        metrics = NAMES if family == ALL else BY_FAMILY
        for metric in metrics:
            found = [Sampled.of(groups, NAMES[metric]) for groups in people[family]]
            parts = [Value(*each.estimate[:3]) for each in found]
            for cell, value in zip(cells, parts, strict=True):
                numbers[Place(cell, family, metric)] = value
            # A family that is not there for some data is averaged over the others.
            there = [p for p, each in zip(parts, people[family], strict=True) if each]
            numbers[Place(EVERYWHERE, family, metric)] = mean_of(there)
            if metric == "end_to_end":
                sampled[family] = found
    numbers |= _of_the_limit(listed, track, cells)
    return Result(listed, numbers, people, sampled, _certified(rows, people))


def _certified(
    rows: Mapping[Cell, Sequence[pd.DataFrame]], people: Mapping[str, list[list[People]]]
) -> dict[str, Value]:
    """Return how many people get a certified answer, and by family how often those hold."""
    flags = [[part[CERTIFIED].to_numpy() for part in parts] for parts in rows.values()]
    if any(np.isnan(flag).any() for parts in flags for flag in parts):
        return {}
    found = {"share": mean_of([_share(parts) for parts in flags])}
    for family, cells in people.items():
        parts = []
        for groups, chosen in zip(cells, flags, strict=True):
            pairs = zip(groups, chosen, strict=True) if groups else ()
            only = [each._replace(valid=each.valid * flag) for each, flag in pairs]
            if only:
                parts.append(Value(*Sampled.of(only, NAMES["robustness"]).estimate[:3]))
        found[family] = mean_of([part for part in parts if not math.isnan(part.value)])
    return found


def _share(flags: Sequence[Floats]) -> Value:
    return Value(100.0 * float(np.mean([flag.mean() for flag in flags])), math.nan, math.nan)


def _people(parts: Sequence[pd.DataFrame], share: str) -> list[People]:
    """Return what became of the people by base seed; nobody if the family was not tried on them."""
    if any(share not in part or part[share].isna().any() for part in parts):
        return []
    names = ("found", "base_valid", share, "distance", "row_id")
    return [People(*(part[name].to_numpy() for name in names)) for part in parts]


def _of_the_limit(listed: Listed, track: str, cells: Sequence[Cell]) -> dict[Place, Value]:
    """Return the limit and the price over it, as they were verified; they have no intervals."""
    assert listed.record is not None
    scores = listed.record.table()
    scores = scores[(scores["track"] == track) & (scores["family"] == ALL)]
    found = {}
    for metric in ("limit", "price"):
        mine = scores[scores["metric"] == metric]
        parts = []
        for cell in cells:
            here = (mine["dataset"] == cell.dataset) & (mine["model"] == cell.model)
            value = float(mine.loc[here, "value"].mean())
            parts.append(Value(value, math.nan, math.nan))
            found[Place(cell, ALL, metric)] = parts[-1]
        found[Place(EVERYWHERE, ALL, metric)] = mean_of(parts)
    return found
