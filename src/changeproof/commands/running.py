"""Run a plan, see how far it is, and run the paper's diagnostic."""

from __future__ import annotations

from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from changeproof.commands import cluster_options as on
from changeproof.commands.console import say
from changeproof.commands.group_options import By, SmallestGroup
from changeproof.commands.options import (
    ImportItsCode,
    RunDirectory,
    names,
    split,
    whole_numbers,
)
from changeproof.errors import InputError

if TYPE_CHECKING:
    from changeproof.runs.plan import Plan


class Preset(StrEnum):
    """The plans that come with the package."""

    quick = "quick"
    paper = "paper"
    recourse = "recourse"
    beyond = "beyond"
    time = "time"


def run(
    preset: Annotated[
        Preset | None,
        typer.Option(
            help="quick: two small datasets, one base model each. paper: the whole paper. "
            "recourse: three datasets that say what people can change. "
            "beyond: changes that the paper does not have, on its datasets. "
            "time: two datasets with times, and how long advice lasts.",
            show_default="quick",
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            help="A TOML file with any of the keys datasets, methods, families, base_seeds, "
            "factuals, model, realisable, limit, over_time, by and smallest_group.",
            show_default=False,
            metavar="FILE",
        ),
    ] = None,
    datasets: Annotated[
        list[str] | None, names("Datasets: names ('changeproof list datasets') or dataset files.")
    ] = None,
    methods: Annotated[
        list[str] | None,
        names(
            "Methods: names ('changeproof list methods') or import paths, with or without "
            "settings: robx-balanced(quantile=0.7)."
        ),
    ] = None,
    families: Annotated[
        list[str] | None,
        names(
            "Families of change: names ('changeproof list families') or import paths, with or "
            "without settings: bootstrap(replicates=50)."
        ),
    ] = None,
    base_seeds: Annotated[
        list[str] | None,
        typer.Option(help="Seeds of the base models.", show_default=False, metavar="SEED,…"),
    ] = None,
    factuals: Annotated[
        int | None,
        typer.Option(
            help="The most people to explain, per base model.", show_default=False, metavar="N"
        ),
    ] = None,
    realisable: Annotated[
        bool | None,
        typer.Option(
            "--realisable/--as-published",
            help="Tell people only what they can do (one category, whole steps, what the dataset "
            "says may change), or test answers just as the methods give them.",
            show_default="as the preset or plan says",
        ),
    ] = None,
    limit: Annotated[
        bool | None,
        typer.Option(
            "--limit/--no-limit",
            help="Also look for the limit: the shortest change that the changed models accept, "
            "found by a search that knows them. It says what every method costs beyond it.",
            show_default="as the preset or plan says",
        ),
    ] = None,
    over_time: Annotated[
        bool | None,
        typer.Option(
            "--over-time/--not-over-time",
            help="Train the base models on the earlier half of the rows. The later half, in the "
            "order of time, is the update pool. Datasets need a column with times.",
            show_default="as the preset or plan says",
        ),
    ] = None,
    by: By = None,
    smallest_group: SmallestGroup = None,
    jobs: Annotated[
        int | None,
        typer.Option(help="Worker processes.", show_default="one per core", metavar="N"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The run directory.", show_default="runs/NAME", metavar="DIR"),
    ] = None,
    cluster: on.ClusterName = None,
    tls_ca_file: on.Authority = None,
    tls_cert: on.Certificate = None,
    tls_key: on.Key = None,
    import_its_code: ImportItsCode = False,
) -> None:
    """Run a plan, or continue one that was interrupted.

    Start from a preset or a plan file; every other option replaces one of its
    values. An existing run directory continues with its own plan. What is
    finished is not computed again. Code that only its plan names is not imported
    unless you pass --import-its-code.

    Lists are separated by commas, or the option is repeated. Methods and families
    can have settings in brackets; put those in quotes for the shell. Settings that
    you give are not tuned.

    changeproof run --preset paper --methods kdtree,wachter --out runs/baselines

    changeproof run --methods "robx-balanced(quantile=0.7),rbr" --out runs/robx

    changeproof run --preset paper --cluster tcp://scheduler:8786
    """
    from changeproof.runs.directory import check_free, without_its_code
    from changeproof.runs.manifest import PLAN

    changes = {
        "datasets": split(datasets),
        "methods": split(methods),
        "families": split(families),
        "base_seeds": whole_numbers("base seed", split(base_seeds)),
        "factuals": factuals,
        "realisable": realisable,
        "limit": limit,
        "over_time": over_time,
        "by": split(by),
        "smallest_group": smallest_group,
    }
    folder = out if out is not None else Path("runs") / (plan.stem if plan else preset or "quick")
    changes = {key: value for key, value in changes.items() if value is not None}
    continues = preset is None and plan is None and (folder / PLAN).exists()
    from changeproof.commands.failures import failures_told
    from changeproof.commands.progress import ConsoleObserver
    from changeproof.workflow import run as run_plan

    limited = continues and not import_its_code
    with without_its_code(folder, changes) if limited else nullcontext():
        chosen = _plan(preset, plan, folder, changes)
        check_free(folder)
        with (
            on.workers_of(cluster, jobs, (tls_ca_file, tls_cert, tls_key)) as workers,
            ConsoleObserver() as observer,
            failures_told(folder),
        ):
            results = run_plan(chosen, folder, observer=observer, **workers)
    say(f"Tables: {results.folder / 'tables'}")
    say(f"Report: {results.folder / 'report' / 'index.html'}")
    say(f"Print them here: changeproof show {results.folder}")


def status(
    directory: RunDirectory,
    timings: Annotated[
        bool, typer.Option("--timings", help="Show how long each stage took.")
    ] = False,
    import_its_code: ImportItsCode = False,
) -> None:
    """Show what part of a run is done, missing or damaged.

    With --timings, show how long each stage took, by method and family. The run
    directory has the time of every piece in timings.jsonl, and the sums in
    tables/timings.csv.

    changeproof status runs/paper --timings
    """
    from changeproof.report.terminal.status import print_inventory, print_timings
    from changeproof.runs.manifest import read_manifest
    from changeproof.runs.store import Store

    if import_its_code:
        from changeproof.workflow import read_results

        pieces = read_results(directory, import_its_code=True).manifest.pieces
    else:
        pieces = read_manifest(directory).pieces
    if timings:
        print_timings(directory, pieces)
    else:
        print_inventory(directory, Store(directory).take_inventory(pieces))


def diagnose_apds_radius(
    datasets: Annotated[list[str] | None, names("Datasets.", "breast-cancer,diabetes")] = None,
    base_seeds: Annotated[
        list[str] | None,
        typer.Option(
            help="Seeds of the base models.", show_default="2026,2027,2028", metavar="SEED,…"
        ),
    ] = None,
    factuals: Annotated[
        int, typer.Option(help="People to explain, per base model.", min=1, metavar="N")
    ] = 5,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Also write the table to this CSV file.", show_default=False, metavar="FILE"
        ),
    ] = None,
) -> None:
    """Run AP-Delta-S with the radius of independently initialised networks.

    Networks that predict nearly the same can have very different parameters. With
    a radius that covers such differences, AP-Delta-S finds no counterfactual. The
    table shows this radius beside the calibrated one.
    """
    from changeproof.files import write_whole
    from changeproof.paper.diagnosis import diagnose_apds_radius
    from changeproof.report.terminal.tables import print_table

    table = diagnose_apds_radius(
        split(datasets) or ("breast-cancer", "diabetes"),
        whole_numbers("base seed", split(base_seeds)) or (2026, 2027, 2028),
        factuals,
        lambda label: say(label, err=True),
    )
    short = {"calibrated_radius": "calibrated", "independent_radius": "independent"}
    print_table(
        "Radius of AP-Delta-S, and answers with the independent one", table.rename(columns=short)
    )
    if out is not None:
        write_whole(out, table.to_csv(index=False).encode())


def _plan(preset: Preset | None, path: Path | None, folder: Path, changes: dict[str, Any]) -> Plan:
    from changeproof.runs.manifest import PLAN, read_plan
    from changeproof.runs.plan import Plan

    if preset is not None and path is not None:
        raise InputError("give either --preset or --plan, not both")
    if path is not None:
        return Plan.from_toml(path, **changes)
    if preset is None and (folder / PLAN).exists():
        return Plan.checked({**read_plan(folder).model_dump(), **changes})
    return Plan.preset(preset.value if preset is not None else "quick", **changes)
