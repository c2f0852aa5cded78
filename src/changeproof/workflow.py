"""From a plan to a finished run with its tables and report, in one call."""

from __future__ import annotations

import shutil
from pathlib import Path

import joblib

from changeproof.errors import InputError
from changeproof.protocol.plan import Plan
from changeproof.protocol.results import Results
from changeproof.protocol.runner import Observer, finished_part, run_pieces
from changeproof.report.page import FOLDER as REPORT
from changeproof.report.page import write_report
from changeproof.report.tables import FOLDER as TABLES
from changeproof.report.tables import write_tables


def run(
    plan: Plan, out: str | Path, *, jobs: int | None = None, observer: Observer | None = None
) -> Results:
    """Run a plan into a directory, or go on with it; then write tables and report.

    When a method fails, the others are finished, and tables and report are written for them;
    then `PieceFailedError` is raised.

    Parameters
    ----------
    plan
        What to run, for instance ``Plan.preset("quick")``.
    out
        The run directory. What it already holds of the plan is not computed again.
    jobs
        Worker processes; by default as many as there are cores. Results do not depend on it.
    observer
        Follows the run; see `Observer`.
    """
    folder = Path(out)
    jobs = joblib.cpu_count() if jobs is None else jobs
    if jobs < 1:
        raise InputError(f"jobs must be at least 1; got {jobs}")

    def remove_outdated() -> None:
        for name in (TABLES, REPORT):
            shutil.rmtree(folder / name, ignore_errors=True)

    def publish() -> None:
        remove_outdated()
        part = finished_part(plan, folder)
        if part is not None:
            results = Results(folder, part)
            write_report(results, write_tables(results))

    run_pieces(
        plan, folder, jobs=jobs, observer=observer, before_work=remove_outdated, after_work=publish
    )
    return Results(folder)
