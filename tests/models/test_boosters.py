from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import changeproof as cp
import shipped
from changeproof import InputError, Task, own_task
from changeproof.changes.successors import read_successors
from changeproof.datasets.threshold import Threshold
from changeproof.models import judging
from changeproof.models.find import as_shipped, find_shipped, shipped_learner

BOOSTERS = ("xgboost", "lightgbm", "catboost")
ENDINGS = {"xgboost": ".ubj", "lightgbm": ".txt", "catboost": ".cbm"}
CATEGORIES = ["purpose", "owner"]
Reads = Callable[[pd.DataFrame], Any]


@pytest.fixture(params=BOOSTERS)
def library(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    pytest.importorskip(name, reason=f"{name} is not installed (extra: {name})")
    return name


def inputs(library: str, people: pd.DataFrame) -> pd.DataFrame:
    """Return people as their bank has them: with categories, which CatBoost takes as text."""
    kept = people[shipped.FEATURES].astype({"income": float, "debts": float})
    return kept if library == "catboost" else kept.astype(dict.fromkeys(CATEGORIES, "category"))


def trained(library: str, people: pd.DataFrame, target: Any, objective: str) -> tuple[Any, Reads]:
    """Return a booster of a library itself, and how somebody would ask it without us."""
    rows = inputs(library, people)
    kinds = {name: rows[name].dtype for name in rows}

    def asked(others: pd.DataFrame) -> pd.DataFrame:
        return others[shipped.FEATURES].astype(kinds)

    if library == "xgboost":
        import xgboost

        settings = {"objective": objective, "max_depth": 3, "nthread": 1}
        if objective.startswith("multi"):
            settings["num_class"] = len(set(target))
        data = xgboost.DMatrix(rows, np.asarray(target), enable_categorical=True)
        model = xgboost.train(settings, data, 12)
        return model, lambda new: model.predict(
            xgboost.DMatrix(asked(new), enable_categorical=True)
        )
    if library == "lightgbm":
        import lightgbm

        settings = {"objective": objective, "verbose": -1, "num_threads": 1, "num_leaves": 7}
        if objective == "multiclass":
            settings["num_class"] = len(set(target))
        model = lightgbm.train(settings, lightgbm.Dataset(rows, np.asarray(target)), 12)
        return model, lambda new: model.predict(asked(new))
    import catboost

    settings = {"loss_function": objective, "iterations": 12, "depth": 3, "verbose": 0}
    model = catboost.CatBoost({**settings, "allow_writing_files": False, "thread_count": 1})
    model.fit(rows, target, cat_features=CATEGORIES)
    kind = "RawFormulaVal" if objective == "RMSE" else "Probability"

    def predict(new: pd.DataFrame) -> Any:
        found = model.predict(asked(new), prediction_type=kind)
        return found[:, 1] if found.ndim == 2 and found.shape[1] == 2 else found

    return model, predict


def approved(frame: pd.DataFrame) -> pd.Series[int]:
    return (frame["approved"] == "yes").astype(int)


OBJECTIVES = {
    "shares": {"xgboost": "binary:logistic", "lightgbm": "binary", "catboost": "Logloss"},
    "scores": {"xgboost": "reg:squarederror", "lightgbm": "regression", "catboost": "RMSE"},
    "classes": {"xgboost": "multi:softprob", "lightgbm": "multiclass", "catboost": "MultiClass"},
}


def saved(library: str, model: Any, folder: Path) -> str:
    path = folder / f"today{ENDINGS[library]}"
    model.save_model(str(path))
    return f"{library}:{path}"


def test_a_booster_judges_as_it_does_by_itself(
    library: str, frame: pd.DataFrame, task: Task, tmp_path: Path
) -> None:
    model, asked = trained(library, frame, approved(frame), OBJECTIVES["shares"][library])
    rows = task.rows("test")
    expected = asked(task.readable(rows))
    reference = saved(library, model, tmp_path)
    for kept in (as_shipped(model), find_shipped(reference)):
        assert kept.columns == tuple(shipped.FEATURES)
        judged = kept.model(task, None).probabilities(rows)
        np.testing.assert_array_equal(judged, expected)
        again = pickle.loads(pickle.dumps(kept))
        np.testing.assert_array_equal(again.model(task, None).probabilities(rows), judged)
        assert "cannot be fitted again" in kept.refits(task).traits.no_training
    assert (kept.name, kept.reference) == ("today", reference)
    other, _ = trained(library, frame, 1 - approved(frame), OBJECTIVES["shares"][library])
    assert len({as_shipped(each).digest for each in (model, model, other)}) == 2


def test_a_booster_of_numbers_gives_scores(library: str, frame: pd.DataFrame, task: Task) -> None:
    points = 300 + frame["income"] / 10 - 20 * frame["debts"]
    model, asked = trained(library, frame, points, OBJECTIVES["scores"][library])
    rows = task.rows("test")
    kept = as_shipped(model)
    assert kept.fitted(task).gives_scores
    accepted = kept.model(task, Threshold(560.0)).favourable(rows)
    np.testing.assert_array_equal(accepted, asked(task.readable(rows)) >= 560)


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_a_booster_is_evaluated_as_the_forest_that_it_is(
    library: str, kind: str, frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise = np.random.default_rng(3).normal(0, 200, len(frame))
    grades = np.digitize(frame["income"] + noise, [2000, 3000])
    targets = {"shares": approved(frame), "scores": frame["income"], "classes": grades}
    model, _ = trained(library, frame, targets[kind], OBJECTIVES[kind][library])
    for favourable in (0, 1):
        table = frame.assign(approved=grades if kind == "classes" else approved(frame))
        task = own_task(table, **shipped.DATA | {"favourable": favourable})
        rows = task.rows("test")
        moves = 0.5 * np.random.default_rng(3).standard_normal(rows.shape)
        rows = np.concatenate([rows, rows + moves])
        found = as_shipped(model).fitted(task)
        # CatBoost turns categories into statistics of the target; of exponentials, LightGBM's may
        # end in another digit.
        unknown = (library, kind) == ("lightgbm", "classes")
        assert unknown or (found.as_forest is None) == (library == "catboost")
        with monkeypatch.context() as patched:
            patched.setattr(judging, "read_estimator", lambda *_: None)
            plain = as_shipped(model).fitted(task)
            assert plain.as_forest is None
        np.testing.assert_array_equal(found.scores(rows), plain.scores(rows))
        if kind != "scores":
            np.testing.assert_array_equal(found.probabilities(rows), plain.probabilities(rows))


def test_of_several_classes_the_favourable_ones_count(library: str, frame: pd.DataFrame) -> None:
    noise = np.random.default_rng(3).normal(0, 200, len(frame))
    grades = np.digitize(frame["income"] + noise, [2000, 3000])
    table = frame.assign(approved=grades)
    task = own_task(table, **shipped.DATA | {"favourable": 2})
    model, asked = trained(library, frame, grades, OBJECTIVES["classes"][library])
    rows = task.rows("test")
    judged = as_shipped(model).model(task, None).probabilities(rows)
    shares = asked(task.readable(rows))
    np.testing.assert_array_equal(judged >= 0.5, shares.argmax(axis=1) == 2)
    best = shares[:, :2].max(axis=1)
    np.testing.assert_allclose(judged, shares[:, 2] / (shares[:, 2] + best), rtol=1e-6)
    strict = as_shipped(model).model(task, Threshold(0.8))
    np.testing.assert_array_equal(strict.favourable(rows), shares[:, 2] >= 0.8)


def test_a_booster_may_take_some_columns_in_another_order(
    library: str, frame: pd.DataFrame, task: Task
) -> None:
    columns = ["debts", "income"]
    rows = task.rows("test")
    told = task.readable(rows)[columns].astype(float)
    people, target = frame[columns].astype(float), approved(frame)
    if library == "xgboost":
        import xgboost

        model = xgboost.train(
            {"objective": "binary:logistic", "nthread": 1}, xgboost.DMatrix(people, target), 5
        )
        expected = model.predict(xgboost.DMatrix(told))
    elif library == "lightgbm":
        import lightgbm

        model = lightgbm.train(
            {"objective": "binary", "verbose": -1, "num_threads": 1},
            lightgbm.Dataset(people, target),
            5,
        )
        expected = model.predict(told)
    else:
        import catboost

        model = catboost.CatBoost(
            {"loss_function": "Logloss", "iterations": 5, "verbose": 0, "thread_count": 1}
            | {"allow_writing_files": False}
        ).fit(people, target)
        expected = model.predict(told, prediction_type="Probability")[:, 1]
    kept = as_shipped(model)
    assert kept.columns == ("debts", "income")
    np.testing.assert_array_equal(kept.model(task, None).probabilities(rows), expected)
    with pytest.raises(InputError, match="takes the columns debts, income; 'data' has no debts"):
        kept.model(own_task(frame.drop(columns="debts"), **shipped.DATA), None)


def test_a_successor_may_be_a_booster_file(
    library: str, frame: pd.DataFrame, task: Task, tmp_path: Path
) -> None:
    model, asked = trained(library, frame, approved(frame), OBJECTIVES["shares"][library])
    reference = saved(library, model, tmp_path)
    found = read_successors({"next": f"{reference}@0.6"}, task, {}, None, None)
    assert found.records["next"].startswith(f"{reference}@0.6#")
    rows = task.rows("test")
    accepted = found.at_hand["next"].model(task).favourable(rows)
    np.testing.assert_array_equal(accepted, asked(task.readable(rows)) >= 0.6)


def test_people_whom_a_booster_rejects_are_told_what_it_accepts(
    library: str, frame: pd.DataFrame, tmp_path: Path
) -> None:
    model, asked = trained(library, frame, approved(frame), OBJECTIVES["shares"][library])
    reference = saved(library, model, tmp_path)
    results = cp.evaluate(
        frame,
        reference,
        ["kdtree"],
        ["decision-threshold"],
        factuals=15,
        jobs=1,
        out=tmp_path / "run",
        **shipped.DATA,
    )
    people = results.table("people")
    told = people[[f"told:{name}" for name in shipped.FEATURES]].set_axis(shipped.FEATURES, axis=1)
    valid = people["base_valid"].to_numpy(bool)
    assert valid.sum() >= 10
    assert (asked(told[valid]) >= 0.5).all()
    assert (asked(frame.set_index("applicant").loc[people["id"]]) < 0.5).all()


def test_a_file_of_something_else_is_refused(library: str, tmp_path: Path) -> None:
    path = tmp_path / f"no{ENDINGS[library]}"
    path.write_text("nothing of the kind")
    with pytest.raises(InputError, match=f"^{library}:.* is no model of {library}: ") as caught:
        find_shipped(f"{library}:{path}")
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="cannot read model file"):
        find_shipped(f"{library}:{tmp_path / 'nowhere'}{ENDINGS[library]}")


@pytest.mark.parametrize("library", BOOSTERS)
def test_without_the_library_the_extra_is_named(
    library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    (tmp_path / f"model{ENDINGS[library]}").write_bytes(b"")
    with pytest.raises(InputError, match=rf"needs {library}, which is not installed \(extra: "):
        find_shipped(f"{library}:{tmp_path / 'model'}{ENDINGS[library]}")


def test_unseen_categories_are_what_the_library_makes_of_them(
    library: str, frame: pd.DataFrame
) -> None:
    seen = frame[frame["purpose"] != "car"]
    model, _ = trained(library, seen, approved(seen), OBJECTIVES["shares"][library])
    task = own_task(frame, **shipped.DATA)
    if library == "xgboost":
        with pytest.raises(InputError, match="was fitted without purpose = car and refuses it"):
            as_shipped(model).model(task, None)
        return
    rows = task.rows("test")
    told = task.readable(rows)
    judged = as_shipped(model).model(task, None).probabilities(rows)
    people = inputs(library, told)
    if library == "lightgbm":
        known = pd.CategoricalDtype(["house", "study"])
        others = told["purpose"].where(told["purpose"] != "car")
        expected = model.predict(people.assign(purpose=others.astype(known)))
    else:
        expected = model.predict(people, prediction_type="Probability")[:, 1]
    np.testing.assert_array_equal(judged, expected)


@pytest.mark.parametrize("wrapped", [False, True])
def test_advice_names_no_category_that_lightgbm_has_never_seen(
    frame: pd.DataFrame, wrapped: bool
) -> None:
    lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed (extra: lightgbm)")
    # What is missing is favourable, so an unknown purpose would be the best advice.
    seen = frame[frame["purpose"] != "car"].copy()
    seen["purpose"] = seen["purpose"].where(np.random.default_rng(0).random(len(seen)) < 0.6)
    target = (seen["purpose"].isna() | (seen["income"] > 3200)).astype(int)
    rows = inputs("lightgbm", seen)
    settings = {"verbose": -1, "num_threads": 1, "min_data_in_leaf": 5}
    if wrapped:
        model = lightgbm.LGBMClassifier(n_estimators=20, **settings).fit(rows, target)
    else:
        data = lightgbm.Dataset(rows, target)
        model = lightgbm.train({"objective": "binary", **settings}, data, 20)
    table = frame.assign(approved=np.where(frame["purpose"] == "car", "yes", frame["approved"]))
    task = own_task(table, **shipped.DATA)
    told = task.readable(task.rows("test"))
    judged = as_shipped(model).model(task, None).favourable(task.rows("test"))
    assert judged[told["purpose"] == "car"].all() and not judged.all()
    results = cp.evaluate(
        table,
        model,
        methods=["kdtree", "wachter", "robx-balanced"],
        families=["decision-threshold"],
        factuals=10,
        jobs=1,
        **shipped.DATA,
    )
    people = results.table("people")
    told = people.loc[people["base_valid"], "told:purpose"]
    assert len(told) >= 5 and (told != "car").all()


@pytest.mark.parametrize("wrapped", [False, True])
def test_names_that_lightgbm_writes_otherwise_are_found(frame: pd.DataFrame, wrapped: bool) -> None:
    lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed (extra: lightgbm)")
    table = frame.rename(columns={"income": "income per month"})
    rows = table[["income per month", "debts"]].astype(float)
    settings = {"verbose": -1, "num_threads": 1}
    if wrapped:
        model = lightgbm.LGBMClassifier(n_estimators=5, **settings).fit(rows, table["approved"])
        assert model.feature_names_in_[0] == "income_per_month"
    else:
        data = lightgbm.Dataset(rows, approved(frame))
        model = lightgbm.train({"objective": "binary", **settings}, data, 5)
    families = ["decision-threshold"]
    results = cp.evaluate(table, model, ["kdtree"], families, factuals=5, jobs=1, **shipped.DATA)
    task = results.task("data")
    assert [feature.name for feature in task.features] == list(rows.columns)
    told = task.readable(task.rows("test"))
    judged = as_shipped(model).model(task, None).probabilities(task.rows("test"))
    expected = model.predict_proba(told)[:, 1] if wrapped else model.predict(told)
    np.testing.assert_array_equal(judged, expected)


def test_boosters_without_names_take_the_features_in_their_order(
    library: str, frame: pd.DataFrame, task: Task
) -> None:
    rows = frame[["income", "debts"]].to_numpy(float)
    if library == "xgboost":
        import xgboost

        data = xgboost.DMatrix(rows, approved(frame))
        model = xgboost.train({"objective": "binary:logistic"}, data, 5)
    elif library == "lightgbm":
        import lightgbm

        data = lightgbm.Dataset(rows, approved(frame))
        model = lightgbm.train({"objective": "binary", "verbose": -1}, data, 5)
    else:
        import catboost

        settings = {"loss_function": "Logloss", "iterations": 5, "verbose": 0}
        model = catboost.CatBoost({**settings, "allow_writing_files": False})
        model.fit(rows, approved(frame))
    kept = as_shipped(model)
    assert kept.columns is None
    numbers = own_task(frame.drop(columns=CATEGORIES), **shipped.DATA)
    assert shipped_learner(kept, numbers)
    with pytest.raises(InputError, match="fitted on 2 columns without names"):
        kept.model(task, None)


def test_of_an_early_stopped_classifier_the_best_rounds_count(
    frame: pd.DataFrame, task: Task, tmp_path: Path
) -> None:
    xgboost = pytest.importorskip("xgboost", reason="xgboost is not installed (extra: xgboost)")
    rows = frame[["income", "debts"]].astype(float)
    target = approved(frame)
    model = xgboost.XGBClassifier(
        n_estimators=80, learning_rate=1.0, early_stopping_rounds=3, n_jobs=1
    )
    model.fit(rows[:120], target[:120], eval_set=[(rows[120:], target[120:])], verbose=False)
    assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    model.save_model(tmp_path / "stopped.json")
    kept = find_shipped(f"xgboost:{tmp_path / 'stopped.json'}")
    told = task.readable(task.rows("test"))[["income", "debts"]].astype(float)
    judged = kept.model(task, None).probabilities(task.rows("test"))
    np.testing.assert_array_equal(judged, model.predict_proba(told)[:, 1])


def test_codes_that_no_category_is_known_for_are_refused(
    frame: pd.DataFrame, task: Task, tmp_path: Path
) -> None:
    pytest.importorskip("xgboost", reason="xgboost is not installed (extra: xgboost)")
    model, _ = trained("xgboost", frame, approved(frame), "binary:logistic")
    content = json.loads(bytes(model.save_raw("json")))
    del content["learner"]["gradient_booster"]["model"]["cats"]  # as versions before 3.1 wrote it
    (tmp_path / "old.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match="does not say which categories of 'purpose' its codes"):
        find_shipped(f"xgboost:{tmp_path / 'old.json'}").model(task, None)
