from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from changeproof.report.terminal.grid import print_table
from changeproof.report.terminal.tables import print_tables

COMMITTED = Path(__file__).resolve().parents[3] / "results" / "paper"


@pytest.fixture
def console() -> Console:
    return Console(width=100)


def test_results_are_read_by_dataset_and_method(console: Console) -> None:
    tables = {path.stem: pd.read_csv(path) for path in COMMITTED.glob("*.csv")}
    with console.capture() as capture:
        print_tables(tables, console)
    lines = [" ".join(line.split()) for line in capture.get().splitlines()]
    row = tables["full_results"].query("dataset == 'heloc' and method == 'robx-robust'").iloc[0]
    rates = ("coverage", "base_validity", "empirical_robustness", "end_to_end_robustness")
    cells = [f"{row[f'{rate}_mean']:.1f} ± {row[f'{rate}_std']:.1f}" for rate in rates]
    cells.append(f"{row['distance_mean']:.3f} ± {row['distance_std']:.3f}")
    assert lines.index("HELOC") < lines.index(" ".join(["RobX robust-first", *cells]))
    assert "Method init boot delete add labels train arch param" in lines
    assert any(line.startswith("Method Mean (ms)") for line in lines)
    assert "nan" not in capture.get()


@pytest.mark.parametrize("width", [60, 80, 200])
def test_a_table_with_many_families_is_printed_in_parts(width: int) -> None:
    families = [f"my-family-{number}" for number in range(14)]
    rows = [
        {"dataset": "heloc", "method": method, "family": family}
        | {"empirical_robustness_mean": 90 + number / 10, "empirical_robustness_std": 1.0}
        for method in ("kdtree", "rbr")
        for number, family in enumerate(families)
    ]
    console = Console(width=width)
    with console.capture() as capture:
        print_tables({"family_results": pd.DataFrame(rows)}, console)
    lines = capture.get().splitlines()
    assert "…" not in capture.get()
    headings = [line.split()[1:] for line in lines if line.startswith("Method")]
    assert [family for heading in headings for family in heading] == families
    assert len(headings) == {60: 4, 80: 3, 200: 1}[width]
    numbers = [line.split()[1:] for line in lines if line.startswith("KD-tree")]
    assert [float(n) for row in numbers for n in row] == [90 + n / 10 for n in range(14)]


def test_two_settings_of_a_method_are_two_rows(console: Console) -> None:
    frame = pd.read_csv(COMMITTED / "full_results.csv").query("dataset == 'heloc'").head(2)
    frame = frame.assign(method=["robx-balanced(quantile=0.7)", "own:Mine(a=1)"])
    with console.capture() as capture:
        print_tables({"full_results": frame}, console)
    assert "RobX balanced (quantile=0.7)" in capture.get()
    assert "own:Mine (a=1)" in capture.get()


def test_one_table_is_printed_as_it_is(console: Console) -> None:
    frame = pd.DataFrame({"name": ["[bold]x[/bold]"], "value": [0.123456789], "none": [None]})
    with console.capture() as capture:
        print_table("[red]title", frame.astype({"none": float}), console)
    assert "[red]title" in capture.get()
    assert "[bold]x[/bold]" in capture.get()
    assert "0.123457" in capture.get()
    assert "nan" not in capture.get()


def test_names_with_colons_are_no_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    frame = pd.DataFrame({"debt:x:ratio": ["job:100:2"], "value": [1.0]})
    print_table("fam:boom:", frame)
    say_so = capsys.readouterr().out
    for name in ("debt:x:ratio", "job:100:2", "fam:boom:"):
        assert name in say_so
