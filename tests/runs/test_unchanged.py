"""Families that change nothing about a model: shown, marked, and in no average."""

from __future__ import annotations

from pathlib import Path

import pytest
from sklearn.linear_model import LogisticRegression

from changeproof import Results, evaluate
from changeproof.report.page.payload import build_payload
from changeproof.report.verdict import verdict

FAMILIES = ["new-initialization", "bootstrap(replicates=4)"]


class TheSame(LogisticRegression):  # type: ignore[misc]
    """A model that has a seed, which nobody knows it does not use."""


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Results:
    out: Path = tmp_path_factory.mktemp("unchanged") / "run"
    return evaluate(
        "diabetes",
        TheSame(),
        ["kdtree", "rbr"],
        FAMILIES,
        factuals=20,
        out=out,
        jobs=1,
        publish=False,
    )


def test_what_changes_nothing_is_in_no_average(audited: Results) -> None:
    assert audited.unchanged == ("new-initialization",)
    assert audited.averaged == ("bootstrap(replicates=4)",)
    table = audited.table("seed_results").set_index(["method", "family"])["empirical_robustness"]
    for method in ("kdtree", "rbr"):
        assert table[method, "new-initialization"] == 100.0
        assert table[method, "all"] == table[method, "bootstrap(replicates=4)"]
    assert table["rbr", "all"] < 100.0


def test_people_are_told(audited: Results) -> None:
    tables = audited.tables()
    said = verdict(audited, tables).simulated
    assert "new initialization changed nothing about any answer of the model." in said
    assert "The average leaves out new initialization." in said
    payload = build_payload(audited, tables)
    assert list(payload["shown"]["families"].values()) == [
        "New initialization (no change)",
        "Bootstrap (replicates=4)",
    ]
    assert payload["averaged"] == [1]
    (view,) = payload["rankings"]["views"]
    assert [row[0] for row in view["ranks"]] == [None, None]
    assert "moves the" in view["rank_words"] or "keeps its rank" in view["rank_words"]


def test_networks_change_with_their_seed(quick_run: Results) -> None:
    assert quick_run.unchanged == ()
    assert quick_run.averaged == quick_run.run.averaged


def test_if_nothing_changes_anything_all_is_averaged() -> None:
    results = evaluate("diabetes", TheSame(), ["kdtree"], FAMILIES[:1], factuals=5, jobs=1)
    assert results.unchanged == results.averaged == ("new-initialization",)
