"""From a method to the leaderboard: what verify writes is what the board reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from changeproof.board.leaderboard import leaderboard
from changeproof.board.publishing import document_of
from changeproof.board.records import RECORDS, read_record
from changeproof.board.submit import submit
from changeproof.board.tracks import VERSION
from changeproof.board.verify import track_mean, verify
from handed_in import frozen_track, setting

SMALL = {"datasets": ("diabetes",), "base_seeds": (2026,), "factuals": 6}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("updated", {"families": ("updates(length=3, replicates=2)",), "limit": True}),
        (
            "straight",
            {"families": ("bootstrap(replicates=2)",), "model": "sklearn:LogisticRegression"},
        ),
    ],
)
def test_the_numbers_of_a_record_are_those_of_the_board(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, values: dict[str, object]
) -> None:
    store = frozen_track(monkeypatch, tmp_path, name, **SMALL, **values)
    entry = tmp_path / "entries" / "mine"
    submit("kdtree", [name], entry, {}, setting(store))
    verify(entry, setting=setting(store))
    found = document_of(leaderboard(tmp_path / "entries", tmp_path / RECORDS, VERSION))
    assert found["without_numbers"] == []
    (result,) = found["results"]
    record = read_record(tmp_path / RECORDS / "mine")
    for metric in (
        "coverage",
        "validity",
        "robustness",
        "end_to_end",
        "distance",
        "limit",
        "price",
    ):
        expected = track_mean(record.scores, name, metric)
        shown = result[metric]["value"]
        assert (shown is None) == (expected is None)
        if expected is not None:
            assert shown == pytest.approx(expected, rel=1e-5)
    assert (result["price"]["value"] is not None) == ("limit" in values)
