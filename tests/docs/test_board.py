"""The page on handing in is true: its method is submitted, verified, reproduced and contested."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from changeproof.board.tracks import TRACKS, VERSION
from command_line import call, run_script

PAGE = Path(__file__).resolve().parents[2] / "docs" / "board.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TEXT, flags=re.DOTALL | re.MULTILINE)


def blocks(language: str) -> list[str]:
    return [text for kind, text in BLOCKS if kind == language]


def test_a_strangers_method_goes_all_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for text in blocks("python"):
        name = re.match(r"# ([\w/]+\.py)\n", text)
        assert name is not None, "every file starts with its name"
        (tmp_path / name[1]).parent.mkdir(exist_ok=True)
        (tmp_path / name[1]).write_text(text)
    said = []
    for command in (line for text in blocks("console") for line in text.splitlines()):
        program, *arguments = shlex.split(command)
        if program == "changeproof":
            jobs = [] if arguments[0] == "leaderboard" else ["--jobs", "1"]
            done = call(*arguments, *jobs, cwd=tmp_path)
        else:
            done = run_script(tmp_path / arguments[0])
        assert done.returncode == 0, command + done.stdout + done.stderr
        said.append(done.stdout)
    submitted, verified, again, _, contested, shown = said
    assert "Its numbers: changeproof verify entries/confident" in submitted
    assert "confident is recomputed." in verified
    assert "confident is reproduced." in again
    assert "under 5 admissible models" in contested
    record = json.loads((tmp_path / "records" / "confident" / "record.json").read_text())
    assert record["label"] == "Confident neighbour" and record["rerun"]["equal"]
    assert [each["by"] for each in record["contests"]] == ["B. Breaker"]
    assert f"Entries: 1 {record['state']}." in shown
    board = json.loads((tmp_path / "board" / "leaderboard.json").read_text())
    (result,) = board["results"]
    assert result["entry"] == "confident" and result["end_to_end"]["value"] is not None
    assert result["best_attack"]["by"] == "B. Breaker"
    assert "Confident neighbour" in (tmp_path / "board" / "index.html").read_text()
    assert (tmp_path / "cache" / "changeproof" / "board" / VERSION).is_dir()


def test_every_track_is_named() -> None:
    listed = re.findall(r"^\| `([a-z]+)` \|", TEXT, flags=re.MULTILINE)
    assert listed == list(TRACKS)
    assert f"version {VERSION}" in TEXT
