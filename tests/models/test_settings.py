"""XGBoost, LightGBM and CatBoost, fitted and by name, with the real libraries."""

from __future__ import annotations

import pickle
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import changeproof as cp
from boosted import (
    CATEGORIES,
    COLUMNS,
    LIBRARIES,
    classifier,
    fitted,
    import_or_skip,
    lent,
    reference,
    typed,
)
from changeproof import InputError, Task, own_task
from changeproof.models.estimator import EstimatorLearner
from changeproof.models.find import as_shipped, find_learner, load_model, shipped_learner
from changeproof.models.settings import THREADS, model_digest
from changeproof.networks.training import TrainingRecipe
from models_people_have import DATA, check_on_the_model

SMALL: dict[str, Any] = {
    "methods": ["kdtree", "wachter"],
    "families": ["bootstrap(replicates=2)", "training-configuration(replicates=1)"],
    "factuals": 15,
}
SEED = 2026


# Reasons ask a model as often as advice does; tests of boosters fitted to a frame look for them.
ADVICE = {**SMALL, "reasons": False}


def own(frame: pd.DataFrame, **given: Any) -> Task:
    return own_task(frame, taken=COLUMNS, **(DATA | given))


def trained(learner: Any, task: Task, seed: int = SEED, **recipe: Any) -> Any:
    return learner.train([TrainingRecipe(initialisation_seed=seed, **recipe)], task)[0]


def by_hand(library: str, frame: pd.DataFrame, task: Task, **settings: Any) -> Any:
    """Return a classifier trained with the library alone, on the training part of a task."""
    seed = {"random_seed" if library == "catboost" else "random_state": SEED}
    if library == "catboost":
        settings["cat_features"] = CATEGORIES
    part = task.split.train
    labels = (frame["outcome"] == "paid").astype(int)
    model = classifier(library, **seed, **settings)
    return model.fit(typed(library, frame).iloc[part], labels.iloc[part])


@pytest.mark.parametrize("kind", ["frame", "file"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_fitted_booster_judges_raw_columns_itself(
    library: str, kind: str, tmp_path: Path
) -> None:
    frame = lent()
    model = fitted(library, frame)
    data: Any = frame
    if kind == "file":
        data = tmp_path / "loans.csv"
        frame.to_csv(data, index=False)
    results = cp.evaluate(data, model, by=["sex"], **(SMALL if kind == "frame" else ADVICE), **DATA)
    (name,) = results.shown.datasets
    assert [feature.name for feature in results.task(name).features] == COLUMNS
    assert not results.plan.left_out.keys() & {*SMALL["families"]}

    def predict(rows: pd.DataFrame) -> Any:
        return model.predict(typed(library, rows, like=frame))

    assert check_on_the_model(results, frame, predict, [1]) >= 15


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_booster_by_name_is_what_the_library_trains_on_these_rows(library: str) -> None:
    frame = lent()[[*COLUMNS, "outcome"]]
    constraint: Any = [1, 0, 0, 0, 0, 0, 0] if library == "lightgbm" else {"income": 1}
    named = reference(library, monotone_constraints=constraint)
    results = cp.evaluate(frame, named, categorical=["grade"], **ADVICE, **DATA)
    (name,) = results.shown.datasets
    task = results.task(name)
    model = by_hand(library, frame, task, monotone_constraints=constraint)

    def predict(rows: pd.DataFrame) -> Any:
        return model.predict(typed(library, rows, like=frame))

    assert check_on_the_model(results, frame, predict, [1]) >= 15
    families = set(results.table("family_results")["family"])
    assert families == {*SMALL["families"]}


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_clone_is_what_the_library_trains_on_these_rows(library: str) -> None:
    frame = lent()
    settings = {"scale_pos_weight": 3.0}
    task = own(frame)
    learner = shipped_learner(fitted(library, frame, **settings), task)
    refit = trained(learner.refits, task)
    alone = by_hand(library, frame, task, **settings)
    rows = task.rows("test")
    expected = alone.predict_proba(typed(library, frame).iloc[task.split.test])[:, 1]
    np.testing.assert_allclose(refit.probabilities(rows), expected, rtol=1e-6)
    plain = by_hand(library, frame, task).predict_proba(typed(library, frame).iloc[task.split.test])
    assert expected.mean() > plain[:, 1].mean() + 0.01


MONOTONE = {
    "xgboost": [{"income": -1}, "(-1, 0, 0, 0, 0, 0, 0)"],
    "lightgbm": [[-1, 0, 0, 0, 0, 0, 0]],
    "catboost": [{"income": -1}, [-1, 0, 0, 0, 0, 0, 0]],
}


@pytest.mark.parametrize(
    ("library", "constraint"), [(name, each) for name in LIBRARIES for each in MONOTONE[name]]
)
def test_monotone_constraints_stay_where_the_model_predicts_what_nobody_wants(
    library: str, constraint: Any
) -> None:
    frame = lent()
    # Class 1 is a default, which becomes less likely with more income.
    defaulted = (frame["outcome"] == "defaulted").astype(int)
    model = fitted(library, frame, defaulted, monotone_constraints=constraint)
    frame["outcome"] = defaulted
    task = own(frame, favourable=0)
    learner = shipped_learner(model, task)
    rows = np.repeat(task.rows("test")[:40], 30, axis=0)
    (income,) = (feature for feature in task.features if feature.name == "income")
    steps = task.rows("train")[:, income.columns[0]]
    rows[:, income.columns[0]] = np.tile(np.linspace(steps.min(), steps.max(), 30), 40)
    rows[:, income.missing] = task.rows("test")[:, income.missing].min()
    recipe = {"row_weights": np.random.default_rng(0).integers(0, 3, 540).astype(float)}
    for changed in (trained(learner, task), trained(learner, task, seed=7, **recipe)):
        wanted = changed.probabilities(rows).reshape(40, 30)
        assert (np.diff(wanted, axis=1) >= 0).all()
        assert (np.diff(wanted, axis=1) > 0).any()


# Settings, and whether another seed gives another model.
SEEDED: dict[str, list[tuple[dict[str, Any], bool]]] = {
    "xgboost": [
        ({}, False),
        ({"subsample": 0.8}, True),
        ({"subsample": 1.0, "num_parallel_tree": 2}, False),
        ({"colsample_bytree": 0.6}, True),
        ({"colsample_bylevel": 0.6}, True),
        ({"colsample_bynode": 0.6}, True),
        ({"booster": "dart"}, False),
        ({"booster": "dart", "rate_drop": 0.3}, True),
        ({"booster": "dart", "one_drop": 1}, True),
        ({"seed": 5}, False),
        ({"seed": 5, "subsample": 0.8}, True),
    ],
    "lightgbm": [
        ({}, False),
        ({"subsample": 0.8}, False),
        ({"subsample": 0.8, "subsample_freq": 1}, True),
        ({"bagging_fraction": 0.8, "bagging_freq": 1, "bagging_seed": 4}, True),
        ({"pos_bagging_fraction": 0.5, "bagging_freq": 1}, True),
        ({"feature_fraction": 0.6, "seed": 5}, True),
        ({"feature_fraction_bynode": 0.6}, True),
        ({"extra_trees": True}, True),
        ({"boosting_type": "dart"}, True),
        ({"boosting_type": "dart", "drop_rate": 0.0}, False),
        ({"boosting_type": "dart", "skip_drop": 1.0}, False),
        ({"data_sample_strategy": "goss", "n_estimators": 15}, True),
        ({"data_sample_strategy": "goss", "n_estimators": 10}, False),
        ({"use_quantized_grad": True}, True),
        ({"use_quantized_grad": True, "stochastic_rounding": False}, False),
        ({"subsample_for_bin": 200}, True),
        ({"linear_tree": True}, False),
    ],
    "catboost": [
        ({}, True),
        ({"random_state": 5}, True),
        ({"bootstrap_type": "No", "random_strength": 0}, True),
        ({"bootstrap_type": "No", "random_strength": 0, "has_time": True}, False),
        ({"bootstrap_type": "No", "random_strength": 0, "has_time": True, "rsm": 0.5}, True),
    ],
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_seed_is_told_to_matter_where_it_does(library: str) -> None:
    frame = lent()
    task = own(frame)
    rows = task.rows("train")
    for settings, matters in SEEDED[library]:
        learner = EstimatorLearner(classifier(library, **settings)).sized(len(rows))
        one, other = (trained(learner, task, seed).probabilities(rows) for seed in (1, 2))
        assert (not np.array_equal(one, other)) == matters, settings
        assert learner.traits.has_seeds == matters, settings
        np.testing.assert_array_equal(trained(learner, task, 1).probabilities(rows), one)


def test_seeds_of_boosters_in_pipelines_are_found() -> None:
    frame = lent()
    task = own(frame)
    for library, matters in (("xgboost", False), ("lightgbm", False), ("catboost", True)):
        settings = {"cat_features": CATEGORIES} if library == "catboost" else {}
        types = FunctionTransformer(typed_for[library])
        pipeline = make_pipeline(types, classifier(library, **settings))
        learner = EstimatorLearner(pipeline, original=True).sized(500)
        assert learner.traits.has_seeds == matters
        rows = task.rows("test")
        one, other = (trained(learner, task, seed).probabilities(rows) for seed in (1, 2))
        assert (not np.array_equal(one, other)) == matters
        assert len(learner.configurations()) == 26


LEVELS = lent()
typed_for = {
    library: (lambda rows, library=library: typed(library, rows, like=LEVELS))
    for library in LIBRARIES
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_point_of_a_grid_is_another_model(library: str) -> None:
    task = own(lent())
    learner = EstimatorLearner(classifier(library))
    configurations = learner.configurations()
    assert len(configurations) == 26
    rows = task.rows("test")
    base = trained(learner, task).probabilities(rows)
    for level, other in configurations[::5]:
        assert not np.array_equal(trained(other, task).probabilities(rows), base), level


def test_grids_take_the_other_names_of_settings() -> None:
    import_or_skip("catboost")
    learner = find_learner("catboost:CatBoostClassifier(depth=4)", grid={"max_depth": [2, 4, 6]})
    depths = [each.learner.estimator.get_params()["depth"] for each in learner.configurations()]
    assert depths == [2, 4, 6]
    import_or_skip("lightgbm")
    learner = find_learner("lightgbm:LGBMClassifier(min_data_in_leaf=10)")
    assert isinstance(learner, EstimatorLearner)
    assert learner.estimator.min_child_samples == 10
    assert len(learner.configurations()) == 26


@pytest.mark.parametrize("library", LIBRARIES)
def test_row_weights_are_the_library_s_own(library: str) -> None:
    frame = lent()
    task = own(frame)
    learner = EstimatorLearner(classifier(library))
    weights = np.random.default_rng(1).random(540) + 0.1
    found = trained(learner, task, row_weights=weights).probabilities(task.rows("test"))
    model = classifier(
        library, **{"random_seed" if library == "catboost" else "random_state": SEED}
    )
    if library == "catboost":
        model.set_params(cat_features=["home", "state"])
    rows = typed(library, frame).assign(grade=frame["grade"])
    part = np.concatenate([task.split.train, task.split.update])
    labels = (frame["outcome"] == "paid").astype(int)
    model.fit(rows.iloc[part], labels.iloc[part], sample_weight=weights)
    expected = model.predict_proba(rows.iloc[task.split.test])[:, 1]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_number_of_workers_changes_no_byte(
    library: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    monkeypatch.setenv("CHANGEPROOF_MODELS", "off")
    monkeypatch.chdir(tmp_path)
    frame = lent(500)[[*COLUMNS, "outcome"]]
    draws = {
        "xgboost": {"subsample": 0.8},
        "lightgbm": {"feature_fraction": 0.8},
        "catboost": {},
    }[library]
    given = {
        "methods": ["kdtree"],
        "families": ["new-initialization(replicates=2)", "bootstrap(replicates=2)"],
        "factuals": 6,
        "publish": False,
    }
    pieces = []
    for jobs in (1, 2):
        out = tmp_path / f"run{jobs}"
        cp.evaluate(frame, reference(library, **draws), out=out, jobs=jobs, **given, **DATA)
        pieces.append(
            {path.name: path.read_bytes() for path in (out / "pieces").rglob("*") if path.is_file()}
        )
    assert pieces[0] == pieces[1]
    assert pieces[0]
    assert not capfd.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {"run1", "run2"}


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_thousand_values_are_no_hindrance(library: str) -> None:
    frame = lent(2_000)[[*COLUMNS, "outcome"]]
    towns = np.array([f"town {number}" for number in range(1000)])
    drawn = np.random.default_rng(2).permutation(np.resize(towns, len(frame)))
    frame["state"] = drawn
    given: dict[str, Any] = {"methods": ["kdtree"], "families": ["bootstrap(replicates=1)"]}
    given |= {"factuals": 8, "reasons": False}
    model = fitted(library, frame)

    def predict(rows: pd.DataFrame) -> Any:
        return model.predict(typed(library, rows, like=frame))

    results = cp.evaluate(frame, model, **given, **DATA)
    assert check_on_the_model(results, frame, predict, [1]) >= 6
    assert "state" not in set(results.table("told")["feature"])
    results = cp.evaluate(frame, reference(library), categorical=["grade"], **given, **DATA)
    model = by_hand(library, frame, results.task("data"))
    assert check_on_the_model(results, frame, predict, [1]) >= 6


def test_dates_are_days_to_boosters() -> None:
    import_or_skip("lightgbm")
    frame = lent()[[*COLUMNS, "outcome"]]
    days = np.random.default_rng(4).integers(0, 500, len(frame))
    dates = pd.Timestamp("2025-01-01") + pd.to_timedelta(days, "D")
    for applied in (dates, dates.strftime("%Y-%m-%d")):
        task = own_task(frame.assign(applied=applied), taken="all", **DATA)
        learner = find_learner(reference("lightgbm"))
        assert isinstance(learner, EstimatorLearner) and learner.inputs is not None
        found: Any = learner.inputs.taken(task.rows("test"), task)
        np.testing.assert_array_equal(found["applied"], days[task.split.test] + 20089)


@pytest.mark.parametrize("listed", [["grade"], [6, 3]])
def test_catboost_may_be_told_of_categories(listed: list[Any]) -> None:
    frame = lent()
    task = own(frame)
    model = classifier("catboost", cat_features=listed)
    found = trained(EstimatorLearner(model), task).probabilities(task.rows("test"))
    alone = by_hand("catboost", frame, task)
    expected = alone.predict_proba(typed("catboost", frame).iloc[task.split.test])[:, 1]
    np.testing.assert_array_equal(found, expected)


def test_a_pickle_of_a_booster_is_used_as_it_is(tmp_path: Path) -> None:
    frame = lent()
    for library in LIBRARIES:
        model = fitted(library, frame)
        path = tmp_path / f"{library}.pickle"
        path.write_bytes(pickle.dumps(model))
        found = load_model(f"pickle:{path}", unpickle=True)
        task = own(frame)
        base = trained(shipped_learner(found, task), task)
        expected = model.predict_proba(typed(library, frame).iloc[task.split.test])[:, 1]
        np.testing.assert_array_equal(base.probabilities(task.rows("test")), expected)


def test_a_catboost_model_is_the_same_whenever_it_was_trained() -> None:
    frame = lent()
    one, same, other = (fitted("catboost", frame, random_seed=seed) for seed in (1, 1, 2))
    assert model_digest(one) == model_digest(same) != model_digest(other)
    assert model_digest(pickle.loads(pickle.dumps(one))) == model_digest(one)
    wrapped = [make_pipeline(FunctionTransformer(), each) for each in (one, same, other)]
    assert model_digest(wrapped[0]) == model_digest(wrapped[1]) != model_digest(wrapped[2])


def test_a_booster_that_stopped_early_is_refitted_for_as_long() -> None:
    frame = lent()
    labels = (frame["outcome"] == "paid").astype(int)
    task = own(frame)
    for library, stop in {
        "xgboost": {"early_stopping_rounds": 3},
        "lightgbm": {"early_stopping_round": 3},
        "catboost": {"early_stopping_rounds": 3},
    }.items():
        rows = typed(library, frame)
        late: Any = (rows[600:], labels[600:])
        settings = {"cat_features": CATEGORIES} if library == "catboost" else {}
        rounds = {"iterations" if library == "catboost" else "n_estimators": 400}
        model = classifier(library, learning_rate=0.3, **rounds, **stop, **settings)
        if library == "lightgbm":
            model.fit(rows[:600], labels[:600], eval_X=late[0], eval_y=late[1])
            kept = model.best_iteration_
        elif library == "xgboost":
            model.fit(rows[:600], labels[:600], eval_set=[late], verbose=False)
            kept = model.best_iteration + 1
        else:
            model.fit(rows[:600], labels[:600], eval_set=late)
            kept = model.tree_count_
        assert 0 < kept < 100
        learner: Any = as_shipped(model).refits(task)
        again = trained(learner, task).estimator
        count = {
            "xgboost": lambda m: m.get_booster().num_boosted_rounds(),
            "lightgbm": lambda m: m.booster_.current_iteration(),
            "catboost": lambda m: m.tree_count_,
        }[library](again)
        assert count == kept
        with pytest.raises(InputError, match=r"is to stop early .*, which needs rows that are set"):
            find_learner(reference(library, **stop))


@pytest.mark.parametrize("library", LIBRARIES)
def test_what_is_trained_here_uses_one_thread(library: str) -> None:
    """Whatever a model says: many are trained side by side, and threads would change digits."""
    threads = THREADS[library]
    booster = classifier(library, **{threads: 4})
    assert EstimatorLearner(booster).estimator.get_params()[threads] == 1
    assert booster.get_params()[threads] == 4
    within = EstimatorLearner(make_pipeline(StandardScaler(), booster)).estimator
    assert within.steps[-1][1].get_params()[threads] == 1


def test_scikit_learn_trains_on_one_thread_too() -> None:
    forest = RandomForestClassifier(n_jobs=-1)
    alone, within = EstimatorLearner(forest), EstimatorLearner(make_pipeline(forest))
    assert alone.estimator.n_jobs is None
    assert within.estimator.steps[-1][1].n_jobs is None
    assert forest.n_jobs == -1


def test_lightgbm_says_too_little_of_its_columns() -> None:
    """It knows categories but not of which columns, and writes blanks as underlines."""
    import_or_skip("lightgbm")
    frame = lent().rename(columns={"income": "net income"})
    columns = ["net income", *COLUMNS[1:]]
    typed_frame = frame[columns].copy()
    typed_frame["home"] = typed_frame["home"].astype("category")
    typed_frame["state"] = typed_frame["state"].astype("category")
    labels = frame["outcome"]
    ordered = typed_frame.assign(grade=pd.Categorical(frame["grade"], ordered=True))
    cases = [
        (typed_frame.assign(grade=frame["grade"].astype("category")), "auto"),
        (ordered, "auto"),
        (typed_frame, ["grade", "home", "state"]),
        (typed_frame, "auto"),
    ]
    for rows, categorical in cases:
        model = classifier("lightgbm").fit(rows, labels, categorical_feature=categorical)
        source = as_shipped(model)
        assert source.columns is not None and source.columns[0] == "net_income"
        task = own_task(frame, taken=source.columns, **DATA)
        learner = shipped_learner(model, task)
        test = rows.iloc[task.split.test]
        found = trained(learner, task).probabilities(task.rows("test"))
        np.testing.assert_array_equal(found, model.predict_proba(test)[:, 1])
        again = classifier("lightgbm", random_state=SEED + 1)
        again.fit(
            rows.iloc[task.split.train],
            labels.iloc[task.split.train],
            categorical_feature=categorical,
        )
        refit = trained(learner, task, seed=SEED + 1).probabilities(task.rows("test"))
        np.testing.assert_allclose(refit, again.predict_proba(test)[:, 1], rtol=1e-6)


def test_a_category_that_xgboost_would_refuse_is_refused_first() -> None:
    frame = lent()
    model = fitted("xgboost", frame)
    frame.loc[3, "home"] = "houseboat"
    with pytest.raises(InputError, match="was fitted without home = houseboat and refuses it"):
        cp.evaluate(frame, model, **SMALL, **DATA)
    frame.loc[3, "home"] = np.nan
    with pytest.raises(InputError, match="was fitted on 3 columns of categories; of its columns"):
        model = fitted("lightgbm", frame)
        cp.evaluate(frame.assign(home=1.0), model, **SMALL, **DATA)


@pytest.mark.parametrize(
    ("library", "renamed", "settings", "line"),
    [
        ("xgboost", {}, "monotone_constraints={'incme': 1}", "constraints 'incme'; expected one"),
        ("catboost", {}, "monotone_constraints={'incme': 1}", "constraints 'incme'; expected one"),
        ("lightgbm", {}, "monotone_constraints=[1]", "has 1 monotone_constraints; expected one"),
        ("lightgbm", {"income": "income: €"}, "", "in its name; got 'income: €': rename it"),
        ("xgboost", {"income": "income [€]"}, "", "in its name; got 'income [€]': rename it"),
    ],
)
def test_settings_and_names_that_fit_no_column_are_refused_before_the_run(
    library: str, renamed: dict[str, str], settings: str, line: str, tmp_path: Path
) -> None:
    import_or_skip(library)
    name = type(classifier(library)).__name__
    with pytest.raises(InputError, match=re.escape(line)):
        cp.evaluate(
            lent().rename(columns=renamed),
            f"{library}:{name}({settings})",
            missing="as-is",
            out=tmp_path / "run",
            **SMALL,
            **DATA,
        )
    assert not (tmp_path / "run").exists()


def test_wrong_names_are_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for library in LIBRARIES:
        import_or_skip(library)
    wrong = {
        "xgboost:XGBRegressor": "xgboost has no classifier 'XGBRegressor'; expected one of: "
        "XGBClassifier, XGBRFClassifier",
        "lightgbm:LGBMClasifier": "lightgbm has no classifier 'LGBMClasifier'; expected one of: "
        "LGBMClassifier",
        "catboost:CatBoostRegressor": "catboost has no classifier 'CatBoostRegressor'; expected "
        "one of: CatBoostClassifier",
        "xgboost:XGBClassifier(max_dept=4)": "XGBClassifier has no parameter 'max_dept'",
        "lightgbm:LGBMClassifier(max_dept=4)": "LGBMClassifier has no parameter 'max_dept'",
        "catboost:CatBoostClassifier(max_dept=4)": "unexpected keyword argument 'max_dept'",
        "xgboost:XGBClassifier(max_depth='deep')": "XGBoostError: Invalid Parameter format",
        "lightgbm:LGBMClassifier(num_leaves='x')": "num_leaves should be of type int",
        "catboost:CatBoostClassifier(depth=50)": "CatBoostError: Maximum tree depth is 16",
        "xgboost:XGBClassifier(": "expected ClassName(parameter=value), or a model as FILE.json",
        "xgboost:": "unknown model 'xgboost:'",
    }
    for text, line in wrong.items():
        with pytest.raises(InputError) as caught:
            find_learner(text)
        assert line in str(caught.value)
        assert "\n" not in str(caught.value)
    monkeypatch.setitem(sys.modules, "catboost", None)
    with pytest.raises(InputError, match=r"needs catboost, which is not installed \(extra: catb"):
        find_learner("catboost:CatBoostClassifier")
