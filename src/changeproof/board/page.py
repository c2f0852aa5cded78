"""The page of the leaderboard: one file that reads nothing else, made from the JSON beside it.

Everything stands in the file as HTML, so that it is there for print, for screen readers, and
without scripts. A script turns tracks into tabs, sorts, filters and compares.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from changeproof.board.pictures import SCALE, Picture, Spot, picture, shade
from changeproof.board.records import CLAIMED, CONTESTED, RECOMPUTED, REPRODUCED
from changeproof.report.page.embedding import asset, embedded
from changeproof.runs.plan import DEFAULT_MODEL
from changeproof.tables.names import dataset_name, family_name

ASSETS = Path(__file__).parent / "assets"
# What each state means, in the order in which filters have them.
STATES = {
    REPRODUCED: "The method was run again by the keeper of the board, and gave the same answers.",
    RECOMPUTED: "Every number was computed from the answers by the keeper of the board. The method "
    "itself was not run again.",
    CONTESTED: "Somebody handed in changed models under which the answers hold less often than "
    "they are held to.",
    CLAIMED: "Nobody has verified it, so it has no numbers.",
}
# The same beside the name of an entry.
MEANINGS = {
    REPRODUCED: "run again, with the same answers",
    RECOMPUTED: "numbers computed from its answers",
    CONTESTED: "broken by changed models that somebody handed in",
    CLAIMED: "verified by nobody: no numbers",
}
MODELS = {
    DEFAULT_MODEL: "networks",
    "sklearn:LogisticRegression": "logistic regression",
    "sklearn:RandomForestClassifier": "forests",
    "sklearn:GradientBoostingClassifier": "boosting",
}
WIDE, NARROW = (1000.0, 430.0), (350.0, 330.0)
LINK = re.compile(r"https://[\w./?=&%#~+-]*[\w/]")
Row = dict[str, Any]


def page_of(document: Mapping[str, Any]) -> bytes:
    """Return the page for what `leaderboard.json` holds; whatever names it has are text."""
    pages = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ASSETS),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    pages.filters |= {
        "fixed": fixed,
        "linked": linked,
        "family": family_name,
        "access": lambda access: access.replace("relu", "ReLU"),
        "again": again,
        "least": least,
        "data": data_name,
        "percent": lambda share: fixed(100.0 * share, 1),
    }
    entries = {each["name"]: each for each in document["entries"]}
    results: dict[str, list[Row]] = {track["name"]: [] for track in document["tracks"]}
    for result in document["results"]:
        results[result["track"]].append(result)
    tracks = [
        _track(document, track, results[track["name"]], entries) for track in document["tracks"]
    ]
    cards = [_card(entry, document, results) for entry in document["entries"]]
    text = pages.get_template("board.html").render(
        board=document,
        tracks=tracks,
        cards=cards,
        states=STATES,
        meanings=MEANINGS,
        present=[state for state in STATES if any(e["state"] == state for e in entries.values())],
        accesses=sorted({each["access"] for each in entries.values()}),
        scale=SCALE,
        data=Markup(embedded({t["name"]: t["script"] for t in tracks})),
        style=Markup(f"{asset('page.css')}\n{_read(ASSETS / 'board.css')}"),
        script=Markup(_read(ASSETS / "board.js")),
    )
    return text.encode()


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def fixed(value: float | None, digits: int = 1) -> str:
    """Return a number for reading; nothing where it is undefined."""
    return "" if value is None else f"{value:z.{digits}f}"


def seconds(value: float | None) -> str:
    """Return seconds with two digits that mean something."""
    if value is None:
        return ""
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def again(rerun: Mapping[str, Any]) -> str:
    """Say what came of running a method again."""
    apart = rerun["difference"]
    if apart is None:
        return "other people got an answer"
    return f"answers are at most {apart:.2g} deviations apart" if apart else "the same answers"


def least(certified: Mapping[str, Any]) -> tuple[str, float] | None:
    """Return the family under which the fewest certified answers hold."""
    known = [(f, value) for f, value in certified["families"].items() if value is not None]
    return min(known, key=lambda pair: pair[1], default=None)


def linked(text: str) -> Markup:
    """Return text with links where it has addresses of the web."""
    parts, last = [], 0
    for found in LINK.finditer(text):
        parts += [escape(text[last : found.start()]), Markup('<a rel="noopener noreferrer" href="')]
        parts += [escape(found[0]), Markup('">'), escape(found[0]), Markup("</a>")]
        last = found.end()
    return Markup("").join([*parts, escape(text[last:])])


def data_name(cell: Mapping[str, Any]) -> str:
    """Return what a dataset is called, with the kind of model where it is no network."""
    name = dataset_name(cell["dataset"])
    model = str(cell["model"])
    return name if model == DEFAULT_MODEL else f"{name}, {model_name(model)}"


def model_name(reference: str) -> str:
    """Return what a kind of model is called."""
    return MODELS.get(reference, reference.rpartition(":")[2])


def _track(
    document: Mapping[str, Any],
    track: Row,
    results: Sequence[Row],
    entries: Mapping[str, Row],
) -> Row:
    """Return what the template shows of a track."""
    waiting = [
        {"entry": entries[each["entry"]], "reason": each["reason"]}
        for each in document["without_numbers"]
        if each["track"] == track["name"]
    ]
    rows = [{"entry": entries[each["entry"]], "result": each} for each in results]
    spots = [
        Spot(r["entry"]["name"], r["entry"]["label"], distance, value, r["entry"]["state"])
        for r in rows
        if (distance := r["result"]["distance"]["value"]) is not None
        and (value := r["result"]["end_to_end"]["value"]) is not None
    ]
    pictures: list[Picture] = []
    if spots:
        pictures = [picture(spots, track["limit"], *WIDE)]
        pictures += [picture(spots, track["limit"], *NARROW, dense=True)]
    models = list(dict.fromkeys(str(cell["model"]) for cell in track["data"]))
    return {
        **track,
        "rows": rows,
        "waiting": waiting,
        "pictures": pictures,
        "heat": _heat(track, rows),
        "datasets": list(dict.fromkeys(dataset_name(cell["dataset"]) for cell in track["data"])),
        "models": [model_name(model) for model in models],
        "attacked": any(row["result"]["best_attack"] for row in rows),
        "secret": any(row["result"]["secret_bank"] for row in rows),
        "above": {bar: sum(bar in row["result"]["above"] for row in rows) for bar in ("95", "99")},
        "seconds": {
            row["entry"]["name"]: seconds(row["result"]["seconds_per_person"]) for row in rows
        },
        "script": _for_script(document, track, results),
    }


def _heat(track: Row, rows: Sequence[Row]) -> Row:
    """Return the cells of the picture of entries by families and by data."""
    columns = [*track["families"]] if len(track["families"]) > 1 else []
    cells = track["data"] if len(track["data"]) > 1 else []
    lines = []
    for row in rows:
        result = row["result"]
        values = [result["families"][family]["end_to_end"]["value"] for family in columns]
        values += [cell["end_to_end"]["value"] for cell in result["data"]] if cells else []
        lines.append(values)
    known = [value for line in lines for value in line if value is not None]
    low = min(10.0 * (min(known, default=0.0) // 10.0), 90.0)
    shaded = [
        [None if value is None else (value, shade(value, low, 100.0)) for value in line]
        for line in lines
    ]
    return {"families": columns, "cells": cells, "lines": shaded, "low": low}


def _for_script(document: Mapping[str, Any], track: Row, results: Sequence[Row]) -> Row:
    """Return what the script ranks and compares by: [value, low, high, group] by entry.

    Of a pair it has the difference with its interval, one entry less the other.
    """
    ranks: dict[str, dict[str, list[Any]]] = {}
    for result in results:
        name = result["entry"]
        ranks.setdefault("all", {})[name] = [*_numbers(result["end_to_end"]), result["group"]]
        for family, each in result["families"].items():
            numbers = [*_numbers(each["end_to_end"]), each["group"]]
            ranks.setdefault(f"family {family}", {})[name] = numbers
        for bar, group in result["above"].items():
            numbers = [*_numbers(result[track["ranked_above_bars_by"]]), group]
            ranks.setdefault(bar, {})[name] = numbers
    mine = [each for each in document["differences"] if each["track"] == track["name"]]
    pairs: dict[str, dict[str, dict[str, list[float | None]]]] = {}
    for (kind, entry), each in groupby(mine, key=lambda pair: (pair["of"], pair["entry"])):
        digits = 1 if kind == "end_to_end" else 3
        pairs.setdefault(kind, {})[entry] = {
            pair["other"]: [None if v is None else round(v, digits) for v in _numbers(pair)]
            for pair in each
        }
    return {"ranks": ranks, "pairs": pairs, "priced": track["ranked_above_bars_by"]}


def _numbers(interval: Mapping[str, Any]) -> list[float | None]:
    return [interval["value"], interval["low"], interval["high"]]


def _card(entry: Row, document: Mapping[str, Any], results: Mapping[str, Sequence[Row]]) -> Row:
    """Return what a card says of an entry: who it is, and what became of it in each track."""
    became = [
        (track, result)
        for track in document["tracks"]
        for result in results[track["name"]]
        if result["entry"] == entry["name"]
    ]
    reasons = dict.fromkeys(
        each["reason"] for each in document["without_numbers"] if each["entry"] == entry["name"]
    )
    return {"entry": entry, "became": became, "reasons": list(reasons)}
