from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from changeproof import Plan, Results, run
from changeproof.protocol.pieces import plan_pieces
from changeproof.protocol.timings import (
    LOG,
    Effort,
    largest_memory,
    log_piece,
    piece_efforts,
    sessions,
    timings_table,
)

SMALL = {"datasets": ["diabetes"], "families": ["bootstrap"], "factuals": 5}


def test_every_piece_of_a_run_is_timed(quick_run: Results) -> None:
    pieces = plan_pieces(quick_run.plan)
    efforts = piece_efforts(quick_run.folder)
    assert set(efforts) == {piece.file_stem for piece in pieces}
    assert all(effort.seconds > 0 for effort in efforts.values())
    table = quick_run.timings
    assert table["pieces"].sum() == len(pieces)
    assert table["share"].sum() == pytest.approx(100.0)
    assert table["seconds"].sum() == pytest.approx(sum(e.seconds for e in efforts.values()))
    assert set(table.query("stage == 'counterfactuals'")["subject"]) == set(quick_run.plan.methods)
    written = pd.read_csv(quick_run.folder / "tables" / "timings.csv")
    assert written.columns.tolist() == table.columns.tolist()
    assert 50 < largest_memory(quick_run.folder) < 6_000


def test_sessions_add_up_and_finished_runs_add_none(tmp_path: Path) -> None:
    out = tmp_path / "run"
    run(Plan.preset("quick", methods=["kdtree"], **SMALL), out, jobs=1)
    results = run(Plan.preset("quick", methods=["kdtree", "wachter"], **SMALL), out, jobs=1)
    run(results.plan, out, jobs=1)
    first, second = sessions(out)
    pieces = plan_pieces(results.plan)
    assert first.pieces + second.pieces == len(pieces)
    assert results.timings["pieces"].sum() == len(pieces)
    work = first.work_seconds + second.work_seconds
    assert 0 < results.timings["seconds"].sum() <= work
    assert second.report_seconds > 0


def test_a_line_cut_short_by_a_kill_is_passed_over(tmp_path: Path) -> None:
    piece, other = plan_pieces(Plan.preset("quick"))[:2]
    log_piece(tmp_path, piece, Effort(9.0, 9.0, 9.0))
    log_piece(tmp_path, piece, Effort(1.0, 0.5, 100.0))
    log_piece(tmp_path, other, Effort(3.0, 0.5, 90.0))
    whole = (tmp_path / LOG).read_text()
    (tmp_path / LOG).write_text(whole[:-7])
    table = timings_table(tmp_path, [piece, other])
    assert table["seconds"].tolist() == [1.0]
    assert table["share"].tolist() == [100.0]
    log_piece(tmp_path, other, Effort(4.0, 0.5, 90.0))
    assert timings_table(tmp_path, [piece, other])["seconds"].sum() == 5.0
    assert timings_table(tmp_path / "none", [piece]).empty
