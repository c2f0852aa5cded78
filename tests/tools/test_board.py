"""The committed leaderboard: its page and README are made from its numbers, and it opens full."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

import pytest

from changeproof.board.leaderboard import leaderboard
from changeproof.board.page import page_of
from changeproof.board.publishing import JSON, as_json, document_of
from changeproof.board.tracks import VERSION

ROOT = Path(__file__).resolve().parents[2]
BOARD = ROOT / "results" / "board"
DOCUMENT = json.loads((BOARD / JSON).read_bytes())


def test_page_and_readme_are_made_from_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools"), *sys.path])
    import board_pages  # type: ignore[import-not-found]

    assert (BOARD / "README.md").read_text(encoding="utf-8") == board_pages.readme_of(DOCUMENT)
    # Of a megabyte, pytest would look for the differences for minutes.
    same = (BOARD / "index.html").read_bytes() == page_of(DOCUMENT)
    assert same, "results/board/index.html is to be written again: tools/board_pages.py"


def test_the_numbers_are_those_of_the_entries_and_their_records() -> None:
    board = leaderboard(BOARD / "entries", BOARD / "records", VERSION)
    assert (BOARD / JSON).read_bytes() == as_json(document_of(board))


def test_every_method_that_is_to_be_there_was_verified() -> None:
    assert DOCUMENT["benchmark"] == VERSION and not DOCUMENT["refused"]
    listed = {each["name"]: each["state"] for each in DOCUMENT["entries"]}
    given = tomllib.loads((ROOT / "tools" / "board_entries.toml").read_text(encoding="utf-8"))
    assert set(listed) == set(given)
    assert set(listed.values()) <= {"recomputed", "reproduced"}


def test_a_number_of_every_entry_stands_in_every_track_that_it_answers() -> None:
    found = {(each["track"], each["entry"]) for each in DOCUMENT["results"]}
    expected = {(t, each["name"]) for each in DOCUMENT["entries"] for t in each["tracks"]}
    assert found == expected
    assert not DOCUMENT["without_numbers"]
