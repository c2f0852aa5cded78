from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from changeproof import Plan, Results, build_tables, run, usual_method_names
from changeproof.cli import app
from changeproof.paper.comparison import compare_tables
from changeproof.report.page.write import build_payload
from changeproof.runs.pieces import Kind
from changeproof.runs.resolve import resolve
from changeproof.runs.timings import (
    LOG,
    Effort,
    largest_memory,
    log_piece,
    piece_efforts,
    sessions,
    timings_table,
)
from changeproof.runs.work import pieces_of
from changeproof.tables.registry import read_tables
from paged import chart

SMALL = {"datasets": ["diabetes"], "families": ["bootstrap"], "factuals": 5}


def test_every_piece_of_a_run_is_timed(quick_run: Results) -> None:
    pieces = quick_run.manifest.pieces
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


def test_requests_share_the_time_of_their_search(quick_run: Results) -> None:
    efforts = piece_efforts(quick_run.folder)
    searched = {stem: each.search_seconds for stem, each in efforts.items()}
    stems = [stem for stem, seconds in searched.items() if seconds is not None]
    pieces = [p for p in quick_run.manifest.pieces if p.kind is Kind.COUNTERFACTUALS]
    assert sorted(stems) == sorted(piece.file_stem for piece in pieces)
    for piece in pieces:
        answers = quick_run.counterfactuals(piece.dataset, piece.base_seed, piece.method)
        np.testing.assert_allclose(answers.seconds, searched[piece.file_stem] / len(answers))
        assert 0 < searched[piece.file_stem] < efforts[piece.file_stem].seconds
    # Training BetaRCE's ensemble is fitting and no part of the search.
    (betarce,) = (p.file_stem for p in pieces if (p.dataset, p.method) == ("diabetes", "betarce"))
    assert searched[betarce] < 0.95 * efforts[betarce].seconds


def test_without_the_log_times_are_missing_and_nothing_else(
    quick_run: Results, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(quick_run.folder, tmp_path / "run"))
    (folder / LOG).unlink()
    for name in ("tables", "report"):
        shutil.rmtree(folder / name)
    answers = Results(folder).counterfactuals("diabetes", 2026, "kdtree")
    assert np.isnan(answers.seconds).all()
    page = Results(folder).report().read_text(encoding="utf-8")
    assert "The time of single requests was not recorded in this run." in page
    for path in (quick_run.folder / "tables").glob("*.csv"):
        written = pd.read_csv(folder / "tables" / path.name)
        if path.stem == "timings":
            assert written.empty
        elif path.stem == "generation_seconds":
            assert written.filter(like="_seconds").isna().all(axis=None)
            assert written["timeouts"].notna().all()
        elif path.stem != "paper_comparison":
            pd.testing.assert_frame_equal(written, pd.read_csv(path))
    printed = (folder / "report" / "tables" / "generation_seconds.md").read_text(encoding="utf-8")
    assert "not recorded" in printed and "nan" not in printed
    shown = CliRunner().invoke(app, ["show", str(folder)])
    assert shown.exit_code == 0 and "nan" not in shown.output
    lines = compare_tables(read_tables(folder)).lines
    times = [line for line in lines if "_seconds" in line.metric]
    assert len(times) == 27 and all(line.ours is None for line in times)


def test_a_piece_without_a_time_leaves_the_others_theirs(
    quick_run: Results, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(quick_run.folder, tmp_path / "run"))
    lines = (folder / LOG).read_text().splitlines(keepends=True)
    known = [line for line in lines if "/counterfactuals-kdtree." not in line]
    assert len(known) == len(lines) - 2
    (folder / LOG).write_text("".join(known))
    tables = build_tables(Results(folder))
    table = tables["generation_seconds"]
    assert table.loc[table["median_seconds"].isna(), "method"].tolist() == ["kdtree"]
    shown = [row[0] for row in chart(build_payload(Results(folder), tables), "time")["rows"]]
    assert "kdtree" not in shown and len(shown) == len(usual_method_names()) - 1


def test_sessions_add_up_and_finished_runs_add_none(tmp_path: Path) -> None:
    out = tmp_path / "run"
    run(Plan.preset("quick", methods=["kdtree"], **SMALL), out, jobs=1, publish=False)
    results = run(Plan.preset("quick", methods=["kdtree", "wachter"], **SMALL), out, jobs=1)
    run(results.plan, out, jobs=1)
    first, second = sessions(out)
    pieces = results.manifest.pieces
    assert first.pieces + second.pieces == len(pieces)
    assert results.timings["pieces"].sum() == len(pieces)
    work = first.work_seconds + second.work_seconds
    assert 0 < results.timings["seconds"].sum() <= work
    assert second.report_seconds > 0


def test_a_line_cut_short_by_a_kill_is_passed_over(tmp_path: Path) -> None:
    piece, other = pieces_of(resolve(Plan.preset("quick")))[:2]
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
