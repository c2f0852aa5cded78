"""What the benchmarks of clusters make of recorded pieces, and what they count."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.cluster import LEAST_SHARE, PIECES, simulate
from benchmarks.process_tree import spent_by
from benchmarks.replay import makespan, record
from changeproof import Plan, run
from changeproof.workers.jobs import Job, Result


def job(name: str, needs: str, cost: float) -> Job:
    return Job(name, lambda told, contents: Result({}, None), None, tuple(needs), (name,), cost)


def test_a_replay_takes_the_most_urgent_job_that_is_ready() -> None:
    jobs = [job("a", "", 1.0), job("b", "a", 5.0), job("c", "", 2.0), job("d", "", 2.0)]
    seconds = {"a": 1.0, "b": 5.0, "c": 2.0, "d": 2.0}
    assert makespan(jobs, seconds, workers=1) == 10.0
    assert makespan(jobs, seconds, workers=2) == 6.0  # c and d beside a and b
    assert makespan(jobs, seconds, workers=9) == 6.0  # a, then b
    # A guess that is wrong has b wait: what jobs take is not known when they are handed out.
    assert makespan([*jobs[:1], job("b", "a", 0.1), *jobs[2:]], seconds, workers=2) == 8.0
    assert makespan(jobs, seconds, workers=1, between=0.5) == 12.0


def test_the_paper_on_many_workers_is_nearly_as_fast_as_it_can_be() -> None:
    table = simulate(pd.read_csv(PIECES), 64, 20)
    assert (table["share_of_ideal"] >= LEAST_SHARE).all()
    assert (table["share_of_ideal"] <= 1.0).all()
    assert (table["speed_up"] <= 64).all() and (table["makespan"] >= table["critical_path"]).all()


def test_what_pieces_took_is_read_from_a_run(tmp_path: Path) -> None:
    plan = Plan(
        datasets=("diabetes",),
        methods=("kdtree",),
        families=("bootstrap",),
        base_seeds=(2026, 2027),
    )
    run(plan, tmp_path / "run", jobs=1, publish=False)
    table = record(tmp_path / "run")
    names = ["bank-bootstrap", "base", "counterfactuals-kdtree", "survival-kdtree-bootstrap"]
    assert sorted(set(table["piece"])) == names
    assert table["base_seed"].tolist() == [2026, 2027] * 4
    assert (table["processor_seconds"] > 0).all() and (table["bytes"] > 100).all()


BUSY = """
import time
end = time.process_time() + 0.4
while time.process_time() < end:
    pass
"""
START = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', sys.argv[1]])"


def test_processes_count_that_outlive_their_parent() -> None:
    spent = spent_by([sys.executable, "-c", START, BUSY])
    assert 0.4 <= spent.processor_seconds < 30


def test_a_command_that_fails_is_not_measured() -> None:
    with pytest.raises(RuntimeError, match="no such thing"):
        spent_by([sys.executable, "-c", "raise SystemExit('no such thing')"])
