"""Entries and records of methods that do not exist, for tests of the leaderboard."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from changeproof.board.entry import ANSWERS, ENTRY, Entry, digest
from changeproof.board.records import (
    ALL,
    HELD,
    RECORDS,
    Contest,
    Record,
    Rerun,
    Score,
    write_record,
)

BENCHMARK = "2026.1"
FAMILIES = ("new-initialization", "bootstrap", "architecture", "parameter-perturbation")
# Dataset and model, base seeds, people and families of a track.
SHAPES: dict[str, tuple[Sequence[tuple[str, str]], Sequence[int], int, Sequence[str]]] = {
    "published": (
        [("breast-cancer", "mlp"), ("diabetes", "mlp")], range(2026, 2029), 40, FAMILIES
    ),
    "lasting": ([("diabetes", "mlp")], range(2026, 2029), 20, ("updates",)),
}  # fmt: skip


def people_of(
    tracks: Mapping[str, Any], skill: float, effort: float, name: str = ""
) -> pd.DataFrame:
    """Return what became of the people: most advice of a skilled entry holds, and it is far."""
    digest = hashlib.sha256(name.encode()).digest()
    own = np.random.default_rng(int.from_bytes(digest[:8], "big"))
    parts = []
    for track, (cells, seeds, count, families) in tracks.items():
        for cell, (dataset, model) in enumerate(cells):
            for seed in seeds:
                people = np.random.default_rng([seed, cell])
                luck = people.uniform(size=count)
                limit = people.uniform(0.2, 0.6, count)
                found = own.uniform(size=count) < 0.98
                valid = found & (own.uniform(size=count) < 0.97)
                held = {}
                for number, family in enumerate(families):
                    chance = np.clip(
                        skill + 0.25 * (luck - 0.5) - 0.12 * number * (1 - skill), 0, 1
                    )
                    held[HELD + family] = np.where(valid, own.binomial(25, chance) / 25, 0.0)
                parts.append(
                    pd.DataFrame(
                        {
                            "track": track,
                            "dataset": dataset,
                            "model": model,
                            "base_seed": seed,
                            "row_id": people.permutation(1000)[:count],
                            "found": found,
                            "base_valid": valid,
                            "distance": np.where(
                                valid, limit * (1 + effort * own.uniform(0.5, 1.5, count)), np.nan
                            ),
                            "limit": limit,
                            "held": np.mean(list(held.values()), axis=0),
                            **held,
                        }
                    )
                )
    return pd.concat(parts, ignore_index=True)


def scores_of(people: pd.DataFrame) -> list[Score]:
    """Return the scores of people, person after person."""
    scores = []
    for (track, dataset, model, seed), rows in people.groupby(
        ["track", "dataset", "model", "base_seed"]
    ):
        found, valid = rows["found"].astype(bool), rows["base_valid"].astype(bool)
        mean, least = rows["distance"][valid].mean(), rows["limit"][valid].mean()
        values = {
            (ALL, "coverage"): 100 * found.mean(),
            (ALL, "validity"): 100 * valid[found].mean(),
            (ALL, "distance"): mean,
            (ALL, "limit"): least,
            (ALL, "price"): mean / least,
        }
        for column in ["held", *(name for name in rows if str(name).startswith(HELD))]:
            if rows[column].notna().all():
                family = ALL if column == "held" else str(column).removeprefix(HELD)
                values[family, "robustness"] = 100 * rows[column][valid].mean()
                values[family, "end_to_end"] = 100 * rows[column].mean()
        for (family, metric), value in values.items():
            scores.append(
                Score(
                    track=str(track),
                    dataset=str(dataset),
                    model=str(model),
                    base_seed=int(seed),
                    family=family,
                    metric=metric,  # type: ignore[arg-type]
                    value=float(value) if np.isfinite(value) else None,
                )
            )
    return scores


def add_entry(folder: Path, name: str, *, tracks: Sequence[str], **said: Any) -> Path:
    """Write an entry; the answers are of no interest here."""
    entry = folder / "entries" / name
    entry.mkdir(parents=True)
    (entry / ANSWERS).write_bytes(f"the answers of {name}".encode())
    values: dict[str, Any] = {
        "label": name,
        "authors": ("A. Nobody",),
        "paper": f"A. Nobody: On {name}. Nowhere 2026. https://example.org/{name}",
        "bibtex": f"@article{{{name},\n  title = {{On {name}}},\n  year = {{2026}}\n}}",
        "code": f"https://example.org/code/{name}",
        "commit": "0123abcd",
        "licence": "MIT",
        "access": "predictions",
        "trains": False,
        "method": name,
        "settings": {"probability": "0.8"},
        "benchmark": BENCHMARK,
        "changeproof": "5.0.0",
    }
    made = Entry(
        name=name,
        tracks=tuple(tracks),
        answers_sha256=digest((entry / ANSWERS).read_bytes()),
        **{**values, **said},
    )
    (entry / ENTRY).write_bytes(made.to_bytes())
    return entry


def add_record(entry: Path, people: pd.DataFrame, **known: Any) -> Path:
    """Write the record of an entry, with the scores of these people."""
    tracks = tuple(dict.fromkeys(people["track"]))
    values: dict[str, Any] = {
        "benchmark": BENCHMARK,
        "label": entry.name,
        "entry_sha256": digest((entry / ENTRY).read_bytes()),
        "answers_sha256": digest((entry / ANSWERS).read_bytes()),
        "state": "recomputed",
        "tolerance": 0.0,
        "verified_on": "2026-11-18",
        "changeproof": "5.0.0",
        "scores": tuple(scores_of(people)),
    }
    folder = entry.parent.parent / RECORDS / entry.name
    record = Record(name=entry.name, tracks=tracks, **{**values, **known})
    write_record(folder, record, people)
    return folder


def rerun(tracks: Sequence[str], seconds: float) -> Rerun:
    return Rerun(
        equal=True,
        difference=0.0,
        people=40,
        changeproof="5.0.0",
        processor="x86-64",
        seconds_per_person=dict.fromkeys(tracks, seconds),
    )


def contest(entry: str, held: float) -> Contest:
    return Contest(
        by="B. Somebody",
        models=hashlib.sha256(entry.encode()).hexdigest(),
        track="published",
        dataset="diabetes",
        model="mlp",
        base_seed=2026,
        held=held,
        claimed=0.9,
        admissible=12,
        left_out=("model-3 loses 0.08 of the balanced accuracy",),
    )


def full_board(folder: Path, number: int = 40) -> Path:
    """Write so many entries of all kinds, with records beside; return the folder of entries."""
    accesses = ("predictions", "gradients", "linear coefficients", "relu parameters")
    for place in range(number):
        name = f"method-{place:02d}"
        label = ("KD-tree", "Quorum", "RobX", "A method with rather a long name")[place % 4]
        in_tracks = list(SHAPES) if place % 3 == 0 else ["published"]
        entry = add_entry(
            folder,
            name,
            tracks=in_tracks,
            label=f"{label} {place:02d}",
            access=accesses[place % 4],
            trains=place % 5 == 0,
            promise="holds within the radius 0.005" if place % 6 == 0 else "",
            seconds=dict.fromkeys(in_tracks, 0.02),
        )
        if place % 13 == 12:
            continue
        skill = 1.04 - 0.5 * ((place * 7) % number / number) ** 2
        shapes = {track: SHAPES[track] for track in in_tracks}
        people = people_of(shapes, skill, 4 * skill**6 + 0.2 * (place % 7), name)
        known: dict[str, Any] = {}
        if place % 2:
            known = {"state": "reproduced", "rerun": rerun(in_tracks, 0.003 * (1 + place))}
        if place % 11 == 10:
            known |= {"state": "contested", "contests": (contest(name, 0.31),)}
        add_record(entry, people, **known)
    return folder / "entries"
