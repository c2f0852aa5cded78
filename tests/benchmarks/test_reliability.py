"""The campaign keeps what was tried, goes on where it was, and knows what must not happen."""

from __future__ import annotations

import errno
import json
from collections import Counter
from pathlib import Path

import pytest

from benchmarks import machine, reliability
from benchmarks.commands import call, half_written
from benchmarks.reliability import Journal, Trial, is_bad, left_of
from benchmarks.trials import FAULTS, ON_DISK, STATES
from changeproof.files import write_together
from command_line import start_server

TOLD = ("good", "traceback", "good")


def trial(number: int) -> Counter[str]:
    return Counter({TOLD[number % 3]: 2})


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(machine, "RESULTS", tmp_path)
    monkeypatch.setattr(reliability, "TRIALS", {"odd": Trial(trial, 6, on_a_run=False)})
    monkeypatch.setattr(reliability.report, "main", lambda: None)
    return tmp_path


def test_a_campaign_goes_on_and_counts(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*words: str) -> int:
        command = ["reliability", "--journal", str(results / "journal.jsonl"), *words]
        monkeypatch.setattr("sys.argv", command)
        return reliability.main()

    def counts() -> list[str]:
        lines = (results / "reliability.csv").read_text().splitlines()[1:]
        return [line.rpartition(",")[0] for line in lines]

    assert run("--share", "0.17") == 0
    assert counts() == ["odd,good,2"]
    assert run() == 1
    assert counts() == ["odd,good,8", "odd,traceback,4"]
    lines = (results / "journal.jsonl").read_text().splitlines()
    assert [json.loads(line)["number"] for line in lines] == list(range(6))
    # Mended: only what ended badly is tried again, and the last line counts.
    monkeypatch.setitem(
        reliability.TRIALS, "odd", Trial(lambda number: Counter({"good": 2}), 6, on_a_run=False)
    )
    assert list(left_of(Journal(results / "journal.jsonl"), "odd", 6, again=True)) == [1, 4]
    assert run("--again") == 0
    assert counts() == ["odd,good,12"]


def test_what_must_not_happen_is_known() -> None:
    for what in ("main: other bytes", "lock held: traceback", "certificate broken", "half-written"):
        assert is_bad({what: 1})
        assert not is_bad({what: 0})
    assert not is_bad({"main: same bytes": 3, "audit, full: refused in one line": 1})


def test_a_whole_campaign_has_every_fault_and_every_disk() -> None:
    assert reliability.TRIALS["fault"].times >= len(FAULTS)
    assert reliability.TRIALS["disk"].times >= len(ON_DISK) * len(STATES)


def test_a_file_that_stops_in_its_middle_is_not_left(tmp_path: Path) -> None:
    whole = Path.write_bytes
    try:
        half_written(2, errno.EIO)
        with pytest.raises(ValueError, match="Input/output error"):
            write_together({tmp_path / "a": b"one", tmp_path / "b": b"second"})
    finally:
        Path.write_bytes = whole  # type: ignore[method-assign]
    assert not list(tmp_path.iterdir())


def test_a_command_tells_its_end(tmp_path: Path) -> None:
    start_server()
    told = call(["status", "nowhere"], tmp_path)
    assert told.code == 2 and not told.traceback
    assert told.refusals == ["changeproof: nowhere is not a run directory: it has no plan.json"]
