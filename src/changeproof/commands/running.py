"""Run a plan, see how far it is, and the diagnostic beside it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from changeproof.commands.options import RunDirectory, names, split, whole_numbers
from changeproof.errors import InputError

if TYPE_CHECKING:
    from changeproof.runs.plan import Plan


class Preset(StrEnum):
    """The plans that come with the package."""

    quick = "quick"
    paper = "paper"


def run(
    preset: Annotated[
        Preset | None,
        typer.Option(help="quick: two datasets, one base model, seconds; paper: everything."),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            help="A TOML file with the keys datasets, methods, families, base_seeds, factuals.",
            show_default=False,
        ),
    ] = None,
    datasets: Annotated[
        list[str] | None, names("Datasets; see 'changeproof list datasets'.")
    ] = None,
    methods: Annotated[
        list[str] | None, names("Methods; see 'changeproof list methods', or import paths.")
    ] = None,
    families: Annotated[
        list[str] | None, names("Families; see 'changeproof list families', or import paths.")
    ] = None,
    base_seeds: Annotated[
        list[str] | None,
        typer.Option(help="Seeds of the base models.", show_default=False, metavar="SEED,…"),
    ] = None,
    factuals: Annotated[
        int | None,
        typer.Option(help="The most people per base model.", show_default=False, metavar="N"),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            help="Worker processes; all cores by default.", show_default=False, metavar="N"
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The run directory; runs/NAME by default.", show_default=False),
    ] = None,
) -> None:
    """Run a plan, or go on with one that was interrupted.

    Options change single values of the preset or plan. Lists take commas or
    repeated options. Without --preset or --plan an existing run directory goes on
    with its own plan, and a new one gets the preset quick. Finished pieces are
    never computed twice.

    changeproof run --preset paper --methods kdtree,wachter --out runs/baselines
    """
    from changeproof.runs.directory import check_free

    changes = {
        "datasets": split(datasets),
        "methods": split(methods),
        "families": split(families),
        "base_seeds": whole_numbers("base seed", split(base_seeds)),
        "factuals": factuals,
    }
    folder = out if out is not None else Path("runs") / (plan.stem if plan else preset or "quick")
    chosen = _plan(preset, plan, folder, {k: v for k, v in changes.items() if v is not None})
    check_free(folder)
    from changeproof.commands.failures import failures_told
    from changeproof.commands.progress import ConsoleObserver
    from changeproof.workflow import run as run_plan

    with ConsoleObserver() as observer, failures_told(folder):
        results = run_plan(chosen, folder, jobs=jobs, observer=observer)
    typer.echo(f"Tables: {results.folder / 'tables'}")
    typer.echo(f"Report: {results.folder / 'report' / 'index.html'}")
    typer.echo(f"Look at them here with: changeproof show {results.folder}")


def status(
    directory: RunDirectory,
    timings: Annotated[
        bool, typer.Option("--timings", help="Say where the time went, by stage and subject.")
    ] = False,
) -> None:
    """Say what of a run is done, what is missing and what is damaged.

    With --timings: how long the stages of the run took, by family and method. The
    times of every piece are kept in timings.jsonl of the run directory and summed
    up in tables/timings.csv.
    """
    from changeproof.report.terminal import print_inventory, print_timings
    from changeproof.runs.directory import read_plan
    from changeproof.runs.resolved import resolve
    from changeproof.runs.runner import take_inventory

    plan = read_plan(directory)
    if timings:
        print_timings(directory, resolve(plan, directory).pieces)
    else:
        print_inventory(directory, plan, take_inventory(plan, directory))


def diagnose_apds_radius(
    datasets: Annotated[list[str] | None, names("Datasets; breast-cancer and diabetes.")] = None,
    base_seeds: Annotated[
        list[str] | None,
        typer.Option(help="Base seeds; 2026 to 2028.", show_default=False, metavar="SEED,…"),
    ] = None,
    factuals: Annotated[int, typer.Option(help="People per base model.", min=1)] = 5,
    out: Annotated[
        Path | None, typer.Option(help="Also write the table as CSV.", show_default=False)
    ] = None,
) -> None:
    """Run AP-Delta-S with a radius from independently initialised networks.

    The diagnostic of the paper's appendix: networks that predict alike can be far
    apart in their parameters, and a radius taken from them leaves no counterfactual.
    """
    from changeproof.paper.diagnosis import diagnose_apds_radius
    from changeproof.report.terminal import print_table

    table = diagnose_apds_radius(
        split(datasets) or ("breast-cancer", "diabetes"),
        whole_numbers("base seed", split(base_seeds)) or (2026, 2027, 2028),
        factuals,
        lambda label: typer.echo(label, err=True),
    )
    short = {"calibrated_radius": "calibrated", "independent_radius": "independent"}
    print_table(
        "Radius of AP-Delta-S, and answers with the independent one", table.rename(columns=short)
    )
    if out is not None:
        table.to_csv(out, index=False)


def _plan(preset: Preset | None, path: Path | None, folder: Path, changes: dict[str, Any]) -> Plan:
    from changeproof.runs.directory import PLAN, read_plan
    from changeproof.runs.plan import Plan

    if preset is not None and path is not None:
        raise InputError("give either --preset or --plan, not both")
    if path is not None:
        return Plan.from_toml(path, **changes)
    if preset is None and (folder / PLAN).exists():
        return Plan.checked({**read_plan(folder).model_dump(), **changes})
    return Plan.preset(preset.value if preset is not None else "quick", **changes)
