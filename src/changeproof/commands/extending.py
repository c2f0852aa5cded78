"""List what plans can name, and check one's own methods and families."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from changeproof.commands.console import say
from changeproof.commands.options import ask


class Listed(StrEnum):
    """What can be listed."""

    datasets = "datasets"
    families = "families"
    methods = "methods"


def list_names(
    what: Annotated[Listed, typer.Argument(help="datasets, families or methods.")],
    verbose: Annotated[
        bool,
        ask(
            "Also say where each of them is from.",
            flags=(
                "--verbose",
                "-v",
            ),
        ),
    ] = False,
) -> None:
    """List the datasets, the families of change or the methods.

    The list includes methods and families of installed packages (entry points
    changeproof.methods and changeproof.families). One that cannot be imported is
    listed with the reason.

    changeproof list methods

    changeproof list families -v
    """
    from changeproof.report.terminal.status import print_names

    print_names(what.value, sources=verbose)


def check(
    reference: Annotated[
        str, typer.Argument(help="A name, or an import path such as my_package.module:MyMethod.")
    ],
    family: Annotated[
        bool, ask("Check a family of change, not a method.", flags="--family")
    ] = False,
) -> None:
    """Check your own method or family against the contract.

    A method must give a person the same answer in any batch, order and process.
    It must say so when it finds nothing, and must not modify its inputs. It is
    tried on an embedded dataset. Its speed is shown but not judged. The exit code
    is 1 if a check fails. From Python: changeproof.check_method(MyMethod) and
    changeproof.check_family(MyFamily).

    changeproof check my_package.module:MyMethod
    """
    from changeproof.checks.check import check_family, check_method, findings_table
    from changeproof.report.terminal.tables import print_table

    findings = (check_family if family else check_method)(reference)
    print_table(reference, findings_table(findings))
    failed = [finding for finding in findings if finding.failed]
    for finding in failed:
        say(f"{finding.check}: {finding.fix}")
    say(f"{len(failed)} of {len(findings)} checks failed." if failed else "All is well.")
    if failed:
        raise typer.Exit(1)
