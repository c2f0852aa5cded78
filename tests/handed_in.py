"""Entries for tests: one that is honest, and what can be forged about it."""

from __future__ import annotations

import hashlib
import shutil
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tomli_w

from changeproof.board import frozen, tracks
from changeproof.board.running import Setting
from changeproof.board.submit import submit
from tools.freeze_benchmark import freeze

NAME = "mine"
Edit = Callable[[list[dict[str, Any]]], object]


def setting(store: Path) -> Setting:
    return Setting(store=store, jobs=1)


def honest(folder: Path, store: Path, method: str = "kdtree", **about: Any) -> Path:
    """Hand a method in for the trial track, and return the entry."""
    out = folder / "entries" / NAME
    submit(method, ["trial"], out, about, setting(store))
    return out


def frozen_track(
    patch: pytest.MonkeyPatch, folder: Path, name: str, *, models: Sequence[str] = (), **values: Any
) -> Path:
    """Have a small track of a test's own, frozen as the others are; return the store."""
    plans = tuple({**values, "model": model} for model in models) or (values,)
    track = tracks.Track(name, name.capitalize(), "For a test.", plans)
    patch.setitem(tracks.TRACKS, name, track)
    patch.setattr(frozen, "FOLDER", folder / "versions")
    freeze(track, setting(folder / "store"), folder / "versions" / tracks.VERSION)
    return folder / "store"


def copied(entry: Path, folder: Path, name: str = NAME) -> Path:
    """Return a copy of an entry, to be forged."""
    out = folder / "entries" / name
    shutil.copytree(entry, out)
    return out


def say_otherwise(entry: Path, **values: Any) -> None:
    """Write something else into `entry.toml`."""
    path = entry / "entry.toml"
    path.write_text(tomli_w.dumps({**tomllib.loads(path.read_text()), **values}))


def answer_otherwise(entry: Path, edit: Edit, *, hashed: bool = True) -> None:
    """Edit the answers, row by row; if `hashed`, the entry says that these are its answers."""
    path = entry / "answers.parquet"
    table = pq.read_table(path)
    rows = table.to_pylist()
    edit(rows)
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)
    if hashed:
        rehash(entry)


def rehash(entry: Path) -> None:
    content = (entry / "answers.parquet").read_bytes()
    say_otherwise(entry, answers_sha256=hashlib.sha256(content).hexdigest())
