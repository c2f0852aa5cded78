"""The tool adds tracks to entries that are on the board, and goes on where it was."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from changeproof.board import submit, verify
from changeproof.board.entry import read_entry
from handed_in import frozen_track, setting

ROOT = Path(__file__).resolve().parents[2]
TRACKS = ("first", "second")


def test_a_track_is_added_to_what_is_on_the_board(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools"), *sys.path])
    import fill_board  # type: ignore[import-not-found]

    values: dict[str, Any] = {"datasets": ("diabetes",), "base_seeds": (2026,), "factuals": 3}
    for name in TRACKS:
        families = ("bootstrap(replicates=1)",)
        store = frozen_track(monkeypatch, tmp_path, name, **values, families=families)
    monkeypatch.setattr(fill_board, "ON_BOARD", tmp_path / "entries")
    monkeypatch.setattr(fill_board, "RECORDS", tmp_path / "records")
    monkeypatch.setattr(fill_board, "REAL", TRACKS)
    monkeypatch.setattr(fill_board, "USUAL", {**fill_board.USUAL, "tracks": TRACKS})
    staged, there = tmp_path / "staged" / "kdtree", tmp_path / "entries" / "kdtree"

    def fill(*tracks: str) -> str:
        fill_board.hand_in("kdtree", list(tracks), staged, setting(store))
        return str(fill_board.put_on_board(staged, False, setting(store)))

    assert fill("first") == "recomputed"
    assert read_entry(there).entry.tracks == ("first",)
    fill_board.hand_in("kdtree", ["second"], staged, setting(store))
    assert read_entry(there).entry.tracks == ("first",)  # until it is verified
    assert fill("second") == "recomputed"
    assert read_entry(there) == read_entry(staged)._replace(folder=there)
    assert verify.record_about(read_entry(there), tmp_path / "records") is not None
    for module, name in ((submit, "asking"), (verify, "judging")):
        monkeypatch.setattr(module, name, None)  # nothing is left to ask or to compute
    monkeypatch.setattr(fill_board, "fits", lambda *given: True)
    assert fill("first", "second") == "recomputed"
