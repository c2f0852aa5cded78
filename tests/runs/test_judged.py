"""Which model a run judged, and what a refit of it decides: held against scikit-learn itself."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

import shipped
from changeproof import InputError, Results, Task, evaluate, run
from changeproof.models.find import as_learner, as_shipped, find_learner, shipped_learner
from changeproof.models.learner import Learner
from changeproof.models.thresholds import at_threshold
from changeproof.runs import judged as about
from changeproof.runs.judged import judged_by
from changeproof.runs.manifest import MANIFEST, Judged, read_manifest
from changeproof.runs.pieces import Kind
from changeproof.tables.model import MODEL
from changeproof.tables.registry import build_tables, read_tables, write_tables

FEW: dict[str, Any] = {**shipped.DATA, "factuals": 6, "jobs": 1, "publish": False}
NUMBERS = ["income", "debts"]


def judged(
    frame: pd.DataFrame, model: Any, families: list[str] | None = None, **more: Any
) -> Results:
    """Audit a fitted model, with letters that somebody else wrote beside ours."""
    letters = shipped.letters(frame, shipped.current(frame), 12)
    families = families or ["bootstrap(replicates=2)"]
    return evaluate(frame, model, ["kdtree"], families, counterfactuals=letters, **FEW | more)


def told_rows(results: Results, method: str) -> pd.DataFrame:
    """What people were told, as their table would have it."""
    answers = results.counterfactuals("data", 2026, method)
    return results.task("data").readable(answers.rows[answers.found])


def outside(frame: pd.DataFrame, task: Task, model: Any) -> tuple[Any, pd.DataFrame]:
    """Return a clone that scikit-learn fitted on the training rows, and the test rows."""
    people = frame.set_index("applicant")
    train, test = (people.loc[task.ids.loc[task.row_ids(part)]] for part in ("train", "test"))
    seeds = {key: 2026 for key in model.get_params() if key.endswith("random_state")}
    refit = clone(model).set_params(**seeds)
    return refit.fit(train[shipped.FEATURES], train["approved"]), test


@pytest.mark.parametrize(("threshold", "boosted"), [(None, False), (0.65, False), (0.35, True)])
def test_shares_are_what_the_estimators_themselves_say(
    frame: pd.DataFrame, threshold: float | None, boosted: bool
) -> None:
    model = shipped.current(frame)
    if boosted:
        columns = model.steps[0][1]
        model = shipped.pipeline().set_params(
            columntransformer=columns,
            logisticregression=GradientBoostingClassifier(n_estimators=8, subsample=0.7),
        )
        model.fit(frame[shipped.FEATURES], frame["approved"])
    results = judged(frame, model, threshold=threshold)
    refit, test = outside(frame, results.task("data"), model)

    def accepts(by: Any, rows: pd.DataFrame) -> Any:
        return by.predict_proba(rows[shipped.FEATURES])[:, 1] >= (threshold or 0.5)

    table = results.table(MODEL).set_index("method")
    assert table.index.tolist() == ["all", "kdtree", "given"]
    differ = accepts(model, test) != accepts(refit, test)
    assert table["people_differ"].unique().tolist() == [differ.sum()]
    assert table["people_differ_percent"].iloc[0] == pytest.approx(100 * differ.mean())
    assert table["test_rows"].iloc[0] == len(test)
    refused, letters = [], []
    for method in ("kdtree", "given"):
        rows = told_rows(results, method)
        valid = accepts(model, rows)
        assert table.loc[method, "letters"] == valid.sum()
        assert table.loc[method, "letters_refused"] == (~accepts(refit, rows[valid])).sum()
        letters.append(valid.sum())
        refused.append((~accepts(refit, rows[valid])).sum())
    assert [table.loc["all", "letters"], table.loc["all", "letters_refused"]] == [
        sum(letters), sum(refused),
    ]  # fmt: skip
    assert table.loc["all", "letters_refused_percent"] == pytest.approx(
        100 * sum(refused) / sum(letters)
    )
    assert differ.any() and sum(refused)
    assert table["threshold"].iloc[0] == (str(threshold) if threshold else "its own decision")


def test_a_learner_for_refits_is_compared_in_its_place(frame: pd.DataFrame) -> None:
    line = "sklearn:LogisticRegression(C=0.01)"
    results = judged(frame, points, refit=line)
    task = results.task("data")
    refit = LogisticRegression(C=0.01).fit(task.rows("train"), task.labels_of("train"))
    expected = refit.predict(task.rows("test")) == 1
    test = frame.set_index("applicant").loc[task.ids.loc[task.row_ids("test")]]
    differ = expected != (points(test) >= 0.5)
    row = results.table(MODEL).iloc[0]
    assert row["refit_by"] == line and row["no_refit"] == ""
    assert row["people_differ"] == differ.sum() > 0


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_boosters_are_refitted_on_raw_columns_with_gaps(frame: pd.DataFrame, library: str) -> None:
    made = pytest.importorskip(library, reason=f"{library} is not installed (extra: {library})")
    words = dict.fromkeys(("purpose", "owner"), "category")
    rows = frame[shipped.FEATURES].astype(words)
    rows.loc[::7, "income"] = np.nan
    settings: dict[str, Any] = {"n_estimators": 10, "random_state": 2026}
    if library == "xgboost":
        model = made.XGBClassifier(enable_categorical=True, **settings)
    else:
        model = made.LGBMClassifier(verbose=-1, **settings)
    wanted = (frame["approved"] == "yes").astype(int)
    model.fit(rows, wanted)
    table = pd.concat([rows, frame[["applicant", "approved"]]], axis=1)
    results = evaluate(table, model, ["kdtree"], ["bootstrap(replicates=2)"], **FEW)
    task, people = results.task("data"), rows.set_index(frame["applicant"])
    train, test = (task.ids.loc[task.row_ids(part)] for part in ("train", "test"))
    outcomes = wanted.set_axis(frame["applicant"])
    refit = clone(model).fit(people.loc[train], outcomes.loc[train])
    differ = model.predict(people.loc[test]) != refit.predict(people.loc[test])
    told = task.table_rows(results.counterfactuals("data", 2026, "kdtree").rows)[list(rows)]
    assert model.predict(told).all()
    row = results.table(MODEL).iloc[0]
    assert row["people_differ"] == differ.sum() > 0
    assert [row["letters"], row["letters_refused"]] == [len(told), (refit.predict(told) == 0).sum()]


@pytest.mark.usefixtures("always_workers")
def test_other_processes_give_the_same_pieces(
    frame: pd.DataFrame, finished: Path, tmp_path: Path
) -> None:
    judged(frame, shipped.current(frame), out=tmp_path / "run", jobs=2)
    here, there = (
        {path.name for path in folder.glob(f"pieces/*/*/{Kind.REFIT}*")}
        for folder in (finished, tmp_path / "run")
    )
    assert here == there and len(here) == 3


def test_what_is_trained_here_says_so_and_has_no_refit(quick_run: Results) -> None:
    assert not [piece for piece in quick_run.manifest.pieces if piece.kind is Kind.REFIT]
    table = read_tables(quick_run.folder)[MODEL].set_index("dataset")
    assert table.index.tolist() == ["breast-cancer", "diabetes"]
    assert table["source"].tolist() == ["trained here"] * 2
    sizes = [len(quick_run.task(name).split.train) for name in table.index]
    assert table["training_rows"].tolist() == sizes
    assert table["people_differ"].isna().all() and set(table["no_refit"]) == {""}
    assert table["kind"].iloc[0] == "neural network" and table["threshold"].iloc[0] == "0.5"


class Stubborn(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Cannot be fitted a second time."""

    def fit(self, rows: pd.DataFrame, target: Any) -> Stubborn:
        raise ValueError("once is enough")

    def predict_proba(self, rows: pd.DataFrame) -> Any:
        shares = 1 / (1 + np.exp((2200 - rows["income"] + 300 * rows["debts"]) / 200))
        return np.column_stack([1 - shares, shares])

    def predict(self, rows: pd.DataFrame) -> Any:
        return np.asarray(self.classes_)[self.predict_proba(rows).argmax(axis=1)]


def test_a_refit_that_fails_is_told_with_its_reason(frame: pd.DataFrame) -> None:
    model = Stubborn()
    model.classes_ = np.array(["no", "yes"])
    results = judged(frame, model, ["decision-threshold"])
    assert results.inventory.complete
    (row,) = results.table(MODEL).to_dict("records")
    assert "could not be fitted on 120 rows: ValueError: once is enough" in row["no_refit"]
    assert np.isnan(row["people_differ"])


def test_a_lack_of_memory_is_no_reason_that_is_kept(
    frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Stubborn, rows: pd.DataFrame, target: Any) -> Stubborn:
        raise MemoryError("no room")

    monkeypatch.setattr(Stubborn, "fit", full)
    model = Stubborn()
    model.classes_ = np.array(["no", "yes"])
    with pytest.raises(RuntimeError, match="no room"):
        judged(frame, model, ["decision-threshold"])


def test_what_cannot_be_refitted_has_no_piece(frame: pd.DataFrame, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (extra: onnx)")
    pytest.importorskip("skl2onnx", reason="skl2onnx is not installed (extra: dev)")
    (tmp_path / "today.onnx").write_bytes(shipped.onnx_bytes(shipped.current(frame)))
    reference = f"onnx:{tmp_path / 'today.onnx'}"
    results = evaluate(frame, reference, ["kdtree"], ["decision-threshold"], **FEW)
    assert Kind.REFIT not in {piece.kind for piece in results.manifest.pieces}
    (row,) = results.table(MODEL).to_dict("records")
    assert row["reference"] == reference and row["kind"] == "ONNX model"
    assert row["no_refit"] == "today is used as it is and cannot be fitted again"


@pytest.fixture(scope="module")
def finished(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("judged") / "run"
    results = judged(frame, shipped.current(frame), out=folder)
    write_tables(results)
    return folder


@pytest.fixture
def copy(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


def test_it_is_read_back_as_it_was_written(finished: Path) -> None:
    results = Results(finished)
    written, built = read_tables(finished)[MODEL], build_tables(results)[MODEL]
    pd.testing.assert_frame_equal(written, built, check_dtype=False, rtol=1e-5)
    assert written["digest"].iloc[0] == built["digest"].iloc[0]


def test_going_on_without_the_model_keeps_what_is_known(copy: Path) -> None:
    before, table = read_manifest(copy), read_tables(copy)[MODEL]
    again = run(before.plan, copy, jobs=1, publish=False)
    assert again.manifest.judged == before.judged
    assert again.manifest.pieces == before.pieces and again.inventory.complete
    pd.testing.assert_frame_equal(build_tables(again)[MODEL], table, check_dtype=False, rtol=1e-5)


def test_runs_of_earlier_versions_open(copy: Path) -> None:
    content = json.loads((copy / MANIFEST).read_text())
    del content["judged"]
    content["pieces"] = [line for line in content["pieces"] if line["kind"] != Kind.REFIT]
    (copy / MANIFEST).write_text(json.dumps(content))
    for path in copy.glob(f"pieces/*/*/{Kind.REFIT}*"):
        path.unlink()
    shutil.rmtree(copy / "tables")
    results = Results(copy)
    assert results.inventory.complete and results.manifest.judged is None
    assert MODEL not in build_tables(results)
    assert results.as_dict()["judged"] == "" and "Nothing was said" in str(results)
    assert results.report().exists()


@pytest.mark.parametrize("edit", ["struck", "shipped", "odd"])
def test_a_manifest_that_hides_the_refit_is_refused(copy: Path, edit: str) -> None:
    content = json.loads((copy / MANIFEST).read_text())
    if edit == "struck":
        content["pieces"] = [line for line in content["pieces"] if line["kind"] != Kind.REFIT]
    elif edit == "shipped":
        content["judged"]["shipped"] = False
    else:
        content["judged"]["more"] = 1
    (copy / MANIFEST).write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"manifest.json is damaged, or of another version"):
        Results(copy)


def test_without_the_refit_the_rest_is_shown(copy: Path) -> None:
    whole = read_manifest(copy)
    lost = [piece for piece in whole.pieces if piece.kind is Kind.REFIT]
    part = whole.without(lost[1:], "failed in this run")
    assert part is not None and part.methods == whole.methods
    assert part.judged is not None and part.judged.no_refit == "failed in this run"
    assert part.plan.left_out["refit"] == "failed in this run"
    (row,) = build_tables(Results(copy, part))[MODEL].to_dict("records")
    assert row["no_refit"] == "failed in this run"
    # Of a method that failed, only what is about it is lost.
    mine = [piece for piece in whole.pieces if piece.method == "kdtree"]
    left = whole.without(mine, "failed in this run")
    assert left is not None and left.judged == whole.judged
    assert build_tables(Results(copy, left))[MODEL]["method"].tolist() == ["all", "given"]


def test_an_unfinished_run_says_what_it_knows(copy: Path) -> None:
    for path in copy.glob(f"pieces/*/*/{Kind.REFIT}-kdtree.*"):
        path.unlink()
    assert build_tables(Results(copy))[MODEL]["method"].tolist() == ["all", "given"]
    for path in copy.glob(f"pieces/*/*/{Kind.REFIT}.*"):
        path.unlink()
    (row,) = build_tables(Results(copy))[MODEL].to_dict("records")
    assert row["method"] == "all" and np.isnan(row["people_differ"])


def fit(X: Any, y: Any, sample_weight: Any, seed: int) -> Any:
    return LogisticRegression().fit(X, y, sample_weight).predict_proba


def points(rows: pd.DataFrame) -> Any:
    """Give shares that no line gives."""
    return 1 / (1 + np.exp((2200 - rows["income"] + 300 * rows["debts"]) / 200))


KINDS: dict[str, tuple[Any, str]] = {
    "mlp": (lambda: find_learner("mlp:8"), "neural network"),
    "name": (lambda: find_learner("sklearn:LogisticRegression"), "LogisticRegression (sklearn)"),
    "function": (lambda: as_learner(fit), "training function"),
    "pipeline": (
        lambda: as_learner(shipped.pipeline()), "Pipeline ending in LogisticRegression (sklearn)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_models_that_are_trained_here_are_called_by_their_kind(kind: str) -> None:
    make, expected = KINDS[kind]
    learner: Learner = make()
    found = judged_by(learner, "reference")
    assert found == Judged(
        learner.name, "reference", expected, learner.fingerprint[:12], about.ALL_FEATURES, "0.5"
    )
    assert not found.refitted
    assert judged_by(at_threshold(learner, "0.6"), "reference").threshold == "0.6"


def test_models_as_shipped_say_where_they_are_from(
    frame: pd.DataFrame, task: Task, tmp_path: Path
) -> None:
    numbers = shipped.own_task(frame[[*NUMBERS, "approved", "applicant"]], **shipped.DATA)
    model, path = shipped.current(frame), tmp_path / "today.pkl"
    path.write_bytes(pickle.dumps(model))
    today = as_shipped(model, "today", f"pickle:{path}")
    found = judged_by(shipped_learner(today, task), "object:today")
    assert found.reference == f"pickle:{path}" and found.shipped and found.refitted
    assert found.columns == about.NAMED and today.digest.startswith(found.digest)
    plain = LogisticRegression().fit(frame[NUMBERS].to_numpy(), frame["approved"])
    assert judged_by(shipped_learner(plain, numbers), "").columns == about.ALL_FEATURES
    line = "sklearn:LogisticRegression"
    far = shipped_learner(lambda rows: 900 * points(rows), numbers, threshold="620", refit=line)
    assert judged_by(far, "", line).refit_by == f"{line} (at 0.5)"
    assert judged_by(far, "", line).threshold == "620"
    score = judged_by(shipped_learner(points, numbers, threshold="0.7"), "")
    assert (score.kind, score.threshold, score.refitted) == ("function", "0.7", False)
    assert score.no_refit == "points is used as it is and cannot be fitted again"
