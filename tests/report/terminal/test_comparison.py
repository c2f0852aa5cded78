from __future__ import annotations

from pathlib import Path

from rich.console import Console

from changeproof import compare_with_paper
from changeproof.report.terminal.comparisons import print_comparison
from published_run import Tables, setting, write_run


def test_the_terminal_shows_what_differs_in_80_columns(tmp_path: Path) -> None:
    def edit(tables: Tables) -> None:
        where = {"dataset": "breast-cancer", "method": "robx-balanced"}
        setting("full_results", "end_to_end_robustness_mean", 12.34, **where)(tables)
        setting("certified", "certified_share_mean", 94.0, dataset="breast-cancer")(tables)

    comparison = compare_with_paper(write_run(tmp_path / "run", edit))
    shown = {}
    for everything in (False, True):
        console = Console(width=80)
        with console.capture() as capture:
            print_comparison(comparison, everything=everything, console=console)
        shown[everything] = capture.get()
        assert max(map(len, shown[everything].splitlines())) <= 80
        assert "…" not in shown[everything]
        # One line per number: no cell is wrapped.
        assert not any(
            line.startswith(" " * 20) for line in shown[everything].splitlines() if line.strip()
        )
    brief = shown[False]
    assert "RobX balanced  end-to-end" in brief
    assert "-87.56  outside" in brief
    assert "+8.10  explained" in brief
    assert "share near" in brief
    assert "KD-tree" not in brief
    assert "KD-tree" in shown[True]
    assert "1 of 303 judged numbers are outside their tolerance, unexplained." in brief
    assert "Seconds per request (published: Apple M4 Pro)" in shown[True]
    assert len(shown[True].splitlines()) > 300
