from __future__ import annotations

import json
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from markupsafe import escape

from advised import ACTIONS, RULES, advised, applicants
from changeproof import (
    Plan,
    Results,
    build_tables,
    evaluate,
    explain,
    explain_all,
    load_task,
    own_task,
    recommend,
)
from changeproof.datasets.kept import task_from_bytes, task_to_bytes
from changeproof.datasets.recourse import Wording
from changeproof.report.page.guarantees import guarantees
from changeproof.report.page.provenance import _dataset as told_of_data
from changeproof.report.page.provenance import command, plan_toml, provenance
from changeproof.report.page.times import published
from changeproof.report.page.write import build_bulk, build_payload, render
from changeproof.report.verdict import verdict
from changeproof.runs.plan import BASE_SEEDS
from changeproof.runs.results import StoredResults
from changeproof.tables.display import number
from changeproof.tables.names import method_name
from changeproof.tables.registry import read_tables
from loans import loans
from paged import answer, chart, parts


@pytest.fixture(scope="module")
def results(quick_run: Results) -> Results:
    return quick_run


@pytest.fixture(scope="module")
def tables(quick_run: Results) -> dict[str, pd.DataFrame]:
    return read_tables(quick_run.folder)


@pytest.fixture(scope="module")
def payload(results: StoredResults, tables: dict[str, pd.DataFrame]) -> dict[str, Any]:
    return build_payload(results, tables)


@pytest.fixture(scope="module")
def bulk(results: StoredResults) -> list[dict[str, Any]]:
    return build_bulk(results)


def test_everything_is_plain_json_and_comes_from_the_plan(
    payload: dict[str, Any], bulk: list[dict[str, Any]], quick_run: Results
) -> None:
    json.dumps([payload, bulk], allow_nan=False)
    assert payload["references"]["datasets"] == list(quick_run.plan.datasets)
    assert payload["methods"] == list(quick_run.plan.methods)
    assert payload["references"]["families"] == list(quick_run.plan.families)
    marks = {m: e["colour"] for m, e in zip(payload["methods"], payload["marks"], strict=True)}
    assert marks.pop("quorum") == "series-9"
    assert list(marks.values()) == [f"series-{place}" for place in range(9)]
    assert payload["state"]["complete"]
    assert any("one base model" in note for note in payload["state"]["notes"])


def test_people_are_told_what_the_methods_said(
    bulk: list[dict[str, Any]], quick_run: Results
) -> None:
    task, place = load_task("diabetes"), quick_run.plan.datasets.index("diabetes")
    people = bulk[place]["people"]
    network = people["networks"][0]
    for m, method in enumerate(quick_run.plan.methods):
        answers = quick_run.counterfactuals("diabetes", 2026, method)
        survived = quick_run.survival("diabetes", 2026, method)
        assert network["ids"] == answers.row_ids.tolist()
        for i, (valid, distance, counts, changes) in enumerate(network["methods"][m]):
            assert valid == answers.base_valid[i]
            assert sum(counts) == survived[i].sum()
            assert counts[1] == survived[i, 25:50].sum()
            expected = Wording(task).changes(answers.factuals[i], answers.rows[i])
            assert [people["features"][c[0]] for c in changes] == [e.feature for e in expected]
            assert [c[2] for c in changes] == [e.after for e in expected]
            shown = [c[4] if len(c) > 4 else network["factuals"][i][c[0]] for c in changes]
            assert shown == [e.before for e in expected]
            assert distance == pytest.approx(
                sum(e.size for e in expected) / task.n_features, abs=1e-3
            )


def test_people_get_the_advice_and_the_recommendation_of_explain(advised_run: Results) -> None:
    (part,) = build_bulk(advised_run)
    people = part["people"]
    assert people["rules"] == RULES
    assert ("age", "Nobody gets younger.") in people["reasons"]
    network, methods = people["networks"][0], advised_run.shown.methods
    kinds = set()
    for i, person in enumerate(network["ids"]):
        answers = {each.method: each for each in explain_all(advised_run, person)}
        for m, method in enumerate(methods):
            answer = network["methods"][m][i]
            if isinstance(answer, str):
                assert answer == answers[method].why_not
                continue
            said = [
                people["sentences"][template].format(
                    feature=people["features"][feature],
                    before=(*more, network["factuals"][i][feature])[0],
                    after=after,
                )
                for feature, template, after, _, *more in answer[3]
            ]
            assert said == list(answers[method].advice)
            assert len(answer) == 4
        chosen = recommend(advised_run, person)
        place, reason = network["recommended"][i]
        assert place == (None if chosen.method is None else methods.index(chosen.method))
        named = re.sub("|".join(methods), lambda found: method_name(found[0]), chosen.sentence)
        assert reason == named
        kinds.add(chosen.kind)
    # 50 changed models cannot show that advice holds in 95 % of such models.
    assert kinds == {"undecided"}


def test_what_was_tested_as_published_says_what_it_breaks(tmp_path: Path) -> None:
    results = advised(tmp_path / "run", feasible=False, publish=False)
    (part,) = build_bulk(results)
    network, features = part["people"]["networks"][0], part["people"]["features"]
    for m, method in enumerate(results.shown.methods):
        for i, person in enumerate(network["ids"]):
            answer, expected = network["methods"][m][i], explain(results, person, method)
            if not isinstance(answer, str):
                breach, parts = answer[4:] or ["", []]
                assert breach == expected.breach
                assert tuple(features[place] for place in parts) == expected.partly


def test_variants_leave_what_survival_says(bulk: list[dict[str, Any]], quick_run: Results) -> None:
    place = quick_run.plan.datasets.index("diabetes")
    points = bulk[place]["variants"]
    answers = quick_run.counterfactuals("diabetes", 2026, "kdtree")
    survived = quick_run.survival("diabetes", 2026, "kdtree")
    expected = 100 * survived[answers.base_valid].mean(axis=0)
    method = quick_run.plan.methods.index("kdtree")
    np.testing.assert_allclose(points["survived"][method], expected, rtol=1e-5)
    variants = quick_run.variants("diabetes", 2026)
    np.testing.assert_allclose(
        points["disagreement"], 100 * variants["hard_disagreement"], rtol=1e-5
    )


def test_promises_stand_beside_what_happened(
    payload: dict[str, Any], quick_run: Results, tables: dict[str, pd.DataFrame]
) -> None:
    promises = guarantees(tables, quick_run.shown, quick_run)
    made = {each.method: each for each in promises}
    cards = parts(payload, "guarantees", "cards")[0]["cards"]
    subjects = {True: "Every CFE", False: "A certified CFE"}
    promised = [f"{subjects[each.always]} {each.words}." for each in promises]
    assert [card["words"] for card in cards] == promised
    assert set(made) == {"apds", "betarce", "quorum", "rnce"}
    assert made["rnce"].level == 100
    # quorum promises something of all families, and what happened in all of them stands beside.
    assert made["quorum"].level == 99
    held = tables["full_results"].query("method == 'quorum'")["empirical_robustness_mean"]
    assert [kept for _, kept, _ in made["quorum"].shares.values()] == pytest.approx(
        held.tolist(), abs=0.01
    )
    assert "0.005" in made["rnce"].words
    # A proof cannot be broken by a network inside its box.
    assert [kept for _, kept, _ in made["rnce"].shares.values()] == [100, 100]
    assert [certified for certified, *_ in made["apds"].shares.values()] == [
        number(v) for v in tables["certified"].query("method == 'apds'")["certified_share_mean"]
    ]


def test_a_promise_is_held_against_certified_answers_only(tmp_path: Path) -> None:
    """Who may change little gets answers that are not certified; these break, and count apart."""
    results = evaluate(
        applicants(),
        methods=["rnce(radius=0.02)"],
        families=["parameter-perturbation"],
        out=tmp_path / "run",
        target="approved",
        favourable="yes",
        id_column="applicant",
        actions=ACTIONS | {"debts": {"change": "none"}, "income": {"low": 0.0, "high": 3100.0}},
        feasible=True,
        factuals=20,
        base_seeds=[2026],
        jobs=1,
        publish=False,
    )
    answers = results.counterfactuals("data", 2026, "rnce(radius=0.02)")
    certified = answers.diagnostics["certified"].astype(bool)
    inside = results.variants("data", 2026)["level"].astype(float).to_numpy() <= 0.02
    held = results.survived("data", 2026, "rnce(radius=0.02)")[:, inside]
    assert held[certified].all()
    assert not held[answers.base_valid & ~certified].all()
    (entry,) = guarantees(build_tables(results), results.shown, results)
    others = number(100.0 * held[answers.base_valid & ~certified].mean())
    assert entry.shares == {"data": [number(100.0 * certified.mean()), 100.0, others]}


def test_what_is_no_promise_is_not_called_one(
    tables: dict[str, pd.DataFrame], quick_run: Results
) -> None:
    """BetaRCE's bound is of the votes that chose the point; quorum knows the kinds of change."""
    promises = guarantees(tables, quick_run.shown, quick_run)
    words = {each.method: each.words for each in promises}
    assert "votes that chose the point also give its bound" in words["betarce"]
    assert "below their bound is higher than 5 %" in words["betarce"]
    assert "same shares, radii, layers and optimisers" in words["quorum"]
    assert "No published method has that knowledge" in words["quorum"]
    assert "today's model was not fitted" in words["quorum"]


def test_methods_without_promises_hide_the_section(
    results: StoredResults, tables: dict[str, pd.DataFrame]
) -> None:
    plan = Plan.preset("quick", methods=["kdtree"])
    without = {**tables, "certified": tables["certified"].iloc[:0]}
    assert guarantees(without, plan, results) == []
    known = tables["certified"].assign(method="kdtree")
    (other,) = guarantees({**tables, "certified": known}, plan, results)
    assert other.level is None


def test_the_paper_is_beside_a_run_that_can_be_compared(
    tables: dict[str, pd.DataFrame], quick_run: Results
) -> None:
    assert "this run has 2026" in str(published(quick_run.plan, tables, True))
    paper = Plan.preset("paper")
    assert paper.base_seeds == BASE_SEEDS
    assert "once the run is finished" in str(published(paper, tables, False))
    found = published(paper, tables, True)
    assert found is not None
    lines = found[-1]["rows"]
    assert len(lines) > 100
    assert lines[0][:3] == ["full_results", "breast-cancer", "apds"]
    assert "times: the published ones were measured on an Apple M4 Pro" in found[0]["text"]


def test_times_of_stages_are_shown_where_they_were_recorded(
    results: Results, tables: dict[str, pd.DataFrame]
) -> None:
    without = {name: table for name, table in tables.items() if name != "timings"}
    (reason,) = parts(build_payload(results, without), "time", "nothing")
    assert "not recorded" in reason["nothing"]
    rows = [("bank", "bootstrap", 2, 3.5, 0.7), ("base", None, 2, 1.5, 0.3)]
    timings = pd.DataFrame(rows, columns=["stage", "subject", "pieces", "seconds", "share"])
    found = chart(build_payload(results, {**tables, "timings": timings}), "time", 1)
    assert found["rows"][1] == ["base", "", 2, 1.5, 0.3]
    assert found["words"].endswith("The longest part was bank Bootstrap with 4 s.")


def test_the_plan_can_be_run_again(quick_run: Results, payload: dict[str, Any]) -> None:
    run = provenance(quick_run)
    assert parts(payload, "run", "code") == [{"code": run["plan"]}]
    assert Plan.checked(tomllib.loads(run["plan"])) == quick_run.plan
    assert command(quick_run.plan) == "changeproof run --preset quick"
    other = Plan.preset("quick", factuals=3)
    assert command(other) == "changeproof run --plan plan.toml"
    assert Plan.checked(tomllib.loads(plan_toml(other))) == other
    assert all(state == "finished" for *_, state in run["pieces"])
    sources = {name: source for name, _, source in run["sources"]}
    assert "docs/quorum.md" in sources["Quorum"]
    assert "Kostrzewa and Zięba" in sources["Bootstrap"]


def test_what_is_missing_is_said(quick_run: Results, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(quick_run.folder, tmp_path / "run"))
    next((folder / "pieces").rglob("diabetes/2026/survival-kdtree-bootstrap.*")).unlink()
    shutil.rmtree(folder / "tables")
    results = Results(folder)
    payload = build_payload(results, build_tables(results))
    state = payload["state"]
    assert not state["complete"]
    assert state["missing"] == ["diabetes 2026 survival kdtree under bootstrap"]
    assert "19 of 20 combinations" in state["notes"][0]
    kdtree = quick_run.plan.methods.index("kdtree")
    assert answer(payload)["behind"][1][kdtree] == "0 of 1 base models"
    assert build_bulk(results)[1]["people"]["networks"][0]["methods"][kdtree] is None


def test_old_tables_without_pieces_are_still_shown(quick_run: Results, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(quick_run.folder, tmp_path / "run"))
    tables = read_tables(folder)
    shutil.rmtree(folder / "pieces")
    assert read_tables(folder) == {}
    results = Results(folder)
    payload = build_payload(results, tables)
    assert answer(payload)["answers"][0][0]["order"]
    assert any("written when the run was finished" in note for note in payload["state"]["notes"])
    assert [part["people"] for part in build_bulk(results)] == [None, None]


def test_nothing_finished_gives_reasons(quick_run: Results, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(quick_run.folder, tmp_path / "run"))
    for name in ("pieces", "tables"):
        shutil.rmtree(folder / name)
    results = Results(folder)
    payload = build_payload(results, build_tables(results))
    for name in ("families", "changes", "guarantees", "rankings", "time", "published", "person"):
        assert parts(payload, name, "nothing")[0]["nothing"].endswith(".")


def test_what_was_odd_about_the_data_is_on_the_page() -> None:
    frame = loans().assign(branch="north")
    task = own_task(frame, target="approved", favourable="yes", id_column="applicant")
    kept = task_from_bytes(task_to_bytes(task))
    told = told_of_data(kept)
    assert told["favourable"] == "yes"
    assert told["notes"] == list(task.notes)
    assert any("branch" in note for note in told["notes"])
    assert told_of_data(load_task("diabetes"))["notes"] == []


def test_a_page_of_an_audit_leaves_out_what_was_not_run(tmp_path: Path) -> None:
    described = {"target": "approved", "favourable": "yes", "id_column": "applicant"}
    few = {"families": ["bootstrap(replicates=2)"], "factuals": 5, "jobs": 1, "publish": False}
    logistic = "sklearn:LogisticRegression"
    results = evaluate(loans(200), logistic, ["kdtree"], out=tmp_path, **few, **described)
    tables = build_tables(results)
    payload = build_payload(results, tables)
    assert not {"published", "rankings", "life", "letters", "groups"} & set(payload["sections"])
    assert "licence" not in parts(payload, "run", "table")[0]["columns"]
    # How good the model is stands on the page, in the terminal and in JSON.
    accuracy = tables["dataset_summary"]["balanced_accuracy_mean"].item()
    labels = results.task("data").labels_of("test")
    words = (
        f"On the 60 test rows ({labels.sum()} favourable and {(1 - labels).sum()} adverse), "
        f"today's model is right in {100 * accuracy:.1f} % of cases if both kinds count the same "
        "(balanced accuracy; guessing is right in 50 %)."
    )
    assert payload["verdict"]["base"] == words
    assert str(escape(words)) in render(payload, build_bulk(results))
    said = verdict(results, tables).lines
    assert f"Data: 200 rows with 5 features. {words}" in said
