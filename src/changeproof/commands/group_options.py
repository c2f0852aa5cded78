"""The options about groups of people, of audit and run."""

from __future__ import annotations

from typing import Annotated

import typer

BY = (
    "Who is let down? Columns to group people by, with the width of bands where they are "
    "numbers: sex,age:10."
)
SMALLEST = "The fewest people of a group that is shown."
PANEL = "The run"

By = Annotated[
    list[str] | None,
    typer.Option(help=BY, show_default=False, metavar="COLUMN[:WIDTH],…"),
]
SmallestGroup = Annotated[int | None, typer.Option(help=SMALLEST, show_default="10", metavar="N")]
AuditBy = Annotated[
    list[str] | None,
    typer.Option(
        help=f"{BY} Also columns that the model does not see (--drop).",
        show_default=False,
        metavar="COLUMN[:WIDTH],…",
        rich_help_panel=PANEL,
    ),
]
AuditSmallestGroup = Annotated[
    int | None,
    typer.Option(help=SMALLEST, show_default="10", metavar="N", rich_help_panel=PANEL),
]
