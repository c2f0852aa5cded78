"""Runs over time and with sequences: what is recorded, what is averaged, and the tables."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from changeproof import InputError, Plan, Results, build_tables, evaluate, load_task, measure, run
from changeproof.evaluation.life import Lives, life_of
from changeproof.runs.manifest import read_record
from changeproof.runs.resolve import resolve
from changeproof.tables.registry import read_tables, write_tables
from lasting import CHAIN, LATER, MEANING, SINGLE, applications, lasting


@pytest.fixture(scope="module")
def over_time(tmp_path_factory: pytest.TempPathFactory) -> Results:
    results = lasting(tmp_path_factory.mktemp("lasting") / "run", publish=False, limit=True)
    write_tables(results)
    return results


def test_a_directory_read_back_is_the_same_run(over_time: Results, tmp_path: Path) -> None:
    again = Results(over_time.folder)
    assert again.plan.over_time
    (name,) = over_time.tasks
    mine, kept = over_time.task(name), again.task(name)
    assert mine.fingerprint == kept.fingerprint == read_record(over_time.folder).tasks[name]
    np.testing.assert_array_equal(mine.split.update, kept.split.update)
    marks = [[piece.fingerprint for piece in each.manifest.pieces] for each in (over_time, again)]
    assert marks[0] == marks[1]
    assert again.inventory.complete
    times = mine.times
    assert times is not None
    assert times.iloc[mine.split.train].max() < times.iloc[mine.split.update].min()
    # The directory goes on with the same; the same rows not over time are other data.
    copy = Path(shutil.copytree(over_time.folder, tmp_path / "copy"))
    assert lasting(copy, limit=True, publish=False, same_plan=True).plan == again.plan
    with pytest.raises(InputError, match="holds a run on other data"):
        lasting(copy, SINGLE, over_time=False, publish=False)


def test_curves_are_those_of_valid_advice(over_time: Results) -> None:
    table = read_tables(over_time.folder)["life"]
    assert table.groupby(["method", "family"]).size().tolist() == [3, 4] * 2
    seed = over_time.plan.base_seeds[0]
    for (method, family), rows in table.groupby(["method", "family"]):
        answers = over_time.counterfactuals("data", seed, str(method))
        variants = over_time.variants("data", seed)
        mine = (variants["family"] == family).to_numpy()
        survived = over_time.survived("data", seed, str(method))[answers.base_valid][:, mine]
        futures = variants.loc[mine, "replicate"].nunique()
        cube = survived.reshape(len(survived), futures, -1)
        so_far = np.logical_and.accumulate(cube, axis=2).mean(axis=(0, 1))
        assert rows["held_so_far_mean"].to_numpy() == pytest.approx(100 * so_far, rel=1e-4)
        assert rows["holds_mean"].to_numpy() == pytest.approx(
            100 * cube.mean(axis=(0, 1)), rel=1e-4
        )
        assert (rows["people"] == answers.base_valid.sum()).all()
        assert (rows["futures"] == futures).all()
        assert rows["update"].tolist() == list(range(1, cube.shape[2] + 1))


def test_the_summary_is_that_of_the_curves(over_time: Results) -> None:
    tables = read_tables(over_time.folder)
    last = tables["life"].groupby(["method", "family"]).last()
    sums = tables["life_summary"].set_index(["method", "family"])
    assert sums["updates"].to_dict() == last["update"].to_dict()
    for end, part in (("", "mean"), ("_low", "low"), ("_high", "high")):
        expected = last[f"held_so_far_{part}"].loc[sums.index]
        assert sums[f"held_to_the_end{end}"].to_numpy() == pytest.approx(expected)
    for key, rows in tables["life"].groupby(["method", "family"]):
        broken = rows.loc[rows["held_so_far_mean"] <= 95, "update"]
        assert sums.loc[key, "five_percent_broken_by"] == (broken.min() if len(broken) else np.inf)
        half = rows.loc[rows["held_so_far_mean"] <= 50, "update"]
        assert sums.loc[key, "median_life"] == (half.min() - 1 if len(half) else np.inf)


def test_what_is_not_deployed_breaks_nothing(tmp_path: Path) -> None:
    """Of this base network, the last update of the last future rejects everybody."""
    chain, dataset, seed = "updates(length=8, replicates=22)", "breast-cancer", 3026
    plan = Plan(
        datasets=(dataset,), methods=("kdtree",), families=(chain,), base_seeds=(seed,), factuals=20
    )
    results = run(plan, tmp_path, jobs=1, publish=False)
    (row,) = build_tables(results)["life_summary"].to_dict("records")
    base = results.balanced_accuracy(dataset, seed)
    lost = base - results.variants(dataset, seed)["balanced_accuracy"].to_numpy()
    assert np.flatnonzero(lost > 0.05).tolist() == [21 * 8 + 6, 21 * 8 + 7]
    held = results.survived(dataset, seed, "kdtree").reshape(-1, 22, 8)
    assert row["held_to_the_end"] == pytest.approx(100 * held.all(axis=2).mean())
    assert not held[:, -1, -1].any()
    held[:, -1, -2:] = True
    assert row["held_if_deployed"] == pytest.approx(100 * held.all(axis=2).mean())
    assert row["held_if_deployed"] > row["held_to_the_end"] + 1
    assert row["held_if_deployed_low"] <= row["held_if_deployed"] <= row["held_if_deployed_high"]
    assert row["updates_not_deployed"] == 2


def test_the_limit_of_a_sequence_is_about_futures(over_time: Results) -> None:
    tables, seed = read_tables(over_time.folder), over_time.plan.base_seeds[0]
    limit, base = over_time.limit("data", seed), over_time.base_network("data", seed)
    assert set(limit.futures) == {LATER, CHAIN}
    bank, people = over_time.bank("data", seed), over_time.counterfactuals("data", seed, "kdtree")
    np.testing.assert_array_equal(limit.row_ids, people.row_ids)
    table = tables["life_limit"].set_index(["family", "may_break"])
    for family, futures, updates in ((LATER, 2, 3), (CHAIN, 3, 4)):
        assert limit.futures[family].shape[:2] == (2, len(people))
        mine = (bank.table["family"] == family).to_numpy()
        for failures, rows in enumerate(limit.futures[family]):
            there = np.isfinite(rows).all(axis=1)
            assert base.favourable(rows[there]).all()
            held = bank.stack.favourable(rows[there])[mine].reshape(futures, updates, -1)
            assert ((~held.all(axis=1)).sum(axis=0) <= failures).all()
            row = table.loc[(family, failures)]
            assert (row["futures"], row["found"]) == (futures, there.sum())
            assert row["people"] == len(people) >= 10
            far = over_time.task("data").distances(people.factuals, rows)[there].mean()
            assert row["distance_mean"] == pytest.approx(far, rel=1e-5)
    seeds = tables["life_limit_seeds"]
    assert seeds["distance"].tolist() == table["distance_mean"].tolist()


def test_models_that_are_not_kept_have_such_a_limit_too() -> None:
    results = lasting(
        None, CHAIN, methods=["kdtree"], limit=True, model="sklearn:LogisticRegression"
    )
    table = results.table("life_limit")
    assert table["may_break"].tolist() == [0, 1] and (table["found"] > 0).all()
    assert table["distance_mean"].is_monotonic_decreasing
    assert results.table("life_price")["people"].tolist() == [table["found"][0]]
    # As there is nothing else, there is the limit of models, too.
    assert set(results.table("limit")["family"]) == {"all", CHAIN}


def test_methods_are_compared_with_the_limit_of_as_many_futures(over_time: Results) -> None:
    tables, seed = read_tables(over_time.folder), over_time.plan.base_seeds[0]
    limit, task = over_time.limit("data", seed), over_time.task("data")
    prices = tables["life_price"]
    assert len(prices) == 4 and (prices["may_break"] == 0).all()
    for row in prices.to_dict("records"):
        answers = over_time.counterfactuals("data", seed, row["method"])
        rows = limit.futures[row["family"]][0]
        both = answers.base_valid & np.isfinite(rows).all(axis=1)
        assert row["people"] == both.sum() > 0
        mine = (over_time.variants("data", seed)["family"] == row["family"]).to_numpy()
        survived = over_time.survived("data", seed, row["method"])[both][:, mine]
        held = survived.reshape(both.sum(), row["futures"], -1).all(axis=2).mean()
        assert row["held_to_the_end_mean"] == pytest.approx(100 * held, rel=1e-4)
        far, least = (
            task.distances(answers.factuals[both], each[both]).mean()
            for each in (answers.rows, rows)
        )
        assert row["price_mean"] == pytest.approx(far / least, rel=1e-4)


def test_sequences_are_not_part_of_averages(over_time: Results) -> None:
    assert over_time.limit_families == (SINGLE,)
    tables = read_tables(over_time.folder)
    single = tables["family_results"].query("family == @SINGLE")
    assert over_time.plan.families == (SINGLE, LATER, CHAIN)
    for metric in ("empirical_robustness_mean", "end_to_end_robustness_mean"):
        assert tables["full_results"][metric].tolist() == single[metric].tolist()
    assert set(tables["limit"]["family"]) == {"all", SINGLE}
    seed = over_time.plan.base_seeds[0]
    judged = over_time.variants("data", seed)["family"].to_numpy() == SINGLE
    robustness = tables["price"].set_index("method")["empirical_robustness_mean"]
    answers = over_time.counterfactuals("data", seed, "kdtree")
    survived = over_time.survived("data", seed, "kdtree")[:, judged]
    expected = measure(over_time.task("data"), answers, survived).empirical_robustness
    assert robustness["kdtree"] == pytest.approx(expected)


def test_averages_are_over_sequences_where_there_is_nothing_else(tmp_path: Path) -> None:
    results = lasting(None, LATER, CHAIN, methods=["kdtree"])
    assert results.limit_families == (LATER, CHAIN)
    by_family = results.table("family_results")["empirical_robustness_mean"]
    overall = results.table()["empirical_robustness_mean"]
    assert overall[0] == pytest.approx(by_family.mean()), "each counts the same"


def test_other_plans_have_no_such_tables(quick_run: Results) -> None:
    assert quick_run.plan.limit
    assert not any(name.startswith("life") for name in read_tables(quick_run.folder))
    assert quick_run.limit_families == quick_run.plan.families


def test_nothing_finished_leaves_empty_tables_with_their_columns(
    over_time: Results, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(over_time.folder, tmp_path / "copy"))
    whole = read_tables(folder)
    shutil.rmtree(folder / "pieces")
    tables = build_tables(Results(folder))
    for name in ("life", "life_summary", "life_limit", "life_limit_seeds", "life_price"):
        assert tables[name].empty
        assert tables[name].columns.tolist() == whole[name].columns.tolist()


def test_results_do_not_depend_on_workers(
    over_time: Results, tmp_path: Path, always_workers: None
) -> None:
    other = lasting(tmp_path / "run", jobs=2, publish=False)
    write_tables(other)
    for name in ("life", "life_summary"):
        pd.testing.assert_frame_equal(
            read_tables(other.folder)[name], read_tables(over_time.folder)[name]
        )


def test_several_base_models_are_counted_together() -> None:
    results = lasting(None, CHAIN, methods=["kdtree"], base_seeds=[2026, 2027])
    table, sums = results.table("life"), results.table("life_summary")
    groups = []
    for seed in (2026, 2027):
        valid = results.counterfactuals("data", seed, "kdtree").base_valid
        replicates = results.variants("data", seed)["replicate"].tolist()
        groups.append(Lives.of(results.survived("data", seed, "kdtree")[valid], replicates))
    life = life_of(groups)
    assert table["held_so_far_mean"].to_numpy() == pytest.approx(100 * life.held_so_far.mean)
    assert table["held_so_far_low"].to_numpy() == pytest.approx(100 * life.held_so_far.low)
    assert sums["base_models"].tolist() == [2]
    assert sums["futures"].tolist() == [6]


def test_plans_say_whether_they_are_over_time(tmp_path: Path) -> None:
    assert not Plan().over_time
    (tmp_path / "plan.toml").write_text('datasets = ["car-loans"]\nover_time = true\n')
    plan = Plan.from_toml(tmp_path / "plan.toml")
    assert plan.over_time
    assert resolve(plan).tasks["car-loans"].fingerprint == (
        load_task("car-loans").over_time().fingerprint
    )
    time = Plan.preset("time")
    assert time.over_time and time.feasible and time.datasets == ("car-loans", "employment")
    run = resolve(time)
    assert len(run.families) == 3 and all(family.sequence for family in run.families.values())


def test_data_without_times_are_refused_in_one_line(tmp_path: Path) -> None:
    plan = Plan.preset("quick", over_time=True)
    with pytest.raises(InputError, match=r"task 'breast-cancer' has no times; name a column"):
        run(plan, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    with pytest.raises(InputError, match="split by a column or over time, not both"):
        evaluate(applications(), split="part", over_time=True, **MEANING)
    left = resolve(Plan(datasets=("car-loans",), families=("bootstrap", "later-data")))
    assert left.plan.families == ("bootstrap",)
    assert "car-loans is not split over time" in left.plan.left_out["later-data"]
