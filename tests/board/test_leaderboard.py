"""The leaderboard's numbers, and entries that have none."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from changeproof.board.entry import ENTRY
from changeproof.board.leaderboard import leaderboard
from changeproof.board.publishing import COLUMNS, as_json, as_parquet, document_of, write_board
from changeproof.board.records import HELD, PEOPLE, RECORD, RECORDS, Contest, Record
from changeproof.errors import InputError
from command_line import call
from synthetic_board import (
    BENCHMARK,
    SHAPES,
    add_entry,
    add_record,
    contest,
    people_of,
    rerun,
    scores_of,
)

TRACK = "published"
SMALL = {TRACK: ([("diabetes", "mlp"), ("heloc", "mlp")], (2026, 2027), 12, ("bootstrap", "seeds"))}


def document(folder: Path) -> dict[str, Any]:
    return document_of(leaderboard(folder / "entries", folder / RECORDS, BENCHMARK))


def added(folder: Path, name: str, skill: float = 0.9, **known: Any) -> Path:
    """Write an entry with its record; return the entry."""
    entry = add_entry(folder, name, tracks=[TRACK])
    add_record(entry, people_of(SMALL, skill, 1.0, name), **known)
    return entry


def by_hand() -> pd.DataFrame:
    """Return people of two datasets and two base models, four or two of each, for numbers by hand.

    On diabetes: found 3 of 4 and valid 2 of 3 with 2026, all with 2027. On heloc all is valid.
    """
    rows = []
    for dataset, seed, row_id, found, valid, distance, held in (
        ("diabetes", 2026, 1, 1, 1, 0.5, (1.0, 0.5)),
        ("diabetes", 2026, 2, 1, 1, 1.5, (0.0, 0.5)),
        ("diabetes", 2026, 3, 1, 0, np.nan, (0.0, 0.0)),
        ("diabetes", 2026, 4, 0, 0, np.nan, (0.0, 0.0)),
        ("diabetes", 2027, 1, 1, 1, 1.0, (1.0, 1.0)),
        ("diabetes", 2027, 5, 1, 1, 2.0, (1.0, 0.0)),
        ("heloc", 2026, 1, 1, 1, 3.0, (1.0, 1.0)),
        ("heloc", 2027, 2, 1, 1, 5.0, (0.0, 1.0)),
    ):
        shares = dict(zip((f"{HELD}bootstrap", f"{HELD}seeds"), held, strict=True))
        rows.append(
            {"track": TRACK, "dataset": dataset, "model": "mlp", "base_seed": seed,
             "row_id": row_id, "found": bool(found), "base_valid": bool(valid),
             "distance": distance, "limit": 0.5, "held": sum(held) / 2, **shares}
        )  # fmt: skip
    return pd.DataFrame(rows)


def test_numbers_are_means_over_base_models_and_then_over_datasets(tmp_path: Path) -> None:
    add_record(add_entry(tmp_path, "mine", tracks=[TRACK]), by_hand())
    found = document(tmp_path)
    (result,) = found["results"]
    # Diabetes: (75 + 100) / 2, and so on; heloc: 100, and 50 and 100 end to end by base model.
    expected = {
        "coverage": (87.5 + 100) / 2,
        "validity": ((200 / 3 + 100) / 2 + 100) / 2,
        "robustness": ((50 + 75) / 2 + (100 + 50) / 2) / 2,
        "end_to_end": ((25 + 75) / 2 + (100 + 50) / 2) / 2,
        "distance": ((1.0 + 1.5) / 2 + (3.0 + 5.0) / 2) / 2,
        "limit": 0.5,
        "price": ((2.0 + 3.0) / 2 + (6.0 + 10.0) / 2) / 2,
    }
    for metric, value in expected.items():
        assert result[metric]["value"] == pytest.approx(value, rel=1e-5), metric
    bootstrap, seeds = (result["families"][name]["end_to_end"] for name in ("bootstrap", "seeds"))
    assert bootstrap["value"] == pytest.approx(((25 + 100) / 2 + (100 + 0) / 2) / 2)
    assert seeds["value"] == pytest.approx(((25 + 50) / 2 + 100) / 2)
    assert result["worst_family"] == "bootstrap"
    assert result["group"] == "A"
    assert [cell["end_to_end"]["value"] for cell in result["data"]] == [50.0, 75.0]
    (track,) = found["tracks"]
    assert (track["limit"], track["answers"], track["base_seeds"]) == (0.5, 8, [2026, 2027])
    low, high = result["end_to_end"]["low"], result["end_to_end"]["high"]
    assert 0.0 <= low < 62.5 < high <= 100.0


def test_files_are_the_same_bytes_and_the_same_numbers(tmp_path: Path) -> None:
    for number in range(3):
        added(tmp_path, f"method-{number}", 0.5 + number / 5)
    boards = [leaderboard(tmp_path / "entries", tmp_path / RECORDS, BENCHMARK) for _ in range(2)]
    written = [as_json(document_of(board)) for board in boards]
    assert written[0] == written[1]
    assert as_parquet(boards[0]) == as_parquet(boards[1])
    found = json.loads(written[0])
    assert (found["schema"], found["licence"], found["benchmark"]) == (1, "CC0-1.0", BENCHMARK)
    path = write_board(boards[0], tmp_path / "board")
    table = pq.read_table(path.with_name("leaderboard.parquet"))
    about = json.loads(table.schema.metadata[b"changeproof.leaderboard"])
    assert about == {"schema": 1, "licence": "CC0-1.0", "benchmark": BENCHMARK}
    assert tuple(table.column_names) == COLUMNS
    rows = table.to_pandas().set_index(list(COLUMNS[:6]))["value"]
    assert rows.index.is_unique
    for result in found["results"]:
        where = (result["entry"], TRACK, "all", "all")
        assert rows[(*where, "all", "end_to_end")] == result["end_to_end"]["value"]
        for family, each in result["families"].items():
            assert rows[(*where, family, "robustness")] == each["robustness"]["value"]
        cell = result["data"][1]
        where = (result["entry"], TRACK, cell["dataset"], cell["model"])
        assert rows[(*where, "all", "price")] == cell["price"]["value"]
    assert b"CC0" in path.read_bytes()


def test_the_first_is_clearly_ahead_of_other_groups_and_of_nobody_in_its_own(
    tmp_path: Path,
) -> None:
    for name, skill in (("good", 1.1), ("close", 1.1), ("bad", 0.3)):
        shape = {TRACK: SHAPES[TRACK]}
        entry = add_entry(tmp_path, name, tracks=[TRACK])
        add_record(entry, people_of(shape, skill, 1.0, name))
    found = document(tmp_path)
    groups = {each["entry"]: each["group"] for each in found["results"]}
    assert groups == {"good": "A", "close": "A", "bad": "B"}
    pairs = {
        frozenset((each["entry"], each["other"])): each
        for each in found["differences"]
        if each["of"] == "end_to_end"
    }
    assert len(pairs) == 3
    near = pairs[frozenset(("good", "close"))]
    assert near["low"] <= 0.0 <= near["high"]
    for name in ("good", "close"):
        far = pairs[frozenset((name, "bad"))]
        sign = 1 if far["entry"] == name else -1
        assert min(sign * far["low"], sign * far["high"]) > 0.0


def test_price_is_compared_above_the_bars_only(tmp_path: Path) -> None:
    shape = {TRACK: ([("diabetes", "mlp")], (2026, 2027, 2028), 40, ("bootstrap",))}
    for name, skill, effort in (("near", 2.0, 0.5), ("far", 2.0, 5.0), ("weak", 0.6, 0.1)):
        people = people_of(shape, skill, effort, name)
        valid = people["base_valid"] | True
        people["found"] = people["base_valid"] = valid
        people["distance"] = people["limit"] * (1 + effort)
        if skill > 1:
            people[["held", f"{HELD}bootstrap"]] = 1.0
        add_record(add_entry(tmp_path, name, tracks=[TRACK]), people)
    found = document(tmp_path)
    above = {each["entry"]: each["above"] for each in found["results"]}
    assert above == {"near": {"95": "A", "99": "A"}, "far": {"95": "B", "99": "B"}, "weak": {}}
    prices = {each["entry"]: each["price"]["value"] for each in found["results"]}
    assert prices == {"near": 1.5, "far": 6.0, "weak": 1.1}
    (pair,) = [each for each in found["differences"] if each["of"] == "price_above_99"]
    # In units of the mean limit: 6 less 1.5 times it.
    sign = 1 if pair["entry"] == "far" else -1
    assert sign * pair["value"] == pytest.approx(4.5, rel=1e-5)


def test_without_a_limit_distance_stands_for_price(tmp_path: Path) -> None:
    for name in ("one", "two"):
        people = people_of(SMALL, 3.0, 1.0, name).assign(limit=np.nan)
        people["found"] = people["base_valid"] = True
        people["distance"] = 1.0 if name == "one" else 2.0
        people[["held", f"{HELD}bootstrap", f"{HELD}seeds"]] = 1.0
        add_record(add_entry(tmp_path, name, tracks=[TRACK]), people)
    found = document(tmp_path)
    assert found["tracks"][0]["limit"] is None
    assert found["tracks"][0]["ranked_above_bars_by"] == "distance"
    assert {each["entry"]: each["above"]["99"] for each in found["results"]} == {
        "one": "A",
        "two": "B",
    }
    assert all(each["price"]["value"] is None for each in found["results"])


def test_a_family_that_some_data_do_not_have_is_averaged_over_the_others(tmp_path: Path) -> None:
    for name in ("one", "two"):
        people = people_of(SMALL, 0.9, 1.0, name)
        people.loc[people["dataset"] == "heloc", f"{HELD}seeds"] = np.nan
        people["held"] = people[[f"{HELD}bootstrap", f"{HELD}seeds"]].mean(axis=1)
        add_record(add_entry(tmp_path, name, tracks=[TRACK]), people)
    found = document(tmp_path)
    for result in found["results"]:
        people = pd.read_parquet(tmp_path / RECORDS / result["entry"] / PEOPLE)
        mine = people[people["dataset"] == "diabetes"]
        expected = 100 * mine.groupby("base_seed")[f"{HELD}seeds"].mean().mean()
        assert result["families"]["seeds"]["end_to_end"]["value"] == pytest.approx(expected, 1e-5)
        assert result["families"]["seeds"]["group"]


def test_what_nobody_verified_has_no_number_whatever_it_claims(tmp_path: Path) -> None:
    added(tmp_path, "honest")
    add_entry(
        tmp_path,
        "boaster",
        tracks=[TRACK],
        claims={TRACK: {"robustness": 98.7654, "distance": 0.043217}},
        seconds={TRACK: 0.000321},
    )
    found = document(tmp_path)
    assert [each["entry"] for each in found["results"]] == ["honest"]
    assert found["without_numbers"] == [
        {"track": TRACK, "entry": "boaster", "reason": "Nobody has verified it."}
    ]
    (entry,) = [each for each in found["entries"] if each["name"] == "boaster"]
    assert (entry["state"], entry["verified"]) == ("claimed", None)
    path = write_board(leaderboard(tmp_path / "entries", tmp_path / RECORDS, BENCHMARK), tmp_path)
    for file in (path, path.with_name("leaderboard.json")):
        text = file.read_text()
        assert "boaster" in text
        assert not re.search(r"98\.7|0\.0432|0\.00032|3\.2.?e-0?4", text)


def test_seconds_are_those_of_the_keeper(tmp_path: Path) -> None:
    added(tmp_path, "asked", seconds_per_person={TRACK: 0.5})
    added(tmp_path, "again", state="reproduced", rerun=rerun([TRACK], 0.25))
    found = {each["entry"]: each["seconds_per_person"] for each in document(tmp_path)["results"]}
    assert found == {"asked": None, "again": 0.25}


def test_the_strongest_attack_counts(tmp_path: Path) -> None:
    attacks: tuple[Contest, ...] = tuple(contest("attacked", held) for held in (0.5, 0.25, 0.75))
    idle = contest("attacked", 0.0).model_copy(update={"admissible": 0})
    added(tmp_path, "attacked", state="contested", contests=(*attacks, idle))
    (result,) = document(tmp_path)["results"]
    assert result["best_attack"]["held"] == 0.25


def test_certified_answers_are_counted_apart(tmp_path: Path) -> None:
    people = by_hand()
    people["certified"] = [True, False, False, False, True, False, True, True]
    add_record(add_entry(tmp_path, "mine", tracks=[TRACK]), people)
    certified = document(tmp_path)["results"][0]["certified"]
    assert certified["people"] == ((25 + 50) / 2 + 100) / 2
    assert certified["families"]["bootstrap"] == ((100 + 100) / 2 + (100 + 0) / 2) / 2
    assert certified["families"]["seeds"] == ((50 + 100) / 2 + 100) / 2
    assert certified["robustness"] == ((75 + 100) / 2 + (100 + 50) / 2) / 2


def change(path: Path, **values: Any) -> None:
    """Edit a record as a forger would."""
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, **values}))


def forged_scores(record: Path) -> None:
    content = json.loads((record / RECORD).read_text())
    for score in content["scores"]:
        if score["metric"] == "end_to_end":
            score["value"] = 99.9
    (record / RECORD).write_text(json.dumps(content))


def edited_people(record: Path, column: str, value: Any) -> None:
    people = pd.read_parquet(record / PEOPLE)
    text = isinstance(value, str)
    people[column] = people[column].astype(str if text else float)
    people.loc[3, column] = value
    people.to_parquet(record / PEOPLE)


@pytest.mark.parametrize(
    ("forge", "reason"),
    [
        (forged_scores, "end to end on diabetes, 2026, in the track published is not what its"),
        (lambda it: change(it / RECORD, answers_sha256="0" * 64), "files have changed since"),
        (lambda it: change(it / RECORD, entry_sha256="0" * 64), "files have changed since"),
        (lambda it: change(it / RECORD, benchmark="2025.1"), "is of version 2025.1 of the bench"),
        (lambda it: change(it / RECORD, name="other"), "is about 'other'; expected 'forged'"),
        (lambda it: change(it / RECORD, state="perfect"), "state: input should be"),
        (lambda it: change(it / RECORD, scores=[]), "not of the same base models"),
        (lambda it: change(it / RECORD, note="hm"), "unknown key 'note'"),
        (lambda it: (it / RECORD).write_text("[1"), "is not JSON"),
        (lambda it: (it / PEOPLE).unlink(), "cannot read"),
        (lambda it: (it / PEOPLE).write_bytes(b"PAR1"), "cannot read"),
        (lambda it: edited_people(it, "held", 1.5), "cannot be"),
        (lambda it: edited_people(it, "distance", -1.0), "cannot be"),
        (lambda it: edited_people(it, "held", "all"), "not readable"),
        (lambda it: edited_people(it, "track", "linear"), "track 'linear', which it is not in"),
        (
            lambda it: pd.concat([pd.read_parquet(it / PEOPLE)] * 2).to_parquet(it / PEOPLE),
            "listed twice",
        ),
    ],
)
def test_a_record_that_is_not_of_the_entry_gives_no_numbers(
    tmp_path: Path, forge: Any, reason: str
) -> None:
    added(tmp_path, "forged")
    forge(tmp_path / RECORDS / "forged")
    found = document(tmp_path)
    assert found["results"] == []
    (without,) = found["without_numbers"]
    assert reason in without["reason"]
    assert "\n" not in without["reason"]
    assert found["entries"][0]["state"] == "claimed"


def test_answers_that_changed_after_they_were_verified_have_no_numbers(tmp_path: Path) -> None:
    entry = added(tmp_path, "edited")
    (entry / "answers.parquet").write_bytes(b"better answers")
    found = document(tmp_path)
    assert found["results"] == []
    assert (
        "its files have changed since they were verified" in found["without_numbers"][0]["reason"]
    )


def test_versions_are_never_mixed(tmp_path: Path) -> None:
    added(tmp_path, "new")
    entry = add_entry(tmp_path, "old", tracks=[TRACK], benchmark="2025.1")
    add_record(entry, people_of(SMALL, 1.0, 1.0, "old"), benchmark="2025.1")
    found = document(tmp_path)
    assert [each["name"] for each in found["entries"]] == ["new"]
    assert [each["entry"] for each in found["results"]] == ["new"]
    (old,) = found["of_other_versions"]
    assert (old["name"], old["benchmark"], old["verified"]) == ("old", "2025.1", None)


def test_who_answered_other_people_has_no_numbers(tmp_path: Path) -> None:
    for name in ("one", "two"):
        added(tmp_path, name)
    people = people_of(SMALL, 1.0, 1.0, "stranger")
    people["row_id"] += 1
    add_record(add_entry(tmp_path, "stranger", tracks=[TRACK]), people)
    found = document(tmp_path)
    assert {each["entry"] for each in found["results"]} == {"one", "two"}
    assert found["without_numbers"][0]["entry"] == "stranger"
    assert "not those of the other entries" in found["without_numbers"][0]["reason"]


def test_a_track_has_those_who_are_in_it(tmp_path: Path) -> None:
    both = add_entry(tmp_path, "both", tracks=["lasting", "published", "linear"])
    add_record(both, people_of(SHAPES, 0.9, 1.0, "both"))
    added_one = add_entry(tmp_path, "one", tracks=["published"])
    add_record(added_one, people_of({TRACK: SHAPES[TRACK]}, 0.9, 1.0, "one"))
    found = document(tmp_path)
    assert [track["name"] for track in found["tracks"]] == ["published", "linear", "lasting"]
    entries = {
        track["name"]: {r["entry"] for r in found["results"] if r["track"] == track["name"]}
        for track in found["tracks"]
    }
    assert entries == {"published": {"both", "one"}, "linear": set(), "lasting": {"both"}}
    assert found["without_numbers"] == [
        {
            "track": "linear",
            "entry": "both",
            "reason": "Its answers in this track were not verified.",
        }
    ]
    # The lasting track has no bootstrap, and the published one no updates.
    families = {track["name"]: track["families"] for track in found["tracks"]}
    assert families["lasting"] == ["updates"]
    assert "updates" not in families["published"]


def test_scores_of_the_helper_are_those_of_the_tables(tmp_path: Path) -> None:
    """The helper computes scores person after person; the board refuses others."""
    people = by_hand()
    scores = {(s.dataset, s.base_seed, s.family, s.metric): s.value for s in scores_of(people)}
    assert scores["diabetes", 2026, "all", "end_to_end"] == 25.0
    entry = add_entry(tmp_path, "mine", tracks=[TRACK])
    folder = add_record(entry, people)
    assert Record.from_bytes((folder / RECORD).read_bytes(), "it").state == "recomputed"


def test_a_folder_that_is_no_entry_is_named_and_the_others_are_shown(tmp_path: Path) -> None:
    added(tmp_path, "good")
    (tmp_path / "entries" / "empty").mkdir()
    strange = add_entry(tmp_path, "strange", tracks=[TRACK])
    (strange / ENTRY).write_text("format = 2\n")
    found = document(tmp_path)
    assert [each["entry"] for each in found["results"]] == ["good"]
    assert {each["folder"] for each in found["refused"]} == {"empty", "strange"}


def test_command_writes_the_board_and_says_what_has_no_numbers(tmp_path: Path) -> None:
    added(tmp_path, "good")
    add_entry(tmp_path, "new", tracks=[TRACK])
    done = call("leaderboard", "entries", "--out", "here", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Entries: 1 claimed, 1 recomputed." in done.stdout
    assert "Without numbers: new. Nobody has verified it." in done.stdout
    names = {path.name for path in (tmp_path / "here").iterdir()}
    assert names == {"index.html", "leaderboard.json", "leaderboard.parquet"}
    # Without the records nothing is known.
    done = call("leaderboard", "entries", "--records", "elsewhere", cwd=tmp_path)
    assert "Entries: 2 claimed." in done.stdout
    for arguments, message in (
        (["nowhere"], "nowhere is not a directory; expected a folder with entries"),
        (["here"], "here holds no entry"),
    ):
        done = call("leaderboard", *arguments, cwd=tmp_path)
        assert done.returncode == 2
        assert message in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1


def test_nothing_is_written_where_nothing_can_be(tmp_path: Path) -> None:
    added(tmp_path, "good")
    (tmp_path / "file").write_text("")
    board = leaderboard(tmp_path / "entries", tmp_path / RECORDS, BENCHMARK)
    with pytest.raises(InputError, match="cannot write"):
        write_board(board, tmp_path / "file")
