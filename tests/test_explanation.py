from __future__ import annotations

import json
from dataclasses import replace

import pandas as pd
import pytest

import changeproof as cp
from advised import ACTIONS, LOGISTIC, advised
from changeproof import InputError, Results
from changeproof.datasets.recourse import Wording
from changeproof.explanation import recommendation

METHODS = ["kdtree", "rbr", "robx-robust", "younger", "more", "unkind-tool"]


@pytest.fixture(scope="module")
def results(advised_run: Results) -> Results:
    return advised_run


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The same, tested as the methods said it."""
    return advised(tmp_path_factory.mktemp("published") / "run", feasible=False, publish=False)


def people(results: Results) -> list[str]:
    return [str(person) for person in results.survival()["id"].unique()]


def test_told_tested_and_stored_rows_are_the_same_to_the_byte(results: Results) -> None:
    task, seen = results.task("data"), 0
    for method in METHODS:
        answers = results.counterfactuals("data", 2026, method)
        for i, row_id in enumerate(answers.row_ids.tolist()):
            said = cp.explain(results, task.ids.loc[row_id], method).as_dict()
            answer = json.loads(json.dumps(said))
            factual = task.encoded(pd.DataFrame([answer["factual"]]))[0]
            assert factual.tobytes() == answers.factuals[i].tobytes()
            assert type(answer["factual"]["age"]) is int
            if not answers.found[i]:
                assert answer["counterfactual"] is None
                continue
            seen += 1
            told = task.encoded(pd.DataFrame([answer["counterfactual"]]))[0]
            assert told.tobytes() == answers.rows[i].tobytes()
            assert type(answer["counterfactual"]["debts"]) is int
            assert answer["feasible"]
            assert answer["respected"]
            # What changes in the sentences is what differs in the row, and nothing else.
            changed = {c["feature"]: c for c in answer["changes"]}
            for name, value in answer["counterfactual"].items():
                assert (name in changed) == (value != answer["factual"][name])
                if name in changed and not isinstance(value, str | bool):
                    assert float(changed[name]["after"]) == value
            sizes = [c["size"] for c in answer["changes"]]
            assert sizes == sorted(sizes, reverse=True)
            assert list(answer["advice"]) == [str(c) for c in Wording(task, True).changes(
                answers.factuals[i], answers.rows[i])]  # fmt: skip
    assert seen > 40


def test_constraints_are_listed_and_respected(results: Results) -> None:
    answer = cp.explain(results, people(results)[0], "kdtree")
    assert [each.feature for each in answer.constraints] == ["age", "savings", "income", "purpose"]
    assert answer.constraints[0].reason == ACTIONS["age"]["reason"]
    for person in people(results):
        for each in cp.explain_all(results, person):
            assert each.respected
            assert each.breach == ""
            if each.counterfactual is not None:
                assert each.counterfactual["purpose"] == each.factual["purpose"]
                assert each.counterfactual["age"] >= each.factual["age"]


def test_broken_rules_of_another_tool_are_said_in_plain_words(results: Results) -> None:
    said = {cp.explain(results, p, "unkind-tool").why_not for p in people(results)}
    assert "" in said
    assert any(words.startswith("the answer breaks a rule: ") for words in said)


def test_as_published_says_what_cannot_be_told(published: Results) -> None:
    answers = [cp.explain(published, p, "younger") for p in people(published)]
    assert not any(answer.feasible for answer in answers)
    assert sum("purpose" in answer.partly for answer in answers) > 4
    unkind = [cp.explain(published, p, "unkind-tool") for p in people(published)]
    assert {answer.respected for answer in unkind} == {True, False}
    for answer in unkind:
        assert answer.respected == (answer.breach == "")
    assert any(answer.breach == "purpose may not change" for answer in unkind)
    for person in people(published):
        assert cp.recommend(published, person).method != "younger"


def test_the_recommendation_follows_the_rule(results: Results) -> None:
    for person in people(results):
        answers = cp.explain_all(results, person)
        assert [answer.method for answer in answers] == METHODS
        firm = [
            (answer.distance, answer.method)
            for answer in answers
            if answer.counterfactual and answer.base_valid and answer.overall.low >= 0.95
        ]
        chosen = cp.recommend(results, person)
        assert chosen == recommendation(answers)
        assert chosen.method == (min(firm)[1] if firm else None)
        assert chosen.holding == len(firm)
        # All 50 changed models together cannot show that advice holds in 95 % of such models.
        assert firm == []
        best = max(answer.overall.held for answer in answers if answer.base_valid)
        assert (chosen.kind == "undecided") == (best >= 45)


def test_who_did_not_ask_is_unknown(results: Results) -> None:
    with pytest.raises(InputError, match="no row has the id 'nobody'"):
        cp.explain_all(results, "nobody")
    with pytest.raises(InputError, match="did not ask about person"):
        cp.explain(results, results.task("data").ids.iloc[-1], "kdtree")


def test_a_difference_in_parts_of_categories_only_is_not_called_advice(
    published: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = published.task("data")
    answers = published.counterfactuals("data", 2026, "younger")
    other = task.encoded(task.decoded(answers.factuals).assign(savings="much"))
    rows = 0.7 * answers.factuals + 0.3 * other
    changed = replace(answers, rows=rows)
    monkeypatch.setattr(published, "counterfactuals", lambda *key: changed)
    found = [cp.explain(published, p, "younger") for p in people(published)]
    assert {answer.changes for answer in found} == {()}
    assert any(answer.partly == ("savings",) for answer in found)


def test_numbers_stay_what_they_are(results: Results) -> None:
    """Whole numbers beside decimals are not turned into decimals."""
    known = results.task("data")
    task = cp.Task("numbers", known.frame[["income", "debts", "age"]], known.labels)
    run = cp.evaluate(task, LOGISTIC, ["kdtree"], ["bootstrap"], factuals=2, feasible=True, jobs=1)
    person = run.survival()["id"][0]
    answer = cp.explain(run, person, "kdtree")
    assert type(answer.factual["age"]) is int
    assert type(answer.factual["income"]) is float
