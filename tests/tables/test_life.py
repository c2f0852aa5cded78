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
    assert not {"life", "life_summary"} & set(read_tables(quick_run.folder))
    assert quick_run.limit_families == quick_run.plan.families


def test_nothing_finished_leaves_empty_tables_with_their_columns(
    over_time: Results, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(over_time.folder, tmp_path / "copy"))
    whole = read_tables(folder)
    shutil.rmtree(folder / "pieces")
    tables = build_tables(Results(folder))
    for name in ("life", "life_summary"):
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
