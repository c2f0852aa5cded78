"""From a plan to a finished run with its tables and report, in one call."""

from __future__ import annotations

import shutil
from pathlib import Path

import joblib

from changeproof.errors import InputError
from changeproof.report.page.write import FOLDER as REPORT
from changeproof.report.page.write import write_report
from changeproof.runs.fitting import fitted
from changeproof.runs.pieces import plan_subjects
from changeproof.runs.plan import Plan
from changeproof.runs.readings import Readings
from changeproof.runs.results import Results
from changeproof.runs.runner import Observer, finished_part, run_pieces
from changeproof.runs.tables import FOLDER as TABLES
from changeproof.runs.tables import build_tables, read_tables, write_tables


def run(
    plan: Plan,
    out: str | Path,
    *,
    jobs: int | None = None,
    observer: Observer | None = None,
    publish: bool = True,
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
    publish
        Whether to write tables and report; without, those of another plan are removed.
    """
    folder = Path(out)
    plan = fitted(plan, plan_subjects(plan, folder)[0].learner)
    jobs = joblib.cpu_count() if jobs is None else jobs
    if jobs < 1:
        raise InputError(f"jobs must be at least 1; got {jobs}")

    def remove_outdated() -> None:
        for name in (TABLES, REPORT):
            shutil.rmtree(folder / name, ignore_errors=True)

    def tell() -> None:
        remove_outdated()
        part = finished_part(plan, folder) if publish else None
        if part is not None:
            _report(Results(folder, part))

    run_pieces(
        plan, folder, jobs=jobs, observer=observer, before_work=remove_outdated, after_work=tell
    )
    return Results(folder)


def report(out: str | Path) -> Path:
    """Write the report of a run, and return the page to open.

    Tables that the run has written are used as they are. A finished run without them gets them;
    of an unfinished run the page shows what is finished and says what is missing.

    Parameters
    ----------
    out
        The run directory.
    """
    return _report(Results(out))


def _report(results: Results) -> Path:
    readings = Readings(results)
    tables = read_tables(results.folder)
    if not tables and readings.inventory.complete:
        write_tables(results, readings)
        # Read back, so that the page has the very numbers of the files.
        tables = read_tables(results.folder)
    if not tables:
        tables = build_tables(results, readings)
    from changeproof.report.print.write import write_print  # matplotlib, when it is needed

    write_print(results.folder, tables)
    return write_report(results, tables, readings)
