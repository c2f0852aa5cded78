from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from changeproof import InputError, Plan, Results, compare_with_paper
from changeproof.cli import app
from changeproof.paper.comparison import (
    TEXT,
    Verdict,
    compare_tables,
    reason_against,
    write_comparison,
)
from changeproof.report.page.times import published
from changeproof.tables.registry import read_finished
from command_line import call
from planned import write_plan
from published_run import Tables, keeping, setting

Fabricate = Callable[..., Path]


def test_a_run_as_published_is_within_everywhere(fabricate: Fabricate) -> None:
    comparison = compare_with_paper(fabricate())
    assert comparison.passed
    assert comparison.warnings == ()
    assert not any(comparison.missing.values())
    assert comparison.counts("full_results") == {Verdict.WITHIN: 36 * 5}
    assert comparison.counts("dataset_summary") == {Verdict.WITHIN: 4 * 12}
    assert comparison.counts("change_magnitude") == {Verdict.WITHIN: 8 * 2}
    assert comparison.counts("generation_seconds") == {Verdict.NOT_JUDGED: 9 * 4}
    # 3 of AP∆S, 4 each of RBR and Wachter; 5 of every dataset; 4 shares; 3 ranges of 4 datasets.
    assert comparison.counts(TEXT) == {Verdict.WITHIN: 3 + 8 + 5 * 4 + 4 + 3 * 4 * 2}
    keys = ["table", "dataset", "method_or_family", "metric"]
    assert not comparison.table.duplicated(keys).any()


def test_the_file_has_the_promised_columns(fabricate: Fabricate) -> None:
    folder = fabricate(
        setting("full_results", "distance_mean", 0.9, dataset="heloc", method="rnce")
    )
    path = write_comparison(folder, compare_with_paper(folder))
    assert path == folder / "tables" / "paper_comparison.csv"
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    assert table.columns.tolist() == [
        "table", "dataset", "method_or_family", "metric", "published", "published_sd",
        "ours", "ours_sd", "difference", "within", "explanation",
    ]  # fmt: skip
    row = table[(table["dataset"] == "heloc") & (table["method_or_family"] == "rnce")]
    row = row[row["metric"] == "distance"]
    assert row.iloc[0, 4:].tolist() == ["0.948", "0.029", "0.9", "0.029", "-0.048", "True", ""]
    times = table[table["table"] == "generation_seconds"]
    assert set(times["within"]) == {""}
    assert (times["ours"] != "").all()
    assert set(table.loc[table["table"] == "change_magnitude", "dataset"]) == {"all"}


def test_what_the_run_does_not_have_is_not_covered(fabricate: Fabricate) -> None:
    def edit(tables: Tables) -> None:
        keeping(method=["kdtree", "wachter"])(tables)
        del tables["certified"], tables["diagnostics"]

    comparison = compare_with_paper(fabricate(edit))
    assert comparison.passed
    assert comparison.counts("full_results") == {Verdict.WITHIN: 40, Verdict.NOT_COVERED: 140}
    assert comparison.counts(TEXT) == {Verdict.WITHIN: 4, Verdict.NOT_COVERED: 55}
    assert comparison.missing["tables"] == ("certified", "diagnostics")
    assert len(comparison.missing["methods"]) == 7
    table = comparison.table
    assert len(table[table["table"] == "full_results"]) == 40
    claims = table[table["table"] == TEXT]
    assert len(claims) == 59
    assert claims["ours"].isna().tolist() == claims["within"].isna().tolist()


def test_averages_over_fewer_families_or_datasets_are_not_judged(fabricate: Fabricate) -> None:
    def edit(tables: Tables) -> None:
        keeping(dataset=["diabetes"], family=["bootstrap", "architecture"])(tables)
        tables["full_results"]["empirical_robustness_mean"] = 1.0
        tables["change_magnitude"]["probability_mae_mean"] = 1.0

    comparison = compare_with_paper(fabricate(edit))
    assert comparison.passed
    assert comparison.counts("full_results")[Verdict.NOT_JUDGED] == 9 * 2
    assert comparison.counts("change_magnitude") == {
        Verdict.NOT_JUDGED: 2 * 2,
        Verdict.NOT_COVERED: 6 * 2,
    }
    assert len(comparison.warnings) == 2
    # The lowest of two families says nothing about the lowest of eight.
    lowest = [line for line in comparison.lines if line.metric.startswith("lowest")]
    assert {line.verdict for line in lowest} == {Verdict.NOT_COVERED}
    assert comparison.missing["datasets"] == ("breast-cancer", "wine-quality", "heloc")


@pytest.mark.parametrize("plan", [{"base_seeds": [2026]}, {"factuals": 25}])
def test_another_plan_is_compared_neither_here_nor_on_the_page(
    fabricate: Fabricate, plan: dict[str, object]
) -> None:
    folder = fabricate(**plan)
    with pytest.raises(InputError, match="cannot be compared: the published numbers are of base"):
        compare_with_paper(folder)
    done = call("compare", folder)
    assert done.returncode == 2 and len(done.stderr.strip().splitlines()) == 1
    assert not (folder / "tables" / "paper_comparison.csv").exists()
    asked, tables = read_finished(folder)
    (part,) = published(asked, tables, complete=True) or []
    assert reason_against(asked) and str(reason_against(asked)) in part["nothing"]
    same = Plan.preset("paper")
    assert reason_against(same) is None and published(same, tables, complete=True)


def test_a_run_is_needed_and_finished(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is not a run directory: it has no plan\.json"):
        compare_with_paper(tmp_path / "nowhere")
    write_plan(tmp_path, Plan.preset("quick"))
    with pytest.raises(
        InputError, match=r"has no manifest.json; .*go on with: changeproof run --out"
    ):
        compare_with_paper(tmp_path)


def test_real_tables_can_be_compared(quick_run: Results) -> None:
    comparison = compare_tables(read_finished(quick_run.folder)[1])
    sizes = comparison.table.query("table == 'dataset_summary' and metric == 'train'")
    assert sizes["within"].all()
    assert sizes["ours"].tolist() == [284.0, 384.0]


@pytest.mark.parametrize(
    ("valid", "sentence"),
    [
        (
            (14, 19, 18),
            "roar-lime on heloc: penalty 0.66 wins by 1 of 25 validation rows over 0.61",
        ),
        (
            (19, 19, 18),
            "roar-lime on heloc: penalty 0.66 ties with 0.86 (19 of 25 validation rows each) and "
            "wins by a distance of 0.01 (2.5 %)",
        ),
        ((14, 19, 17), None),
    ],
)
def test_picks_that_hang_on_a_row_are_told(
    fabricate: Fabricate, valid: tuple[int, ...], sentence: str | None
) -> None:
    def edit(tables: Tables) -> None:
        scores = pd.DataFrame({"valid_rows": valid, "distance": [0.41, 0.4, 0.4]})
        behind = 19 - scores["valid_rows"]
        tables["tuning"] = scores.assign(
            dataset="heloc",
            method="roar-lime",
            settings=[f'{{"penalty": {each}, "radius": 0.1}}' for each in (0.86, 0.66, 0.61)],
            validation_rows=25,
            rows_behind=behind,
            distance_behind=(scores["distance"] - 0.4).where(behind == 0),
            chosen=[False, True, False],
        )

    folder = fabricate(edit)
    assert compare_with_paper(folder).fragile == (() if sentence is None else (sentence,))
    shown = CliRunner().invoke(app, ["compare", str(folder)])
    assert shown.exit_code == 0
    assert ("that one validation row, or none, decided" in shown.output) == (sentence is not None)
    assert sentence is None or f"  {sentence}\n" in shown.output


def test_the_command_says_it_with_its_exit_code(fabricate: Fabricate) -> None:
    folder = fabricate()
    good = CliRunner().invoke(app, ["compare", str(folder)])
    assert good.exit_code == 0, good.output
    assert "are within their tolerance or explained." in good.stdout
    folder = fabricate(setting("dataset_summary", "train", 285, dataset="breast-cancer"))
    bad = CliRunner().invoke(app, ["compare", str(folder), "--all"])
    assert bad.exit_code == 1
    assert "outside" in bad.stdout
    written = pd.read_csv(folder / "tables" / "paper_comparison.csv")
    assert written.loc[written["within"] == False, "metric"].tolist() == ["train"]  # noqa: E712
