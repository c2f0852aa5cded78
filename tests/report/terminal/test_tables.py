from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from changeproof.report.terminal.tables import print_table, print_tables

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
