"""Groups in plans, runs and tables; and that they change no answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from changeproof import InputError, Plan, Results, evaluate
from changeproof.evaluation.metrics import METRICS
from changeproof.report.page.write import build_payload
from changeproof.tables.people import DIFFERENCES, GROUPS, LEFT_OUT, group_tables
from changeproof.tables.registry import read_tables, write_tables
from changeproof.tables.spreadsheets import read_table
from changeproof.workflow import run
from loans import loans
from paged import parts

FEW: dict[str, Any] = {
    "model": "sklearn:LogisticRegression",
    "methods": ["kdtree", "rbr"],
    "families": ["bootstrap(replicates=4)"],
    "jobs": 1,
    "target": "approved",
    "favourable": "yes",
    "id_column": "applicant",
}
BY = ["sex", "age:20", "purpose", "owner"]


def people() -> pd.DataFrame:
    """Return people of whom the model need not know sex and age."""
    table = loans(300)
    generator = np.random.default_rng(5)
    rare = generator.choice(["f", "m", "d", None], len(table), p=[0.45, 0.4, 0.05, 0.1])
    return table.assign(sex=rare, age=generator.integers(18, 70, len(table)))


@pytest.fixture(scope="module")
def grouped(tmp_path_factory: pytest.TempPathFactory) -> Results:
    out = tmp_path_factory.mktemp("groups") / "with"
    results = evaluate(people(), out=out, drop=["sex", "age"], by=BY, publish=False, **FEW)
    write_tables(results)
    return results


def test_tables_say_what_became_of_each_group(grouped: Results) -> None:
    tables = read_tables(grouped.folder)
    groups, differences = tables["groups"], tables["group_differences"]
    assert list(groups.columns) == GROUPS and list(differences.columns) == DIFFERENCES
    assert list(groups["by"].unique()) == BY
    answers = grouped.counterfactuals("data", 2026, "kdtree")
    survived = grouped.survival("data", 2026, "kdtree")
    task = grouped.task("data")
    assert not {"sex", "age"} & {feature.name for feature in task.features}
    men = (task.beside["sex"].loc[answers.row_ids.tolist()] == "m").to_numpy()
    kept = groups.query("method == 'kdtree' and by == 'sex' and group == 'm'").set_index("metric")
    assert list(kept.index) == list(METRICS)
    held = 100 * (survived[men].mean(axis=1) * answers.base_valid[men]).mean()
    assert kept.loc["end_to_end_robustness", "value"] == pytest.approx(held, rel=1e-4)
    assert (kept["people"] == men.sum()).all()
    assert (kept["low"] <= kept["value"]).all() and (kept["value"] <= kept["high"]).all()
    apart = differences.query("by == 'purpose' and metric == 'distance'").set_index("method")
    means = groups.query("by == 'purpose' and metric == 'distance' and method == 'rbr'")
    span = means["value"].max() - means["value"].min()
    assert apart.loc["rbr", "difference"] == pytest.approx(span, rel=1e-3)
    assert apart.loc["rbr", "highest"] == means.loc[means["value"].idxmax(), "group"]
    assert apart.loc["rbr", "lowest"] == means.loc[means["value"].idxmin(), "group"]


def test_small_groups_are_nowhere(grouped: Results) -> None:
    tables = read_tables(grouped.folder)
    answers = grouped.counterfactuals("data", 2026, "kdtree")
    sexes = grouped.task("data").beside["sex"].loc[answers.row_ids.tolist()].fillna("missing")
    counts = sexes.value_counts()
    small = counts[counts < 10]
    assert "d" in small.index and small["d"] > 0
    shown = tables["groups"].query("by == 'sex'")["group"]
    assert set(shown) == set(counts[counts >= 10].index)
    left_out = tables["groups_left_out"]
    assert list(left_out.columns) == LEFT_OUT
    row = left_out.query("by == 'sex'").iloc[0]
    assert (row["groups"], row["people"]) == (len(small), small.sum())
    payload = build_payload(grouped, tables)
    rows = [row for part in parts(payload, "groups", "chart") for row in part["chart"]["rows"]]
    assert {row[3] for row in rows if row[2] == "sex"} == set(shown)
    texts = [part["text"] for part in parts(payload, "groups", "text")]
    assert texts[1].endswith("a group needs 10.")


def test_groups_that_the_model_does_not_see_change_no_answer(
    grouped: Results, tmp_path: Path
) -> None:
    without = evaluate(people(), out=tmp_path, drop=["sex", "age"], publish=False, **FEW)

    def contents(results: Results) -> dict[str, bytes]:
        folder = results.folder / "pieces"
        # A file's name is what it holds, the fingerprint of what it is made from, and a checksum.
        return {
            str(path.relative_to(folder)).split(".")[0]: path.read_bytes()
            for path in folder.rglob("*.*")
        }

    assert len(contents(without)) == 9
    assert contents(without) == contents(grouped)
    assert without.task("data").fingerprint != grouped.task("data").fingerprint
    assert "groups" not in without.tables()


def test_a_column_that_is_a_feature_stays_one(grouped: Results) -> None:
    names = [feature.name for feature in grouped.task("data").features]
    assert {"purpose", "owner"} <= set(names)


def test_embedded_data_can_be_asked_later(tmp_path: Path) -> None:
    plan = Plan(
        datasets=("employment",),
        methods=("kdtree",),
        model="sklearn:LogisticRegression",
        families=("bootstrap(replicates=2)",),
        base_seeds=(2026,),
        factuals=40,
    )
    run(plan, tmp_path, jobs=1, publish=False)
    before = sorted(path.name for path in (tmp_path / "pieces").rglob("*.*"))
    asked = plan.model_copy(update={"by": ("year", "sex"), "smallest_group": 5})
    results = run(asked, tmp_path, jobs=1, publish=False)
    assert sorted(path.name for path in (tmp_path / "pieces").rglob("*.*")) == before
    groups = results.table("groups")
    assert groups.loc[groups["by"] == "year", "group"].isin(["2015", "2016", "2017", "2018"]).all()
    write_tables(results)
    # Read back from the file, years are text still.
    assert read_tables(tmp_path)["groups"]["group"].map(type).eq(str).all()


def test_names_of_groups_are_read_as_they_were_written(tmp_path: Path) -> None:
    names = ["None", "1", "1.0", "NA", ""]
    frame = pd.DataFrame({"group": names, "value": [1.0, np.nan, 2.0, 3.0, 4.0]})
    frame.to_csv(tmp_path / "groups.csv", index=False)
    again = read_table((tmp_path / "groups.csv").read_bytes())
    assert again["group"].tolist() == names
    assert again["value"].isna().tolist() == [False, True, False, False, False]


@pytest.mark.parametrize(
    ("by", "message"),
    [
        (["sexx"], "unknown column 'sexx'; expected one of: applicant"),
        (["sex:10"], "groups 'sex:10': column 'sex' holds 'd'; bands need numbers"),
        (["age:0"], "groups 'age:0': the width of a band must be above 0"),
        (["age"], "the column has 52 different numbers; give the width .* such as age:10"),
        (["sex", "sex"], "groups 'sex' is given more than once"),
        ("sex", "expected a list of columns to group people by; got 'sex'"),
    ],
)
def test_what_cannot_be_grouped_is_said_before_anything_is_trained(
    by: Any, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        evaluate(people(), out=tmp_path / "out", drop=["sex", "age"], by=by, **FEW)
    assert not (tmp_path / "out").exists()


def test_plans_name_groups_in_one_way(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(
        'datasets = ["car-loans"]\nby = ["age: 10.0", "sex"]\nsmallest_group = 20\n'
    )
    plan = Plan.from_toml(tmp_path / "plan.toml")
    assert (plan.by, plan.smallest_group) == (("age:10", "sex"), 20)
    with pytest.raises(InputError, match=r"smallest_group: .* greater than or equal to 1; got 0"):
        Plan.preset("quick", smallest_group=0)


def test_a_dataset_file_need_not_name_the_groups_itself(tmp_path: Path) -> None:
    people().to_csv(tmp_path / "loans.csv", index=False)
    (tmp_path / "loans.toml").write_text(
        'data = "loans.csv"\ntarget = "approved"\nfavourable = "yes"\ndrop = ["sex", "age"]\n'
        'id = "applicant"\n'
    )
    few = {key: FEW[key] for key in ("model", "families", "jobs")} | {"methods": ["kdtree"]}
    results = evaluate(str(tmp_path / "loans.toml"), by=["sex"], publish=False, **few)
    assert set(group_tables(results)["groups"]["group"]) >= {"f", "m"}
    with pytest.raises(InputError, match=r"loans.toml: unknown column 'race'; expected one of"):
        evaluate(str(tmp_path / "loans.toml"), by=["race"], **few)
