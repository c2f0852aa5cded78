from __future__ import annotations

import gc
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

import changeproof as cp
from changeproof import InputError, Observer, Plan, Results, run
from changeproof.cli import app
from changeproof.explanation import explain
from changeproof.front_door import audit
from changeproof.methods import default_method_names
from changeproof.models.learner import FunctionLearner
from changeproof.runs.execute import PieceFailedError, take_inventory
from loans import loans

LOGISTIC = "sklearn:LogisticRegression"
LOANS: dict[str, Any] = {"target": "approved", "favourable": "yes", "id_column": "applicant"}
FEW: dict[str, Any] = {
    "methods": ["kdtree", "rbr"],
    "families": ["bootstrap", "architecture"],
    "factuals": 15,
}


def kind_tool(table: pd.DataFrame) -> pd.DataFrame:
    """Tell refused people to be like others who were approved."""
    refused = table[table["approved"] == "no"].head(20).reset_index(drop=True)
    approved = table[table["approved"] == "yes"].head(20).reset_index(drop=True)
    return (
        approved.drop(columns="approved")
        .assign(applicant=refused["applicant"])
        .rename(columns={"applicant": "id"})
    )


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return loans(300)


@pytest.fixture(scope="module")
def audited(table: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """An audit of a logistic regression, with counterfactuals of another tool."""
    out = tmp_path_factory.mktemp("audits") / "audit"
    given = {"kind-tool": kind_tool(table)}
    return audit(table, out, model=LOGISTIC, counterfactuals=given, jobs=1, **LOANS, **FEW)


def test_other_tools_are_held_against_the_same_changed_models(
    audited: Results, table: pd.DataFrame
) -> None:
    methods = ["kdtree", "rbr", "kind-tool"]
    assert list(audited.shown.methods) == methods
    given = audited.counterfactuals("data", 2026, "kind-tool")
    task = audited.task("data")
    asked = kind_tool(table)
    assert task.ids.loc[given.row_ids.tolist()].tolist() == asked["id"].tolist()
    shown = task.decoded(given.rows[given.found])
    expected = asked[given.found].reset_index(drop=True)
    assert shown["purpose"].tolist() == expected["purpose"].tolist()
    np.testing.assert_allclose(shown["income"], expected["income"])
    for method in methods:
        survived = audited.survival("data", 2026, method)
        assert survived.shape == (20, 50)
        answers = audited.counterfactuals("data", 2026, method)
        np.testing.assert_array_equal(answers.row_ids, given.row_ids)
        assert survived[answers.base_valid].mean() > 0.5
    results = pd.read_csv(audited.folder / "tables" / "full_results.csv")
    assert set(results["method"]) == set(methods)
    levels = audited.variants("data", 2026).query("family == 'architecture'")["level"]
    assert "mlp" in set(levels)
    assert "LogisticRegression" not in set(levels)


def test_what_does_not_fit_is_left_out_with_its_reason(table: pd.DataFrame, tmp_path: Path) -> None:
    plan = {**FEW, "methods": ["kdtree", "rnce", "wachter"], "families": None}
    plan["families"] = ["bootstrap", "parameter-perturbation", "training-configuration"]
    results = audit(table, tmp_path / "out", model=LogisticRegression(), jobs=1, **LOANS, **plan)
    assert set(results.plan.left_out) == {"rnce", "parameter-perturbation"}
    reason = "needs relu parameters of a model; LogisticRegression offers linear coefficients"
    assert results.plan.left_out["rnce"] == reason
    assert results.counterfactuals("data", 2026, "wachter").base_valid.any()
    page = (tmp_path / "out" / "report" / "index.html").read_text()
    assert "Left out: rnce" in page
    with pytest.raises(InputError, match="no method of the plan fits the model"):
        audit(table, tmp_path / "none", model=LOGISTIC, **LOANS, methods=["rnce"])
    assert not (tmp_path / "none").exists()


def test_an_audit_that_names_no_methods_asks_all_that_fit(table: pd.DataFrame) -> None:
    columns = table[["income", "debts"]]
    fitted = RandomForestClassifier(5, max_depth=4, random_state=0).fit(columns, table["approved"])
    few = {"families": ["bootstrap(replicates=2)"], "factuals": 2, "publish": False}
    found = cp.evaluate(table, fitted, **few, **LOANS)
    asked = set(found.table("full_results")["method"])
    assert "quorum" in asked
    assert asked | {"wachter", "rnce", "apds"} == set(default_method_names())


def test_a_run_directory_can_be_moved_and_goes_on(audited: Results, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    shutil.copytree(audited.folder, moved)
    again = Results(moved)
    np.testing.assert_array_equal(
        again.survival("data", 2026, "rbr"), audited.survival("data", 2026, "rbr")
    )
    assert take_inventory(again.plan, moved).complete


@pytest.mark.usefixtures("always_workers")
def test_workers_know_live_models_and_change_nothing(table: pd.DataFrame, tmp_path: Path) -> None:
    plan = {**FEW, "families": ["bootstrap", "label-update"]}
    more = {"publish": False, **LOANS, **plan}
    runs = [
        audit(table, tmp_path / str(jobs), model=LogisticRegression(), jobs=jobs, **more)
        for jobs in (1, 2)
    ]
    for method in plan["methods"]:
        first, second = (r.survival("data", 2026, method) for r in runs)
        np.testing.assert_array_equal(first, second)
    assert runs[0].plan.model.startswith("object:LogisticRegression@")


def test_our_networks_by_way_of_any_model_are_the_same(tmp_path: Path) -> None:
    plan: dict[str, Any] = {
        "datasets": ["diabetes"],
        "factuals": 8,
        "methods": ["kdtree", "wachter", "rnce", "betarce", "apds"],
        "families": ["bootstrap", "parameter-perturbation", "architecture"],
    }
    ours = run(Plan.preset("quick", **plan), tmp_path / "ours", jobs=1, publish=False)
    others = Plan.preset("quick", **plan, replacements=["sklearn:LogisticRegression"])
    generic = run(others, tmp_path / "generic", jobs=1, publish=False)
    assert generic.plan.left_out == {}
    changed = generic.variants("diabetes", 2026)
    kept = (changed["level"] != "LogisticRegression").to_numpy()
    assert (~kept).sum() == 1
    for method in plan["methods"]:
        first, second = (r.counterfactuals("diabetes", 2026, method) for r in (ours, generic))
        np.testing.assert_array_equal(first.rows, second.rows)
        shared = generic.survival("diabetes", 2026, method)[:, kept]
        np.testing.assert_array_equal(ours.survival("diabetes", 2026, method), shared)
    pd.testing.assert_frame_equal(
        ours.variants("diabetes", 2026)[["hard_disagreement", "probability_mae"]],
        changed[kept].reset_index(drop=True)[["hard_disagreement", "probability_mae"]],
    )


def test_widths_of_ones_own_change_the_base_network(tmp_path: Path) -> None:
    plan = {"datasets": ["diabetes"], "factuals": 4, "methods": ["kdtree"], "model": "mlp:6,5"}
    families = {"families": ["bootstrap", "architecture"]}
    plan = Plan.preset("quick", **plan, **families)
    results = run(plan, tmp_path / "run", jobs=1, publish=False)
    assert results.base_network("diabetes", 2026).hidden == (6, 5)
    shapes = [network.hidden for network in results.bank("diabetes", 2026).stack]
    assert set(shapes[:25]) == {(6, 5)}
    assert (128, 128) in shapes[25:]


def test_one_person(audited: Results) -> None:
    answers = audited.counterfactuals("data", 2026, "kdtree")
    person = audited.task("data").ids.loc[int(answers.row_ids[answers.found][0])]
    answer = explain(audited, person, "kdtree")
    assert answer.advice
    assert answer.factual["purpose"] in ("car", "house", "study")
    assert [holding.models for holding in answer.families] == [25, 25]
    assert answer.overall.held == sum(holding.held for holding in answer.families)
    assert 0 <= answer.overall.low <= answer.overall.share <= answer.overall.high <= 1
    json.dumps(answer.as_dict())
    with pytest.raises(InputError, match="no row has the id 'nobody'"):
        explain(audited, "nobody", "kdtree")


class Listener(Observer):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def test_the_id_column_of_the_data_serves_the_counterfactuals_too(
    table: pd.DataFrame, tmp_path: Path
) -> None:
    path = tmp_path / "cfes.csv"
    given = kind_tool(table).rename(columns={"id": "applicant"}).assign(remark="be rich")
    given.to_csv(path, index=False)
    listener, plan = Listener(), {**FEW, "methods": ["kdtree"], "families": ["bootstrap"]}
    more = {"counterfactuals": {"tool": path}, "observer": listener, "jobs": 1, "publish": False}
    results = audit(table, tmp_path / "out", model=LOGISTIC, **more, **LOANS, **plan)
    assert results.counterfactuals("data", 2026, "tool").found.all()
    assert listener.notes == ["tool: columns that are not features were ignored: remark"]


@pytest.fixture
def loans_file(table: pd.DataFrame, tmp_path: Path) -> Path:
    path = tmp_path / "loans.csv"
    table.to_csv(path, index=False)
    return path


def command(data: Path, out: Path, *more: str, **changed: str) -> Any:
    options = {"target": "approved", "favourable": "yes", "id-column": "applicant"} | changed
    named = [word for key, value in options.items() for word in (f"--{key}", value)]
    arguments = ["--data", str(data), "--out", str(out), "--jobs", "1", *named, *more]
    return CliRunner().invoke(app, arguments if more[:1] == ("explain",) else ["audit", *arguments])


def test_the_commands(loans_file: Path, tmp_path: Path) -> None:
    few = ["--methods", "kdtree", "--families", "bootstrap", "--factuals", "5"]
    few += ["--base-seeds", "2026,2027"]
    done = command(loans_file, tmp_path / "out", "--model", LOGISTIC, *few)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out" / "report" / "index.html").exists()
    assert Results(tmp_path / "out").plan.base_seeds == (2026, 2027)
    for more in ([], ["--timings"]):
        status = CliRunner().invoke(app, ["status", str(tmp_path / "out"), *more])
        assert status.exit_code == 0, status.output
    assert "survival" in status.output
    options = ["--target", "approved", "--favourable", "yes", "--id-column", "applicant"]
    person = loans(300).query("approved == 'no'")["applicant"].iloc[0]
    explained = CliRunner().invoke(
        app,
        [
            *("explain", "--data", str(loans_file), *options, "--model", LOGISTIC, "--jobs", "1"),
            *("--method", "kdtree", "--row", person, "--families", "bootstrap", "--json"),
            *("--out", str(tmp_path / "explained")),
        ],
    )
    assert explained.exit_code == 0, explained.exc_info
    answer = json.loads(explained.stdout)
    assert answer["person"] == person
    assert answer["families"][0]["models"] == 25
    assert not (tmp_path / "explained" / "report").exists()


BAD_DATA = {
    "no target": ({"target": "granted"}, {}, "granted"),
    "one class": ({}, {"approved": "yes"}, "one class only"),
    "text in a number": ({}, {"income": ["much"] + ["1"] * 299}, "much"),
    "ids twice": ({}, {"applicant": "A1"}, "A1"),
}


@pytest.mark.parametrize(
    ("always", "words"),
    [
        (0, "accepts none of the 231 test rows of 'diabetes', so no advice helps"),
        (1, "accepts all of the 231 test rows of 'diabetes', so nobody needs advice"),
    ],
)
def test_a_model_that_always_decides_the_same(always: int, words: str) -> None:
    model = DummyClassifier(strategy="constant", constant=always)
    with pytest.raises(PieceFailedError) as failed:
        cp.evaluate("diabetes", model, ["kdtree"], ["bootstrap"], factuals=3, jobs=1)
    assert failed.value.refused
    assert words in failed.value.summary[0]


@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_data(case: str, table: pd.DataFrame, tmp_path: Path) -> None:
    options, columns, message = BAD_DATA[case]
    path = tmp_path / "bad.csv"
    table.assign(**columns).to_csv(path, index=False)
    failed = command(path, tmp_path / "out", **options)
    assert isinstance(failed.exception, InputError), failed.output
    assert message in str(failed.exception)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--model", "sklearn:LinearSVC"], "no predict_proba"),
        (["--model", "pickle:model.pkl"], "--unpickle-and-run-its-code"),
        (["--model", LOGISTIC, "--grid", "depth=1,2"], "no parameter 'depth'"),
        (["--model", LOGISTIC, "--replacements", "forest"], "unknown model 'forest'"),
        (["--counterfactuals", "kdtree=x.csv"], "a method has that name"),
        (["--counterfactuals", "nothing.csv"], "nothing.csv"),
        (["--methods", "magic"], "magic"),
    ],
)
def test_bad_options(more: list[str], message: str, loans_file: Path, tmp_path: Path) -> None:
    failed = command(loans_file, tmp_path / "out", *more)
    assert isinstance(failed.exception, InputError), failed.output
    assert message in str(failed.exception)
    assert not (tmp_path / "out").exists()


def test_counterfactuals_that_do_not_fit_the_data(table: pd.DataFrame, tmp_path: Path) -> None:
    given = kind_tool(table)
    for change, message in (
        (given.drop(columns="income"), "income"),
        (given.assign(income="a lot"), "a lot"),
        (given.assign(purpose="yacht"), "yacht"),
        (given.assign(id="nobody"), "nobody"),
    ):
        with pytest.raises(InputError, match=message):
            audit(table, tmp_path / "out", counterfactuals=change, **LOANS)
        assert not (tmp_path / "out").exists()


class Moody(LogisticRegression):  # type: ignore[misc]
    """Refuses every training but the first."""

    calls = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        Moody.calls += 1
        if Moody.calls > 1:
            raise RuntimeError("not again")
        return super().fit(X, y)


def test_a_model_that_fails_later_takes_down_what_needs_it(
    table: pd.DataFrame, tmp_path: Path
) -> None:
    with pytest.raises(PieceFailedError, match=r"could not be fitted on .* rows: .*not again"):
        few = {**FEW, "methods": ["kdtree"], "publish": False}
        audit(table, tmp_path / "out", model=Moody(), jobs=1, **LOANS, **few)


CALLS: list[int] = []


def drifting(X: Any, y: Any, sample_weight: Any, seed: int) -> Any:
    CALLS.append(seed)
    return LogisticRegression(C=float(len(CALLS))).fit(X, y).predict_proba


def test_training_that_is_not_deterministic_is_found_out(
    table: pd.DataFrame, tmp_path: Path
) -> None:
    from changeproof.runs import work

    plan = {**FEW, "methods": ["kdtree"], "families": ["bootstrap"]}
    learner = FunctionLearner(drifting)
    plan |= {"publish": False}
    work._model.cache_clear()
    work._trained.cache_clear()
    audit(table, tmp_path / "first", model=learner, jobs=1, **LOANS, **plan)
    shutil.copytree(tmp_path / "first", tmp_path / "second")
    for path in (tmp_path / "second" / "pieces").rglob("counterfactuals-*"):
        path.unlink()
    work._model.cache_clear()
    work._trained.cache_clear()
    with pytest.raises(PieceFailedError, match="not the same when trained twice"):
        audit(table, tmp_path / "second", model=learner, jobs=1, **LOANS, **plan)


def nudge(context: Any, factuals: Any) -> Any:
    """Move a little."""
    return factuals.rows + 0.5


def test_one_call_with_the_objects_at_hand(table: pd.DataFrame, tmp_path: Path) -> None:
    results = cp.evaluate(
        table,
        LogisticRegression(),
        [cp.KDTree, cp.BetaRCE(ensemble_size=4, robustness=0.3), nudge],
        [cp.Bootstrap(replicates=3), "label-update(replicates=4)"],
        factuals=6,
        jobs=1,
        **LOANS,
    )
    methods = ["kdtree", "betarce(ensemble_size=4, robustness=0.3)", "nudge"]
    assert sorted(results.table()["method"]) == sorted(methods)
    assert set(results.table("family_results")["family"]) == set(results.plan.families)
    held = results.survival()
    assert len(held) == 6 * len(methods) * 2
    assert held.groupby("family")["models"].first().to_dict() == {
        "bootstrap(replicates=3)": 3,
        "label-update(replicates=4)": 4,
    }
    one = held.query("method == 'kdtree' and family.str.startswith('boot')", engine="python")
    survived = results.survival("data", 2026, "kdtree")
    assert one["held"].tolist() == survived[:, :3].sum(axis=1).tolist()
    assert set(held["id"]) <= set(table["applicant"])
    page = results.report(tmp_path / "page")
    assert page == tmp_path / "page" / "index.html"
    assert "nudge" in page.read_text()
    assert "nudge" in results._repr_html_()
    assert "<script" not in results._repr_html_()


def test_counterfactuals_of_another_tool_alone(table: pd.DataFrame) -> None:
    given = {"kind-tool": kind_tool(table)}
    families = ["bootstrap(replicates=2)"]
    results = cp.evaluate(table, LOGISTIC, [], families, counterfactuals=given, jobs=1, **LOANS)
    assert results.table()["method"].tolist() == ["kind-tool"]
    assert len(results.survival()) == 20


def test_results_without_a_directory_live_as_long_as_they_are_held() -> None:
    def evaluated() -> Path:
        bootstraps = ["bootstrap(replicates=2)"]
        return cp.evaluate("diabetes", LOGISTIC, ["kdtree"], bootstraps, factuals=2, jobs=1).folder

    folder = evaluated()
    gc.collect()
    assert not folder.exists()


def test_embedded_data_tasks_and_files_are_tasks_too(table: pd.DataFrame, tmp_path: Path) -> None:
    few: dict[str, Any] = {"methods": ["kdtree"], "families": ["bootstrap(replicates=2)"]}
    few |= {"factuals": 3, "jobs": 1}
    task = cp.own_task(table, **LOANS)
    path = tmp_path / "loans.csv"
    table.to_csv(path, index=False)
    names = [
        cp.evaluate(given, model=LOGISTIC, **few, **more).table()["dataset"].unique().tolist()
        for given, more in (("diabetes", {}), (task, {}), (path, LOANS))
    ]
    assert names == [["diabetes"], ["data"], ["loans"]]
    kept = cp.evaluate(task, LOGISTIC, out=tmp_path / "out", **few)
    assert (tmp_path / "out" / "report" / "index.html").exists()
    again = Results(tmp_path / "out")
    pd.testing.assert_frame_equal(again.survival(), kept.survival())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"task": pd.DataFrame({"a": [1]})}, "a table needs target (a column) and favourable"),
        ({"task": "diabetes", "target": "x"}, "target describe a table; Task('diabetes'"),
        ({"task": "adult"}, "unknown dataset 'adult'; expected one of: breast-cancer"),
        ({"task": "diabetes", "methods": "kdtree"}, "expected a list of method names or objects"),
        ({"task": "diabetes", "methods": ["kdtree", cp.KDTree]}, "'kdtree' is given more than"),
        ({"task": "diabetes", "methods": [3]}, "is an object of type int; expected a subclass"),
        ({"task": "diabetes", "families": ["drift"]}, "unknown family 'drift'"),
        ({"task": "diabetes", "model": 3}, "cannot use int as a model"),
        ({"task": "diabetes", "factuals": 0}, "factuals: input should be greater than or equal"),
    ],
)
def test_what_evaluate_refuses(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        cp.evaluate(**arguments)


def test_questions_about_results_that_make_no_sense(audited: Results) -> None:
    with pytest.raises(InputError, match="unknown table 'nothing'; expected one of: advice"):
        audited.table("nothing")
    with pytest.raises(InputError, match="survival takes dataset, base seed and method, or noth"):
        audited.survival("data")  # type: ignore[call-overload]
    with pytest.raises(InputError, match="models of the kind LogisticRegression are not kept"):
        audited.base_network("data", 2026)
