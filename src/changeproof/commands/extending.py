"""What plans can name, and whether one's own method or family is fit for it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class Listed(StrEnum):
    """What can be listed."""

    datasets = "datasets"
    families = "families"
    methods = "methods"


def list_names(what: Annotated[Listed, typer.Argument(help="What to list.")]) -> None:
    """List the datasets, families of change or methods that plans can name.

    Also those of installed packages (entry points changeproof.methods and
    changeproof.families); what cannot be imported is listed with its reason.
    """
    from changeproof.report.terminal import print_names

    print_names(what.value)


def check(
    reference: Annotated[
        str, typer.Argument(help="A name or an import path: my_package.module:MyMethod.")
    ],
    family: Annotated[bool, typer.Option("--family", help="It is a family of change.")] = False,
) -> None:
    """Check that a method, or a family of change, keeps to its contract.

    A method has to give the same answers whatever the batch, the order or the
    process, to be honest where it finds nothing, and to leave alone what it is
    given. It is tried on an embedded dataset; its speed is told, not judged.
    Exit code 1: a check failed. The same from Python, for instance in a test:
    changeproof.check_method(MyMethod), changeproof.check_family(MyFamily).

    changeproof check my_package.module:MyMethod
    """
    from changeproof.checks.check import check_family, check_method, findings_table
    from changeproof.report.terminal import print_table

    findings = (check_family if family else check_method)(reference)
    print_table(reference, findings_table(findings))
    failed = [finding for finding in findings if finding.failed]
    for finding in failed:
        typer.echo(f"{finding.check}: {finding.fix}")
    typer.echo(f"{len(failed)} of {len(findings)} checks failed." if failed else "All is well.")
    if failed:
        raise typer.Exit(1)
