"""Advice that is followed imprecisely."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import changeproof as cp
from changeproof.evaluation.imprecise import DRAWS, NOISE, SHORT, WAYS, missed
from changeproof.randomness import stream


def loans(n: int = 300) -> pd.DataFrame:
    draw = np.random.default_rng(7)
    frame = pd.DataFrame(
        {
            "income": draw.normal(3000, 700, n).round(1),
            "debts": draw.integers(0, 9, n),
            "home": draw.choice(["rent", "own", "family"], n),
        }
    )
    score = frame["income"] - 250 * frame["debts"] + 300 * (frame["home"] == "own")
    return frame.assign(paid=np.where(score > 2200, "yes", "no"))


def points(people: pd.DataFrame) -> pd.Series:
    return people["income"] - 250 * people["debts"] + 300 * (people["home"] == "own")


@pytest.fixture(scope="module")
def results() -> cp.Results:
    return cp.evaluate(
        loans(),
        points,
        ["kdtree", "robx-balanced"],
        ["bootstrap(replicates=2)"],
        target="paid",
        favourable="yes",
        threshold=2200.5,
        refit="sklearn:LogisticRegression",
        factuals=25,
    )


def test_every_try_is_what_the_model_itself_says_of_it(results: cp.Results) -> None:
    """The obvious way: one person, one try and one number at a time, in the user's own units."""
    everybody = results.table("imprecise_people").set_index(["method", "id"])
    task = results.task("data")
    for method in ("kdtree", "robx-balanced"):
        answers = results.counterfactuals("data", 2026, method)
        own, told = task.table_rows(answers.factuals), task.table_rows(answers.rows)
        for k, row_id in enumerate(answers.row_ids.tolist()):
            row = everybody.loc[(method, row_id)]
            if not answers.base_valid[k]:
                assert row[list(WAYS)].isna().all()
                continue
            draw = stream("imprecise", task.name, 2026, row_id)
            noise = draw.standard_normal((DRAWS, task.n_features))
            columns = {f.name: f.columns[0] for f in task.features}
            tries = {f"{p} % short": [dict.fromkeys(columns, 1 - p / 100)] for p in SHORT}
            tries[f"{NOISE} % noise"] = [
                {name: 1 + NOISE / 100 * each[column] for name, column in columns.items()}
                for each in noise
            ]
            for way, several in tries.items():
                accepted = []
                for shares in several:
                    reached = told.iloc[[k]].copy()
                    for name in ("income", "debts"):
                        before, after = float(own[name].iloc[k]), float(told[name].iloc[k])
                        value = before + shares[name] * (after - before)
                        reached[name] = round(value) if name == "debts" else value
                    accepted.append(float(points(reached).iloc[0]) >= 2200.5)
                assert row[way] == pytest.approx(np.mean(accepted))


def test_whoever_goes_the_whole_way_arrives(results: cp.Results) -> None:
    task, answers = results.task("data"), results.counterfactuals("data", 2026, "kdtree")
    own, told = answers.factuals[answers.found], answers.rows[answers.found]
    np.testing.assert_allclose(missed(task, own, told, np.ones(own.shape)), told, atol=1e-12)
    nothing = missed(task, own, told, np.zeros(own.shape))
    numbers = [f.columns[0] for f in task.features if not f.categories]
    np.testing.assert_allclose(nothing[:, numbers], own[:, numbers], atol=1e-12)


def test_the_summary_is_the_mean_of_people_and_counts_in_nothing_else(results: cp.Results) -> None:
    summary = results.table("imprecise").set_index("method")
    everybody = results.table("imprecise_people")
    for method, mine in everybody.groupby("method"):
        for way in WAYS:
            assert summary.loc[method, f"{way}_mean"] == pytest.approx(100 * mine[way].mean())
        assert summary.loc[method, "people"] == mine[WAYS[0]].notna().sum()
    assert "imprecise" not in set(results.table("family_results")["family"])


def test_it_is_not_done_unless_asked_on_embedded_data() -> None:
    more = {"methods": ["kdtree"], "families": ["bootstrap(replicates=2)"], "factuals": 5}
    assert "imprecise" not in cp.evaluate("diabetes", **more).tables()
    assert "imprecise" in cp.evaluate("diabetes", imprecise=True, **more).tables()
