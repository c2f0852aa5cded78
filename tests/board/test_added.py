"""A track that is added to an entry: the others are not asked and not judged again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from changeproof.board import submit as submitting
from changeproof.board import tracks, verify
from changeproof.board.entry import read_entry
from changeproof.board.records import Contest, Rerun, read_people, read_record, write_record
from changeproof.board.submit import submit
from changeproof.board.verify import Verified, known_of
from changeproof.board.verify import verify as verified
from changeproof.errors import InputError
from handed_in import answer_otherwise, copied, frozen_track, say_otherwise, setting

BOTH = ("plain", "ruled")
PLANS: dict[str, dict[str, Any]] = {
    "plain": {"datasets": ("diabetes",), "families": ("new-initialization(replicates=2)",)},
    "ruled": {
        "datasets": ("german-credit",),
        "families": ("bootstrap(replicates=1)",),
        "feasible": True,
    },
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Have two small tracks; what is computed once is kept for all tests of this module."""
    folder = tmp_path_factory.mktemp("tracks")
    with pytest.MonkeyPatch.context() as patch:
        for name, plan in PLANS.items():
            values = {**plan, "base_seeds": (2026,), "factuals": 4}
            store = frozen_track(patch, folder, name, **values)
        yield store


def handed_in(folder: Path, store: Path, *names: str) -> Path:
    """Hand in and verify an entry, and return it."""
    out = folder / "entries" / "mine"
    submit("kdtree", names, out, None, setting(store))
    verified(out, setting=setting(store))
    return out


@pytest.fixture(scope="module")
def at_once(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return handed_in(tmp_path_factory.mktemp("at-once"), store, *BOTH)


def record_of(entry: Path) -> Path:
    return entry.parent.parent / "records" / entry.name


def extended(entry: Path, store: Path) -> Verified:
    """Add what an entry does not have of both tracks, and verify it."""
    known = known_of(entry)
    submit("kdtree", BOTH, entry, None, setting(store), keep=entry)
    return verified(entry, known=known, setting=setting(store))


@pytest.mark.parametrize("first", BOTH)
def test_an_extended_entry_is_that_of_both_tracks_at_once(
    first: str, at_once: Path, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = handed_in(tmp_path, store, first)
    asked: list[str] = []
    for module, name in ((submitting, "asking"), (verify, "judging")):
        real = getattr(module, name)

        def noted(part: tracks.Part, *given: Any, real: Any = real) -> Any:
            asked.append(part.track)
            return real(part, *given)

        monkeypatch.setattr(module, name, noted)
    found = extended(entry, store)
    (other,) = set(BOTH) - {first}
    assert asked == [other, other]  # by one who asks, and by one who verifies
    one, two = read_record(record_of(at_once)), found.record
    assert (one.scores, one.tracks) == (two.scores, two.tracks)
    assert set(two.seconds_per_person) == set(BOTH)
    for name in ("entries/mine/answers.parquet", "records/mine/people.parquet"):
        assert (tmp_path / name).read_bytes() == (at_once.parents[1] / name).read_bytes()


def test_only_what_is_about_unchanged_tracks_is_taken_over(store: Path, tmp_path: Path) -> None:
    entry = handed_in(tmp_path, store, "plain")
    record = read_record(record_of(entry))
    contest = Contest(
        by="B. Breaker",
        models="0" * 64,
        track="plain",
        dataset="diabetes",
        model="mlp",
        base_seed=2026,
        held=0.1,
        claimed=0.9,
        admissible=1,
    )
    again = Rerun(equal=True, difference=0.0, people=4, changeproof="0", processor="one")
    known_to_keeper = record.model_copy(
        update={"contests": (contest,), "state": "contested", "rerun": again}
    )
    write_record(record_of(entry), known_to_keeper, read_people(record_of(entry)))
    found = extended(entry, store).record
    assert (found.state, found.contests, found.rerun) == ("contested", (contest,), None)


def test_answers_that_are_others_now_are_judged_again(
    at_once: Path, store: Path, tmp_path: Path
) -> None:
    known = known_of(at_once)
    assert known is not None and list(known.still_true(known.told)) == list(BOTH)
    other = copied(at_once, tmp_path)

    def silent(rows: list[dict[str, Any]]) -> None:
        rows[0].update(counterfactual=None, outcome="tired")

    answer_otherwise(other, silent)
    told = verify.checked_answers(read_entry(other))
    assert list(known.still_true(told)) == ["ruled"]
    plain = verified(other, records=tmp_path / "plain", setting=setting(store))
    with_known = verified(other, known=known, records=tmp_path / "known", setting=setting(store))
    assert plain.record.scores == with_known.record.scores
    assert known_of(other, at_once.parents[1] / "records") is None  # its record is about another


def test_what_was_edited_or_is_of_another_method_is_not_extended(
    at_once: Path, store: Path, tmp_path: Path
) -> None:
    def refuse(entry: Path, words: str) -> None:
        before = (entry / "entry.toml").read_bytes()
        with pytest.raises(InputError, match=words):
            submit("kdtree", BOTH, entry, None, setting(store), keep=entry)
        assert (entry / "entry.toml").read_bytes() == before

    edited = copied(at_once, tmp_path / "edited")
    answer_otherwise(edited, lambda rows: rows[0]["counterfactual"].reverse(), hashed=False)
    refuse(edited, "was edited after the entry was written")
    with pytest.raises(InputError, match="was edited after the entry was written"):
        known_of(edited, at_once.parents[1] / "records")
    for number, values in enumerate(({"method": "nearest-row"}, {"changeproof": "0.0.1"})):
        (key,) = values
        other = copied(at_once, tmp_path / str(number))
        say_otherwise(other, **values)
        refuse(other, f"{key}: got .* the answers of an entry are those of one method")
