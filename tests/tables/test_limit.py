"""The limit in plans, runs and tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from changeproof import PieceFailedError, Plan, Results, run
from changeproof.evaluation.limit import PERCENTS, may_fail
from changeproof.runs.execute import Observer
from changeproof.runs.pieces import Kind
from changeproof.runs.resolve import resolve
from changeproof.runs.work import pieces_of
from changeproof.tables.registry import read_tables
from tabled import tabled

SMALL = {"datasets": ["diabetes"], "methods": ["kdtree"], "factuals": 6}
FEW = {**SMALL, "families": ["bootstrap", "parameter-perturbation"]}


def test_presets_ask_for_it_and_other_plans_do_not(tmp_path: Path) -> None:
    assert all(Plan.preset(name).limit for name in ("quick", "paper", "recourse"))
    assert not Plan().limit
    (tmp_path / "plan.toml").write_text('datasets = ["diabetes"]\nlimit = true\n')
    assert Plan.from_toml(tmp_path / "plan.toml").limit


def test_other_pieces_do_not_know_of_it() -> None:
    with_it, without = (
        pieces_of(resolve(Plan.preset("quick", limit=each))) for each in (True, False)
    )
    more = [piece for piece in with_it if piece not in without]
    assert [piece.label for piece in more] == ["breast-cancer 2026 limit", "diabetes 2026 limit"]
    assert [piece for piece in with_it if piece not in more] == list(without)


def test_what_is_kept_survives_the_share_that_it_is_for(quick_run: Results) -> None:
    for dataset in ("breast-cancer", "diabetes"):
        limit = quick_run.limit(dataset, 2026)
        bank, base = quick_run.bank(dataset, 2026), quick_run.base_network(dataset, 2026)
        answers = quick_run.counterfactuals(dataset, 2026, "kdtree")
        np.testing.assert_array_equal(limit.row_ids, answers.row_ids)
        family_of = bank.table["family"].to_numpy()
        for place, family in enumerate(["all", *quick_run.plan.families]):
            asked = (family_of == family) | (family == "all")
            for percent, rows in zip(PERCENTS, limit.rows[place], strict=True):
                accepted = bank.stack.favourable(rows)[asked]
                assert ((~accepted).sum(axis=0) <= may_fail(percent, asked.sum())).all()
                assert base.favourable(rows).all()


def test_tables_say_what_was_found(quick_run: Results) -> None:
    tables = read_tables(quick_run.folder)
    limit, seeds = tables["limit"], tables["limit_seeds"]
    assert len(limit) == len(seeds) == 2 * 9 * 3
    assert (limit["people"] == 25).all() and (limit["found"] == 25).all()
    assert limit["distance_std"].isna().all()
    distances = quick_run.limit("diabetes", 2026).distances(quick_run.task("diabetes"))
    kept = limit[limit["dataset"] == "diabetes"].pivot_table(
        index="family", columns="share", values="distance_mean"
    )
    assert kept.loc["all", 99] == pytest.approx(distances[0, 1].mean(), rel=1e-5)
    assert kept.loc["bootstrap", 95] == pytest.approx(distances[2, 2].mean(), rel=1e-5)
    assert (kept[95] <= kept[99]).all() and (kept[99] <= kept[100]).all()
    assert (kept[100] <= kept.loc["all", 100] + 1e-6).all()


def test_methods_pay_more_than_the_limit_at_their_robustness(quick_run: Results) -> None:
    tables = read_tables(quick_run.folder)
    full = tables["full_results"].set_index(["dataset", "method"])
    for row in tables["price"].to_dict("records"):
        ours = full.loc[(row["dataset"], row["method"])]
        for metric in ("empirical_robustness_mean", "distance_mean"):
            assert row[metric] == pytest.approx(ours[metric], rel=1e-5)
        limit = tables["limit"].query(f"dataset == '{row['dataset']}' and family == 'all'")
        shares, far = limit["share"][::-1], limit["distance_mean"][::-1]
        expected = np.interp(row["empirical_robustness_mean"], shares, far)
        assert row["limit_mean"] == pytest.approx(expected, rel=1e-5)
        assert row["price_mean"] == pytest.approx(row["distance_mean"] / expected, rel=1e-4)
        if row["empirical_robustness_mean"] >= 95:
            assert row["price_mean"] > 1


def test_a_run_can_be_asked_for_it_later(tmp_path: Path) -> None:
    computed = []

    class Recorder(Observer):
        def finished(self, item: object) -> None:
            computed.append(item.piece.kind)  # type: ignore[attr-defined]

    tabled(Plan.preset("quick", **FEW, limit=False), tmp_path, jobs=1)
    before = {path.name: path.read_bytes() for path in (tmp_path / "tables").glob("*.csv")}
    assert not {"limit.csv", "limit_seeds.csv", "price.csv"} & before.keys()
    results = tabled(Plan.preset("quick", **FEW), tmp_path, jobs=1, observer=Recorder())
    assert computed == [Kind.LIMIT]
    after = {path.name: path.read_bytes() for path in (tmp_path / "tables").glob("*.csv")}
    assert after.keys() - before.keys() == {"limit.csv", "limit_seeds.csv", "price.csv"}
    unchanged = before.keys() - {"timings.csv"}
    assert {name: after[name] for name in unchanged} == {name: before[name] for name in unchanged}
    assert set(results.table("limit")["family"]) == {"all", *FEW["families"]}
    assert results.table("price")["people"].tolist() == [6]


def test_without_it_all_else_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("no limit today")

    monkeypatch.setattr("changeproof.runs.work.find_limit", fail)
    with pytest.raises(PieceFailedError, match="no limit today") as caught:
        run(Plan.preset("quick", **FEW), tmp_path, jobs=1)
    assert caught.value.summary[0].startswith("search for the limit failed: ")
    assert "limit" not in read_tables(tmp_path)
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert "Left out: the limit (failed in this run)." in page


def test_people_for_whom_nothing_is_found_are_counted(
    quick_run: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    from changeproof.tables.limit import limit_tables

    limit = quick_run.limit("diabetes", 2026)
    rows = limit.rows.copy()
    rows[:, 0, :5] = np.nan
    monkeypatch.setattr(quick_run, "limit", lambda *_: limit._replace(rows=rows))
    monkeypatch.setattr(quick_run, "limits", [("diabetes", 2026)], raising=False)
    tables = limit_tables(quick_run)
    overall: pd.DataFrame = tables["limit"].query("family == 'all'").set_index("share")
    assert overall["found"].to_dict() == {100: 20, 99: 25, 95: 25}
    distances = limit.distances(quick_run.task("diabetes"))
    assert overall.loc[95, "distance_mean"] == pytest.approx(distances[0, 2, 5:].mean())
    assert (tables["price"]["people"] == 20).all()
