"""What is handed in is recomputed, run again, and refused in one line where it is forged."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import changeproof as cp
from changeproof.board import frozen, tracks, verify
from changeproof.board.answers import read_answers
from changeproof.board.entry import read_entry
from changeproof.board.frozen import read_frozen, read_version
from changeproof.board.records import Rerun, read_people, read_record, write_record
from changeproof.board.secret import SecretFamily, key_hash, read_key
from changeproof.board.submit import submit
from changeproof.board.verify import track_mean
from changeproof.board.verify import verify as verified
from changeproof.changes.family import BaseModel
from changeproof.errors import InputError
from changeproof.runs.execute import PieceFailedError
from handed_in import (
    Edit,
    answer_otherwise,
    copied,
    frozen_track,
    honest,
    rehash,
    say_otherwise,
    setting,
)

KEY = b"a key of the keeper, for tests only"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is computed once is kept for all tests of this module."""
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def entry(tmp_path_factory: pytest.TempPathFactory, store: Path) -> Path:
    about = {"authors": ("A. Author",), "claims": {"trial": {"robustness": 83.0}}}
    return honest(tmp_path_factory.mktemp("honest"), store, **about)


@pytest.fixture(scope="module")
def found(entry: Path, store: Path) -> verify.Verified:
    return verified(entry, setting=setting(store))


def test_the_numbers_are_those_of_a_run(found: verify.Verified, tmp_path: Path) -> None:
    """The method itself, asked by a run, has the same numbers in the tables."""
    (part,) = tracks.TRACKS["trial"].parts
    results = cp.run(part.asking("kdtree"), tmp_path, jobs=1, publish=False)
    tables = results.tables()
    scores = found.record.table()
    seeds = tables["seed_results"].set_index("family")
    for metric, column in {
        "coverage": "coverage",
        "validity": "base_validity",
        "robustness": "empirical_robustness",
        "end_to_end": "end_to_end_robustness",
        "distance": "distance",
    }.items():
        for row in scores[scores["metric"] == metric].to_dict("records"):
            assert row["value"] == seeds.loc[row["family"], column]
    overall = scores[scores["family"] == "all"].set_index("metric")["value"]
    assert overall["price"] == tables["price"]["price_mean"].item()
    assert overall["limit"] == tables["price"]["limit_mean"].item()
    people = found.people
    assert people["held"].mean() * 100.0 == pytest.approx(overall["end_to_end"])
    assert people["distance"].mean() == pytest.approx(overall["distance"])
    assert (people["limit"] <= people["distance"]).sum() > 5
    families = [name for name in people.columns if name.startswith("held:")]
    assert people[families].mean(axis=1).to_numpy() == pytest.approx(people["held"])


def test_the_record_is_kept_beside_the_entries(found: verify.Verified, entry: Path) -> None:
    assert found.folder == entry.parent.parent / "records" / "mine"
    assert read_record(found.folder) == found.record
    pd.testing.assert_frame_equal(read_people(found.folder), found.people)
    assert (found.record.state, found.record.contests) == ("recomputed", ())
    handed = read_entry(entry)
    assert found.record.is_about(handed.entry_sha256, handed.answers_sha256)
    assert sorted(path.name for path in entry.iterdir()) == ["answers.parquet", "entry.toml"]


def test_entries_that_are_judged_together_are_in_the_store(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = [tmp_path / "entries" / name for name in ("random", "nearest")]
    for entry, method in zip(entries, ("growing-spheres", "nearest-row"), strict=True):
        submit(method, ["trial"], entry, {}, setting(store))
    verify.judge_together(entries, "trial", setting(store))
    monkeypatch.setattr("changeproof.runs.execute.compute", None)  # nothing is left to compute
    for entry in entries:
        scores = verified(entry, setting=setting(store)).record.table()
        assert len(scores) > 10
    with pytest.raises(PieceFailedError):  # another store has nothing
        verified(entries[0], setting=setting(tmp_path / "store"))


def test_what_is_reproduced_stays_so_as_long_as_the_entry_is_the_same(
    entry: Path, store: Path, found: verify.Verified, tmp_path: Path
) -> None:
    """That a method is really run again, tests/docs/test_board.py shows."""
    answers = read_answers(entry / "answers.parquet")
    again = verify.compared(read_entry(entry), answers, read_entry(entry), answers)
    assert again.equal and again.difference == 0.0
    record = found.record.model_copy(update={"rerun": again, "state": "reproduced"})
    write_record(tmp_path / "mine", record, found.people)
    assert verified(entry, records=tmp_path, setting=setting(store)).record.state == "reproduced"
    other = record.model_copy(update={"answers_sha256": "0" * 64})
    write_record(tmp_path / "mine", other, found.people)
    assert verified(entry, records=tmp_path, setting=setting(store)).record.state == "recomputed"


def moved(rows: list[dict[str, Any]]) -> None:
    rows[0]["counterfactual"][0] += 1e-3


def test_answers_that_the_method_does_not_give_are_not_reproduced(
    entry: Path, tmp_path: Path
) -> None:
    def again(**values: Any) -> Rerun:
        """Compare a forged entry with what its method says."""
        forged = copied(entry, tmp_path / str(len(list(tmp_path.iterdir()))))
        answer_otherwise(forged, values.pop("edit", moved))
        say_otherwise(forged, **values)
        one, two = read_entry(forged), read_entry(entry)
        told = read_answers(forged / "answers.parquet")
        return verify.compared(one, told, two, read_answers(entry / "answers.parquet"))

    other = again()
    assert not other.equal and other.difference == pytest.approx(1e-3)
    assert verify.state_of(other, ()) == "recomputed"
    near = again(tolerance=0.01)
    assert near.equal and verify.state_of(near, ()) == "reproduced"
    silent = again(edit=first(counterfactual=None, outcome="tired"), tolerance=1.0)
    assert not silent.equal and silent.difference is None


def test_a_rerun_that_fails_says_why(entry: Path, store: Path, tmp_path: Path) -> None:
    forged = copied(entry, tmp_path)
    say_otherwise(forged, method="no_such_module:Method")
    with pytest.raises(InputError, match="cannot run /nowhere/python: No such file"):
        verified(forged, rerun=True, python="/nowhere/python", setting=setting(store))
    assert not (tmp_path / "records").exists()


def first(**values: Any) -> Edit:
    return lambda rows: rows[0].update(values)


def twice(rows: list[dict[str, Any]]) -> None:
    rows[1]["row_id"] = rows[0]["row_id"]


def one_wide(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        row["counterfactual"] = [0.0]


# What is done to the answers of an honest entry, whose hash is then that of the forged ones.
FORGED: dict[str, tuple[Edit, str]] = {
    "somebody missing": (lambda rows: rows.pop(), "asks and is not answered"),
    "somebody twice": (twice, "this person is answered twice"),
    "somebody foreign": (first(row_id=123_456), "is not answered"),
    "somebody more": (
        lambda rows: rows.append({**rows[0], "row_id": 123_456}),
        "row 123456 is answered and does not ask",
    ),
    "another order": (lambda rows: rows.reverse(), "people are in another order than they ask"),
    "another seed": (first(base_seed=2027), "seed 2027 is not part of the entry's tracks"),
    "a hostile track": (first(track="../up\n"), r"trial|\.\./up"),
    "another width": (first(counterfactual=[0.0]), "a counterfactual of another width than 1"),
    "all too narrow": (one_wide, "counterfactuals have 1 values; expected 8"),
    "NaN": (first(counterfactual=[math.nan] * 8), "NaN or infinite values, and no reason"),
    "no answer, no reason": (first(counterfactual=None), "no counterfactual, and no reason"),
    "a reason beside": (first(outcome="tired"), "a counterfactual, and a reason why there is none"),
    "nobody": (lambda rows: rows.clear(), "nobody is answered; expected everybody"),
}


@pytest.mark.parametrize("what", FORGED)
def test_forged_answers_are_refused_in_one_line(
    what: str, entry: Path, store: Path, tmp_path: Path
) -> None:
    edit, words = FORGED[what]
    forged = copied(entry, tmp_path)
    answer_otherwise(forged, edit)
    refuse(forged, words, store)


def refuse(forged: Path, words: str, store: Path) -> None:
    with pytest.raises(InputError, match=words) as told:
        verified(forged, setting=setting(store))
    assert "\n" not in str(told.value)
    assert not (forged.parent.parent / "records").exists()


def given_up(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        row["counterfactual"], row["outcome"] = None, "too far away"


def test_an_entry_may_have_an_answer_for_nobody(entry: Path, store: Path, tmp_path: Path) -> None:
    silent = copied(entry, tmp_path)
    say_otherwise(silent, claims={})
    answer_otherwise(silent, given_up)
    found = verified(silent, setting=setting(store))
    scores = found.record.table().query("family == 'all'").set_index("metric")["value"]
    assert scores["coverage"] == 0.0 and scores["end_to_end"] == 0.0
    assert scores[["robustness", "distance"]].isna().all()


def test_the_factual_is_no_answer(entry: Path, store: Path, tmp_path: Path) -> None:
    task, row = cp.load_task("diabetes"), pq.read_table(entry / "answers.parquet")["row_id"][0]
    own = task.standardise(task.frame.loc[[row.as_py()]])[0].tolist()
    forged = copied(entry, tmp_path)
    answer_otherwise(forged, first(counterfactual=own))
    refuse(forged, "is none: candidate equals the factual", store)


def test_answers_that_were_edited_afterwards_are_refused(
    entry: Path, store: Path, tmp_path: Path
) -> None:
    forged = copied(entry, tmp_path)
    answer_otherwise(forged, moved, hashed=False)
    refuse(forged, "was edited after the entry was written", store)


def test_scores_that_were_typed_in_are_refused(entry: Path, store: Path, tmp_path: Path) -> None:
    forged = copied(entry, tmp_path)
    say_otherwise(forged, claims={"trial": {"robustness": 99.0}})
    refuse(
        forged, "mine claims robustness 99 on trial; recomputed from its answers it is 83", store
    )


def test_scores_have_no_place_among_the_answers(entry: Path, store: Path, tmp_path: Path) -> None:
    forged = copied(entry, tmp_path)
    path = forged / "answers.parquet"
    table = pq.read_table(path)
    pq.write_table(table.append_column("robustness", pa.array([99.0] * len(table))), path)
    rehash(forged)
    refuse(forged, "unknown column 'robustness'; an entry holds answers, never scores", store)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"benchmark": "2025.1"}, "of the benchmark version 2025.1; expected 2026.1: versions are"),
        ({"name": "../../etc"}, "cannot name an entry"),
        ({"name": "other"}, "'other' is in the folder 'mine'"),
        ({"label": "a\x1b[31m"}, "expected visible text"),
        ({"label": "a\nb"}, "expected text in one line"),
        ({"tracks": ["nothing"]}, "unknown track 'nothing'"),
        ({"tracks": []}, "tracks: "),
        ({"tracks": ["trial", "linear"]}, "linear"),
        ({"claims": {"linear": {"robustness": 1.0}}}, "the entry is not in the track 'linear'"),
        ({"claims": {"trial": {"score": 1.0}}}, "claims: unknown metric 'score'"),
        ({"scores": 99.0}, "unknown key 'scores'"),
        ({"answers_sha256": "0"}, "answers_sha256"),
        ({"access": "everything"}, "access"),
    ],
)
def test_forged_descriptions_are_refused_in_one_line(
    values: dict[str, Any], words: str, entry: Path, store: Path, tmp_path: Path
) -> None:
    forged = copied(entry, tmp_path)
    say_otherwise(forged, **{"claims": {}, "seconds": {}, **values})
    refuse(forged, words, store)


def test_what_is_no_entry_is_refused(entry: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no entry\.toml"):
        read_entry(tmp_path)
    linked = copied(entry, tmp_path)
    (linked / "answers.parquet").unlink()
    (linked / "answers.parquet").symlink_to(entry / "answers.parquet")
    with pytest.raises(InputError, match="is a symbolic link"):
        read_entry(linked)
    (linked / "answers.parquet").unlink()
    (linked / "answers.parquet").write_bytes(b"PAR1 nothing PAR1")
    rehash(linked)
    with pytest.raises(InputError, match="cannot read"):
        verified(linked)


def test_rows_that_break_rules_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values: dict[str, Any] = {"datasets": ("german-credit",), "base_seeds": (2026,), "factuals": 4}
    families = ("bootstrap(replicates=1)",)
    store = frozen_track(monkeypatch, tmp_path, "ruled", **values, families=families, feasible=True)
    forged = tmp_path / "entries" / "mine"
    submit("kdtree", ["ruled"], forged, None, setting(store))

    def younger(rows: list[dict[str, Any]]) -> None:
        task = cp.load_task("german-credit")
        row = next(row for row in rows if row["outcome"] == "found")
        row["counterfactual"][task.feature_names.index("age_in_years")] -= 1.0

    answer_otherwise(forged, younger)
    refuse(forged, "breaks a rule: age_in_years", store)


def test_models_that_are_not_kept_count_by_what_they_decide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values: dict[str, Any] = {"datasets": ("diabetes",), "base_seeds": (2026,), "factuals": 5}
    families = ("bootstrap(replicates=2)", "data-deletion(replicates=2)", "parameter-perturbation")
    model = "sklearn:LogisticRegression"
    store = frozen_track(
        monkeypatch, tmp_path, "logistic", **values, families=families, model=model
    )
    (cell,) = read_frozen("logistic").cells
    assert list(cell.families) == list(families[:2])  # the last cannot happen to it
    out = tmp_path / "entries" / "mine"
    submit("kdtree", ["logistic"], out, None, setting(store))
    # A keeper's machine makes the models again.
    found = verified(out, setting=setting(tmp_path / "elsewhere"))
    assert found.record.state == "recomputed"
    assert {each.family for each in found.record.scores} == {"all", *families[:2]}
    assert found.people["limit"].isna().all()
    other = cell.model_copy(update={"families": dict.fromkeys(cell.families, "0" * 64)})
    monkeypatch.setattr(verify, "frozen_cells", lambda track: {other.where: other})
    with pytest.raises(InputError, match="the changed models of bootstrap"):
        verified(out, setting=setting(store))


def test_who_asks_a_model_that_does_not_fit_is_told_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = frozen_track(
        monkeypatch,
        tmp_path,
        "mixed",
        models=("sklearn:LogisticRegression", "sklearn:GradientBoostingClassifier"),
        datasets=("diabetes",),
        base_seeds=(2026,),
        factuals=3,
        families=("bootstrap(replicates=1)", "parameter-perturbation"),  # the last fits neither
    )
    out = tmp_path / "entries" / "mine"
    submit("linear-robust", ["mixed"], out, None, setting(store))
    found = verified(out, setting=setting(store))
    answered = found.people.groupby("model")["found"].mean()
    assert answered.to_dict() == {
        "sklearn:GradientBoostingClassifier": 0.0,
        "sklearn:LogisticRegression": 1.0,
    }
    (_, other) = read_answers(out / "answers.parquet").values()
    assert set(other.outcomes) == {
        "needs linear coefficients of a model; GradientBoostingClassifier offers predictions"
    }


def test_other_models_than_those_of_the_version_are_refused(
    entry: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cell,) = read_frozen("trial").cells
    for key in ("data", "split", "people", "base"):
        other = cell.model_copy(update={key: "0" * 64})
        monkeypatch.setattr(verify, "frozen_cells", lambda track, o=other: {o.where: o})
        with pytest.raises(InputError, match=r"diabetes, mlp, seed 2026: .* of this machine"):
            verified(entry, setting=setting(store))
    other = cell.model_copy(update={"families": dict.fromkeys(cell.families, "0" * 64)})
    monkeypatch.setattr(verify, "frozen_cells", lambda track: {other.where: other})
    with pytest.raises(InputError, match="the changed models of new-initialization"):
        verified(entry, setting=setting(store))


def test_the_tracks_are_those_that_were_frozen() -> None:
    """Whoever changes a track makes a new version."""
    assert read_version().benchmark == tracks.VERSION
    for name, track in tracks.TRACKS.items():
        kept = read_frozen(name)
        assert (kept.benchmark, kept.track) == (tracks.VERSION, name)
        assert kept.plans == frozen.plain_plans(track)
        where = {
            (dataset, part.model, seed)
            for part in track.parts
            for dataset in part.plan.datasets
            for seed in part.plan.base_seeds
        }
        assert {cell.where for cell in kept.cells} == where


def test_the_secret_bank_has_the_same_changes_and_no_model_of_the_public_one(
    small_task: cp.Task, small_network: cp.Network
) -> None:
    from changeproof.models.network import NetworkLearner
    from changeproof.models.recipes import reserved_identity

    base, learner = BaseModel(2026, small_network), NetworkLearner()

    def identities(variants: Any) -> list[str]:
        recipes = [each.change for each in variants if isinstance(each.change, cp.TrainingRecipe)]
        plain = [learner.normalised(each, small_task) for each in recipes]
        return [reserved_identity(each, "", small_task) for each in plain]

    for name in cp.published_family_names():
        family = cp.get_family(name)
        public = family.variants(small_task, base, learner)
        secret = SecretFamily(family=family, key=KEY).variants(small_task, base, learner)
        assert [(v.level, v.replicate) for v in secret] == [(v.level, v.replicate) for v in public]
        assert not set(identities(secret)) & set(identities(public))
        other = SecretFamily(family=family, key=KEY + b"!").variants(small_task, base, learner)
        assert not set(identities(secret)) & set(identities(other))
        if name in ("bootstrap", "data-deletion", "label-update"):  # only what is drawn differs
            assert {v.change.initialisation_seed for v in secret} == {2026}
    moved = SecretFamily(family=cp.ParameterPerturbation(), key=KEY)
    (one, *_), (two, *_) = (f.variants(small_task, base, learner) for f in (moved, moved.family))
    assert not np.array_equal(one.change.parameters, two.change.parameters)
    assert "keeper" not in repr(moved) + moved.fingerprint


def test_answers_are_also_tested_on_the_secret_bank(
    entry: Path, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = read_version().model_copy(update={"secret_bank_sha256": key_hash(KEY)})
    monkeypatch.setattr(verify, "read_version", lambda: version)
    (tmp_path / "key").write_bytes(KEY)
    key = read_key(f"secret:{tmp_path / 'key'}")
    record = verified(entry, key=key, records=tmp_path, setting=setting(store)).record
    assert record.secret is not None and record.secret.bank == key_hash(KEY)
    hidden = track_mean(record.secret.scores, "trial", "robustness")
    assert hidden is not None and hidden != track_mean(record.scores, "trial", "robustness")
    with pytest.raises(InputError, match="is not the key of the secret bank"):
        verified(entry, key=KEY + b"!", setting=setting(store))
    with pytest.raises(InputError, match="expected secret:FILE"):
        read_key("public")
    (tmp_path / "key").write_bytes(b"short")
    with pytest.raises(InputError, match="has 5 bytes; expected at least 32"):
        read_key(f"secret:{tmp_path / 'key'}")


def test_an_entry_is_written_whole_or_not_at_all(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "entries" / "mine"
    with pytest.raises(InputError, match="label: "):
        submit("kdtree", ["trial"], out, {"label": "x" * 100}, setting(store))
    with pytest.raises(InputError, match="unknown track"):
        submit("kdtree", ["nothing"], out, None, setting(store))
    assert not out.exists()
    out.mkdir(parents=True)
    (out / "thesis.tex").write_text("mine")
    with pytest.raises(InputError, match=r"holds 'thesis\.tex'"):
        submit("kdtree", ["trial"], out, None, setting(store))
    with pytest.raises(InputError, match="cannot name an entry"):
        submit("kdtree", ["trial"], tmp_path / "-x", None, setting(store))


def test_a_method_that_gives_up_says_why(store: Path, tmp_path: Path) -> None:
    @cp.register_method
    class Tired(cp.KDTree):
        name = "tired-of-some"

        def _search(self, factuals: cp.Factuals) -> cp.Candidates:
            rows = super()._search(factuals).rows
            odd = factuals.row_ids % 2 == 1
            rows[odd] = np.nan
            return cp.Candidates(rows, ["tired" if each else "" for each in odd])

    out = honest(tmp_path, store, "tired-of-some")
    found = verified(out, setting=setting(store))
    people = found.people
    assert set(people["found"]) == {True, False}
    assert not people.loc[~people["found"], "held"].any()
    assert people.loc[~people["found"], "distance"].isna().all()
    coverage = track_mean(found.record.scores, "trial", "coverage")
    assert coverage == 100.0 * people["found"].mean()


def test_what_happens_in_a_sequence_counts_to_the_end(tmp_path: Path) -> None:
    """An answer holds in a future if no update of it breaks it."""
    from changeproof.board.answers import Cell
    from changeproof.board.scoring import held_under, scores_of
    from changeproof.runs.results import AnswerKey

    plan = cp.Plan.checked(
        {
            "datasets": ["diabetes"],
            "methods": ["kdtree"],
            "families": ["updates(length=3, replicates=4)"],
            "base_seeds": [2026],
            "factuals": 6,
            "limit": True,
        }
    )
    results = cp.run(plan, tmp_path, jobs=1, publish=False)
    (family,) = results.families
    key = AnswerKey("diabetes", 2026, "kdtree")
    through = held_under(results, key, family)
    plain = results.held(*key, family).reshape(6, 4, 3).all(axis=2)
    assert np.array_equal(through, plain)
    scores, people = scores_of(results, [Cell("t", "mlp", "diabetes", 2026)], "kdtree")
    (robust,) = (e.value for e in scores if (e.metric, e.family) == ("robustness", "all"))
    life = results.tables()["life_summary"]
    assert robust == pytest.approx(life["held_to_the_end"].item())
    assert people["held"].to_numpy() == pytest.approx(through.mean(axis=1))
    price = next(e.value for e in scores if e.metric == "price")
    assert price == results.tables()["life_price"]["price_mean"].item()


def test_a_setting_without_a_store_uses_the_cache() -> None:
    (part,) = tracks.TRACKS["trial"].parts
    folder = replace(setting(Path("x")), store=None).folder(part, 0)
    assert folder.parts[-4:] == ("board", tracks.VERSION, "public", "trial-1")
