"""Run a plan, see how far it is, and run the paper's diagnostic."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from changeproof.commands.console import failures_reported, say
from changeproof.commands.options import (
    RUN,
    WORKERS,
    Given,
    RunDirectory,
    ask,
    plan_options,
    plan_values,
    takes,
    workers_of,
)
from changeproof.commands.parsing import split, whole_numbers
from changeproof.errors import InputError
from changeproof.runs.plan import Plan, Preset


@takes(plan_options("run"), WORKERS)
def run(
    given: Given,
    preset: Annotated[
        Preset | None,
        ask(
            "quick: two small datasets, one base model each. paper: the whole paper. "
            "recourse: three datasets that say what people can change. "
            "beyond: the paper's datasets, and changes that it does not have. "
            "time: two datasets with times, and how long advice lasts.",
            "NAME",
            default="quick",
            panel=RUN,
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        ask(
            f"A TOML file with any of the keys model, {', '.join(plan_options('run'))}.",
            "FILE",
            panel=RUN,
        ),
    ] = None,
    out: Annotated[
        Path | None, ask("The run directory.", "DIR", default="runs/NAME", panel=RUN)
    ] = None,
    import_its_code: Annotated[
        bool,
        ask(
            "Import methods, families and models that the run directory names and that are not "
            "installed. This runs their code.",
            flags="--import-its-code",
        ),
    ] = False,
) -> None:
    """Run a plan, or continue one that was interrupted.

    Start from a preset or a plan file; each further option replaces one of its
    values. An existing run directory continues with its own plan, and what is
    finished is not computed again. Code that only that plan names is not imported
    unless you pass --import-its-code.

    Separate names by commas, or repeat the option. Methods and families can have
    settings in brackets; put those in quotes for the shell. Settings that you give
    are not tuned.

    changeproof run --preset paper --methods kdtree,wachter --out runs/baselines

    changeproof run --methods "robx-balanced(quantile=0.7),rbr" --out runs/robx

    changeproof run --preset paper --cluster tcp://scheduler:8786
    """
    from changeproof.commands.progress import ConsoleObserver
    from changeproof.report.judged import judged_words
    from changeproof.runs.directory import check_free, without_its_code
    from changeproof.runs.manifest import PLAN, read_plan
    from changeproof.workflow import run as run_plan

    changes = plan_values(given)
    folder = out if out is not None else Path("runs") / (plan.stem if plan else preset or "quick")
    continues = preset is None and plan is None and (folder / PLAN).exists()
    limited = continues and not import_its_code
    with without_its_code(folder, changes) if limited else nullcontext():
        if preset is not None and plan is not None:
            raise InputError("give either --preset or --plan, not both")
        if plan is not None:
            chosen = Plan.from_toml(plan, **changes)
        elif continues:
            chosen = Plan.checked({**read_plan(folder).model_dump(), **changes})
        else:
            chosen = Plan.preset(preset or "quick", **changes)
        check_free(folder)
        with workers_of(given) as workers, ConsoleObserver() as observer, failures_reported(folder):
            results = run_plan(chosen, folder, observer=observer, **workers)
    if words := judged_words(results.tables()):
        say(words)
    say_where(results.folder)
    say(f"Print them here: changeproof show {results.folder}")


def say_where(folder: Path) -> None:
    """Print where the tables and the report of a run are."""
    say(f"Tables: {folder / 'tables'}")
    say(f"Report: {folder / 'report' / 'index.html'}")


def status(
    directory: RunDirectory,
    timings: Annotated[bool, ask("Show how long each stage took.", flags="--timings")] = False,
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

    pieces = read_manifest(directory).pieces
    if timings:
        print_timings(directory, pieces)
    else:
        print_inventory(directory, Store(directory).take_inventory(pieces))


def diagnose_apds_radius(
    datasets: Annotated[
        list[str] | None, ask("Datasets.", "NAME,…", default="breast-cancer,diabetes")
    ] = None,
    base_seeds: Annotated[
        list[str] | None, ask("Seeds of the base models.", "SEED,…", default="2026,2027,2028")
    ] = None,
    factuals: Annotated[
        int, typer.Option(help="People to explain, per base model.", min=1, metavar="N")
    ] = 5,
    out: Annotated[Path | None, ask("Also write the table to this CSV file.", "FILE")] = None,
) -> None:
    """Run AP-Delta-S with the radius of independent networks.

    Networks that predict nearly the same can have very different parameters. With
    a radius that covers such differences, AP-Delta-S finds no counterfactual. The
    table shows this radius beside the calibrated one.

    changeproof diagnose apds-radius --datasets diabetes --factuals 5
    """
    from changeproof.files import check_can_write, write_whole
    from changeproof.paper.diagnosis import diagnose_apds_radius
    from changeproof.report.terminal.grid import print_table

    if out is not None:
        check_can_write(out)
    table = diagnose_apds_radius(
        split(datasets or ["breast-cancer,diabetes"]),
        whole_numbers("base seed", split(base_seeds or ["2026,2027,2028"])),
        factuals,
        lambda label: say(label, err=True),
    )
    short = {"calibrated_radius": "calibrated", "independent_radius": "independent"}
    print_table(
        "Radius of AP-Delta-S, and answers with the independent one", table.rename(columns=short)
    )
    if out is not None:
        write_whole(out, table.to_csv(index=False).encode())
