"""Who asked, where it is not who was expected to."""

from __future__ import annotations

from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from changeproof import Results, evaluate, load_task
from changeproof.report.verdict import verdict, who_asked

FEW = {"methods": ["kdtree"], "families": ["bootstrap(replicates=2)"], "jobs": 1}


def test_people_who_need_nothing_are_no_requests() -> None:
    task = load_task("diabetes")
    rows = task.row_ids("test")[:40].tolist()
    results = evaluate("diabetes", LogisticRegression(), rows=rows, **FEW)
    answers = results.counterfactuals("diabetes", 2026, "kdtree")
    asking = int(answers.asking.sum())
    assert 0 < asking < 40
    table = results.table("seed_results").iloc[0]
    assert table["coverage"] == 100.0 * answers.found.sum() / asking
    people = results.table("people_intervals")
    assert set(people["people"]) == {asking}
    note, *_ = verdict(results, results.tables()).after
    assert note == (
        f"{40 - asking} of 40 people are decided in their favour as they are. They need no advice, "
        "and are not counted."
    )


def test_fewer_people_than_wanted_and_a_seed_that_changes_nothing() -> None:
    results = evaluate("breast-cancer", LogisticRegression(), base_seeds=[1, 2], **FEW)
    same, fewer = who_asked(results)
    assert same.startswith("All base models are the same: the seed changes nothing about them.")
    asked = len(results.counterfactuals("breast-cancer", 1, "kdtree"))
    assert fewer == (
        f"Only {asked} people ask, because a model rejects no more of the test rows; the plan "
        "allows up to 250."
    )
    tree = DecisionTreeClassifier(max_features=3)
    differ = evaluate("breast-cancer", tree, base_seeds=[1, 2], factuals=10, **FEW)
    assert list(who_asked(differ)) == []


def test_nothing_is_said_where_all_is_as_expected(quick_run: Results) -> None:
    assert not any("base models" in note for note in who_asked(quick_run))
