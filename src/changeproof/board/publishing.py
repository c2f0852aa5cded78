"""The files of a leaderboard: JSON, a table as Parquet, and the page.

The same board gives the same bytes. What is undefined is None.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from changeproof import __version__
from changeproof.board.differences import Differences
from changeproof.board.leaderboard import Board, Result, TrackBoard
from changeproof.board.listed import BY_FAMILY, Listed
from changeproof.board.page import page_of
from changeproof.board.records import ALL, METRICS, Record
from changeproof.evaluation.uncertainty import Value
from changeproof.files import write_together
from changeproof.tables.display import number

SCHEMA = 1
LICENCE = "CC0-1.0"
JSON, PARQUET, PAGE = "leaderboard.json", "leaderboard.parquet", "index.html"
COLUMNS = ("entry", "track", "dataset", "model", "family", "metric", "value", "low", "high")


def document_of(board: Board) -> dict[str, Any]:
    """Return what `leaderboard.json` holds; what is undefined is None."""
    return {
        "schema": SCHEMA,
        "licence": LICENCE,
        "benchmark": board.benchmark,
        "changeproof": __version__,
        "tracks": [_about_track(track) for track in board.tracks],
        "entries": [_about_entry(listed) for listed in board.entries],
        "results": [_about_result(t, r) for t in board.tracks for r in t.results],
        "without_numbers": [
            {"track": track.name, "entry": name, "reason": why}
            for track in board.tracks
            for name, why in track.waiting.items()
        ],
        "differences": [each for track in board.tracks for each in _differences(track)],
        "of_other_versions": [_about_entry(listed) for listed in board.elsewhere],
        "refused": [{"folder": name, "reason": why} for name, why in board.refused.items()],
    }


def table_of(board: Board) -> pd.DataFrame:
    """Return every number, one in a row."""
    rows = [
        (r.name, track.name, *place.cell, place.family, place.metric, *map(number, value))
        for track in board.tracks
        for r in track.results
        for place, value in r.numbers.items()
        if not math.isnan(value.value)
    ]
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.astype(dict.fromkeys(COLUMNS[6:], np.float64))


def _about_track(track: TrackBoard) -> dict[str, Any]:
    # Undefined if it is not known of all data.
    limits = list(track.limits.values())
    return {
        "name": track.name,
        "title": track.title,
        "words": track.words,
        "data": [{**cell._asdict(), "limit": number(track.limits[cell])} for cell in track.cells],
        "base_seeds": list(track.base_seeds),
        "families": list(track.families),
        "answers": track.people,
        "limit": number(np.mean(limits)) if limits else None,
        "ranked_above_bars_by": track.priced,
    }


def _about_entry(listed: Listed) -> dict[str, Any]:
    """Return what an entry says of itself, without what it claims, and its state."""
    entry, record = listed.entry, listed.record
    said = entry.model_dump(mode="json", exclude={"format", "seconds", "claims", "answers_sha256"})
    about: dict[str, Any] = {
        **said,
        "state": listed.state,
        "no_numbers_because": listed.why,
        "entry_sha256": listed.handed.entry_sha256,
        "answers_sha256": listed.handed.answers_sha256,
        "verified": None,
    }
    if record is not None:
        about["verified"] = {
            "on": record.verified_on,
            "changeproof": record.changeproof,
            "tolerance": record.tolerance,
            "rerun": record.rerun and record.rerun.model_dump(mode="json"),
            "findings": list(record.findings),
            "contests": [each.model_dump(mode="json") for each in record.contests],
        }
    return about


def _about_result(track: TrackBoard, result: Result) -> dict[str, Any]:
    record = result.listed.record
    assert record is not None
    by_family = {
        family: {metric: _interval(result.value(metric, family)) for metric in BY_FAMILY}
        | {"group": track.groups.get(family, {}).get(result.name, "")}
        for family in track.families
    }
    known = [f for f in track.families if not math.isnan(result.value("end_to_end", f).value)]
    worst = min(known, key=lambda f: result.value("end_to_end", f).value, default=None)
    attacks = [each for each in record.contests if each.track == track.name and each.admissible]
    best = min(attacks, key=lambda each: each.held, default=None)
    seconds = record.rerun.seconds_per_person.get(track.name) if record.rerun else None
    return {
        "track": track.name,
        "entry": result.name,
        "group": track.groups[ALL][result.name],
        **{metric: _interval(result.value(metric)) for metric in METRICS},
        "worst_family": worst,
        "families": by_family,
        "data": [
            {**cell._asdict()}
            | {metric: _interval(result.value(metric, ALL, cell)) for metric in METRICS}
            for cell in track.cells
        ],
        "above": {
            str(bar): groups[place]
            for bar, (chosen, _, groups) in track.above.items()
            for place, each in enumerate(chosen)
            if each is result
        },
        "certified": _about_certified(result),
        "seconds_per_person": None if seconds is None else number(seconds),
        "best_attack": best and best.model_dump(mode="json"),
        "secret_bank": _secret(record, track.name),
    }


def _about_certified(result: Result) -> dict[str, Any] | None:
    """Return how many people get a certified answer, in percent, and how often those hold."""
    if not result.certified:
        return None
    values = {name: number(value.value) for name, value in result.certified.items()}
    share, everywhere = values.pop("share"), values.pop(ALL)
    return {"people": share, "robustness": everywhere, "families": values}


def _secret(record: Record, track: str) -> dict[str, Any] | None:
    """Return robustness on the secret bank, averaged as the public one is."""
    if record.secret is None:
        return None
    scores = pd.DataFrame([each.model_dump() for each in record.secret.scores])
    scores = scores[(scores["track"] == track) & (scores["family"] == ALL)]
    means = scores.groupby(["metric", "dataset", "model"])["value"].mean().groupby("metric").mean()
    found = {metric: number(means[metric]) for metric in BY_FAMILY if metric in means}
    return {"bank": record.secret.bank, **found} if found else None


def _differences(track: TrackBoard) -> list[dict[str, Any]]:
    """Return every pair of entries: end to end, and in price above each bar."""
    kinds: list[tuple[str, Sequence[Result], Differences]] = []
    if track.results:
        kinds.append(("end_to_end", track.results, track.differences[ALL]))
    for bar, (chosen, differences, _) in track.above.items():
        kinds.append((f"{track.priced}_above_{bar}", chosen, differences))
    return [
        {
            "track": track.name,
            "of": kind,
            "entry": results[row].name,
            "other": results[column].name,
            **_interval(differences.at(row, column)),
        }
        for kind, results, differences in kinds
        for row in range(len(results))
        for column in range(row + 1, len(results))
    ]


def _interval(value: Value) -> dict[str, float | None]:
    return {name: number(each) for name, each in value._asdict().items()}


def as_json(document: Mapping[str, Any]) -> bytes:
    """Return a document with a line for every element of its lists."""
    parts = []
    for name, value in document.items():
        text = _dumped(value)
        if isinstance(value, list) and value:
            text = "[\n" + ",\n".join(map(_dumped, value)) + "\n]"
        parts.append(f"{_dumped(name)}: {text}")
    return ("{\n" + ",\n".join(parts) + "\n}\n").encode()


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def as_parquet(board: Board) -> bytes:
    """Return the table of all numbers; what it is stands in the metadata of its schema."""
    table = table_of(board)
    about = {"schema": SCHEMA, "licence": LICENCE, "benchmark": board.benchmark}
    fields = [(name, pa.string()) for name in COLUMNS[:6]]
    fields += [(name, pa.float64()) for name in COLUMNS[6:]]
    schema = pa.schema(fields, metadata={"changeproof.leaderboard": json.dumps(about)})
    columns = [pa.array(table[name].tolist(), kind, from_pandas=True) for name, kind in fields]
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(columns, schema=schema), buffer)
    return buffer.getvalue()


def write_board(board: Board, out: str | Path) -> Path:
    """Write the page, `leaderboard.json` and `leaderboard.parquet`; return the path of the page."""
    folder = Path(out)
    document = document_of(board)
    contents = {
        folder / JSON: as_json(document),
        folder / PARQUET: as_parquet(board),
        folder / PAGE: page_of(document),
    }
    write_together(contents)
    return folder / PAGE
