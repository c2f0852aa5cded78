"""From a plan to a finished run with its tables and report, and what people read of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
import pandas as pd

from changeproof.errors import InputError, unknown
from changeproof.files import write_together, write_whole
from changeproof.gating.judging import Gate
from changeproof.gating.judging import gate as gate_of
from changeproof.model import Booleans
from changeproof.notebook import (
    MAIN,
    Person,
    View,
    chart_view,
    charts_of,
    gate_view,
    person_view,
    run_html,
    verdict_view,
)
from changeproof.report.charts import Chart
from changeproof.report.document import document
from changeproof.report.formats import results_html
from changeproof.report.page.write import FILE as PAGE
from changeproof.report.page.write import page_of
from changeproof.report.verdict import Verdict
from changeproof.report.verdict import verdict as verdict_of
from changeproof.report.workbook import check_workbook, workbook
from changeproof.runs.directory import REPORT, TABLES
from changeproof.runs.execute import Observer, run_pieces
from changeproof.runs.manifest import Manifest
from changeproof.runs.plan import Plan
from changeproof.runs.published import check_plan, outdate, published, withdraw
from changeproof.runs.published import publish as publish_files
from changeproof.runs.resolve import ResolvedRun, resolve
from changeproof.runs.results import StoredResults
from changeproof.tables.registry import build_tables, read_tables, write_tables
from changeproof.workers.interpreter import no_garbage_collection
from changeproof.workers.jobs import Engine
from changeproof.workers.processes import engine_for


class Results(StoredResults):
    """What a run found.

    Parameters
    ----------
    folder
        The run directory.
    manifest
        What the run is made of, or a part of it; the directory's own by default. Nothing that the
        directory names is imported.
    tasks
        Its tasks by name, where they are at hand.

    Examples
    --------
    >>> results = cp.Results("runs/paper")
    >>> results.table()  # one row per dataset and method
    >>> answers = results.counterfactuals("heloc", 2026, "wachter")
    >>> survived = results.survival("heloc", 2026, "wachter")  # [requests, changed models]

    In a notebook, ``results`` shows its verdict and its main chart, and so do its parts:

    >>> results.verdict()
    >>> results.chart("price")
    >>> results.person(17)
    """

    def table(self, name: str = "full_results") -> pd.DataFrame:
        """Return a table: coverage, validity, robustness and distance by method, or another.

        Parameters
        ----------
        name
            For instance "family_results", "intervals", "seed_results", "variants", "tuning"; or
            "people" and "told", what everybody was told, where answers are advice; or "limit" and
            "price", if the plan asks for the limit; or "life" and "life_summary", if it has
            sequences of updates; or "life_limit" and "life_price", if both.
        """
        tables = self.tables()
        if name not in tables:
            raise unknown("table", name, tables)
        return tables[name]

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return all tables by name; those that the run has written are used as they are."""
        return read_tables(self.folder) or build_tables(self)

    @overload
    def survival(self) -> pd.DataFrame: ...
    @overload
    def survival(self, dataset: str, base_seed: int, method: str) -> Booleans: ...
    def survival(
        self, dataset: str | None = None, base_seed: int | None = None, method: str | None = None
    ) -> pd.DataFrame | Booleans:
        """Return under which changed models answers still hold.

        Returns
        -------
        Without arguments, one row per answer and family: the answer `held` under so many of its
        `models`. With all three arguments, an array [people, changed models] in the order of
        `counterfactuals` and `variants`.
        """
        if dataset is not None and base_seed is not None and method is not None:
            return self.survived(dataset, base_seed, method)
        if (dataset, base_seed, method) != (None, None, None):
            raise InputError("survival takes dataset, base seed and method, or nothing")
        return pd.concat([self._held(*key) for key in self.answered], ignore_index=True)

    def _held(self, dataset: str, base_seed: int, method: str) -> pd.DataFrame:
        answers = self.counterfactuals(dataset, base_seed, method)
        survived = self.survived(dataset, base_seed, method)
        family_of = self.variants(dataset, base_seed)["family"].to_numpy()
        ids = self.task(dataset).ids.loc[answers.row_ids.tolist()].to_numpy()
        who = {"dataset": dataset, "base_seed": base_seed, "method": method, "id": ids}
        parts = [
            pd.DataFrame(
                {
                    **who,
                    "base_valid": answers.base_valid,
                    "family": family,
                    "held": survived[:, family_of == family].sum(axis=1),
                    "models": np.sum(family_of == family),
                }
            )
            for family in self.shown.families
        ]
        return pd.concat(parts, ignore_index=True)

    def report(self, out: str | Path | None = None) -> Path:
        """Write the report, and return the page to open.

        Tables that the run has written are used as they are, if they are made from its plan and
        its pieces; if not, they are made again from the pieces. The page of an unfinished run
        shows what is finished and says what is missing.

        Parameters
        ----------
        out
            A folder for it; the run directory's ``report`` by default.
        """
        page = write_everything(self)
        if out is None:
            return page
        files = published(page.parent)
        write_together({Path(out) / name: content for name, content in files.items()})
        return Path(out) / page.name

    def as_dict(self) -> dict[str, Any]:
        """Return the whole run as plain values: what was run, what was found, and every table.

        In `tables`, what is undefined is None, and what is infinite is the text "inf".
        """
        return document(self, self.tables())

    def to_json(self) -> str:
        """Return the same as JSON."""
        return json.dumps(self.as_dict(), indent=2, allow_nan=False)

    def to_xlsx(self, path: str | Path) -> Path:
        """Write a workbook: what was found in words, then a sheet for every table.

        Needs XlsxWriter, an extra: ``pip install 'changeproof[xlsx]'``.

        Parameters
        ----------
        path
            The file, whose name ends in .xlsx.
        """
        out = check_workbook(path)
        tables = self.tables()
        write_whole(out, workbook(document(self, tables), tables))
        return out

    def verdict(self) -> View[Verdict]:
        """Return what the run found, in sentences; it shows itself in a notebook."""
        return verdict_view(verdict_of(self, self.tables()))

    def chart(self, name: str = MAIN) -> View[Chart]:
        """Return a chart of the page; it shows itself in a notebook.

        Parameters
        ----------
        name
            "families", "hidden", "price" or "magnitude"; or "life", if the run has sequences of
            updates.
        """
        return chart_view(self, self.tables(), name)

    def person(
        self,
        person: Any,
        methods: Sequence[str] | None = None,
        dataset: str | None = None,
        language: str | None = None,
    ) -> View[Person]:
        """Return what one person was told, and which advice to follow; it shows itself.

        Parameters
        ----------
        person
            The person's id.
        methods
            Some of the run's methods; all of them by default.
        dataset, language
            See `explain`.
        """
        return person_view(self, person, methods, dataset, language)

    def gate(self, rules: str | Path | Mapping[str, Any] | Sequence[Any]) -> View[Gate]:
        """Return whether the run keeps rules; it shows itself in a notebook. See `gate`."""
        return gate_view(gate_of(self.folder, rules))

    def __str__(self) -> str:
        return self.verdict().text

    def _repr_html_(self) -> str:
        tables = self.tables()
        return run_html(verdict_of(self, tables), charts_of(self, tables), results_html(tables))


def run(
    plan: Plan,
    out: str | Path,
    *,
    jobs: int | None = None,
    client: Any = None,
    observer: Observer | None = None,
    publish: bool = True,
) -> Results:
    """Run a plan in a directory, or continue it; then write tables and report.

    If a method fails, the others are finished and get their tables and report. Then
    `PieceFailedError` is raised.

    Parameters
    ----------
    plan
        What to run, for instance ``Plan.preset("quick")``.
    out
        The run directory. What it already holds of the plan is not computed again.
    jobs
        Worker processes; by default as many as there are cores. Results do not depend on it.
    client
        A `distributed.Client`, to have the work done by the workers of a Dask cluster instead.
    observer
        Follows the run; see `Observer`.
    publish
        Whether to write tables and report. If not, outdated ones are removed.
    """
    folder = Path(out)
    engine = engine_for(jobs, client)
    return run_resolved(resolve(plan, folder), folder, engine, observer, publish=publish)


def run_resolved(
    resolved: ResolvedRun,
    folder: Path,
    engine: Engine,
    observer: Observer | None = None,
    *,
    publish: bool = True,
    same_plan: bool = False,
) -> Results:
    """Do what is left of a run, and publish what is finished."""

    def write_out(part: Manifest | None) -> None:
        if publish and part is not None:
            write_everything(Results(folder, part, resolved.tasks), anew=True)
        else:
            for name in (TABLES, REPORT):
                withdraw(folder / name)

    run_pieces(
        resolved,
        folder,
        engine=engine,
        observer=observer,
        same_plan=same_plan,
        before_work=lambda: outdate(folder / TABLES),
        after_work=write_out,
    )
    return Results(folder, tasks=resolved.tasks)


@no_garbage_collection()
def write_everything(results: Results, *, anew: bool = False) -> Path:
    """Write tables, print and page of a run, and return the page.

    Tables of this plan and these pieces are used as they are, unless all are to be made `anew`.
    """
    tables = {} if anew else read_tables(results.folder)
    if not tables and results.inventory.complete:
        if not anew:
            check_plan(results.folder, results.manifest)
        write_tables(results)
        # Read back, so that the page has the very numbers of the files.
        tables = read_tables(results.folder)
    if not tables:
        tables = build_tables(results)
    from changeproof.report.printing import print_files  # matplotlib, when it is needed

    files = print_files(tables) | {PAGE: page_of(results, tables)}
    publish_files(results.folder / REPORT, files)
    return results.folder / REPORT / PAGE
