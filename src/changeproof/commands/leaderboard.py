"""The command that writes the leaderboard."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from changeproof.commands.console import say
from changeproof.commands.options import ask


def leaderboard(
    entries: Annotated[
        Path,
        typer.Argument(
            help="The folder with the entries, a folder each.",
            metavar="ENTRIES",
            show_default=False,
        ),
    ],
    out: Annotated[Path, ask("Where to write it.", "DIR", "board")] = Path("board"),
    records: Annotated[
        Path | None,
        ask(
            "What 'changeproof verify' wrote about the entries.",
            "DIR",
            "folder records beside the folder with the entries",
        ),
    ] = None,
    open_page: Annotated[bool, ask("Open the page in a browser.", flags="--open")] = False,
) -> None:
    """Write the leaderboard of the entries in a folder.

    The page is one file, index.html, and opens offline. The same numbers are in
    leaderboard.json and leaderboard.parquet.

    Every number is from the record of an entry that 'changeproof verify' wrote, and
    that is about the entry as it is now. Other entries are listed as claimed,
    without numbers. So are those of another version of the benchmark. There are no
    ranks: entries without a clear difference stand in one group.

    changeproof leaderboard entries --out board
    """
    from changeproof.board.leaderboard import leaderboard as build
    from changeproof.board.publishing import PAGE, write_board
    from changeproof.board.records import CLAIMED, RECORDS
    from changeproof.board.tracks import VERSION
    from changeproof.files import check_can_write

    check_can_write(out / PAGE)
    beside = entries.absolute().parent / RECORDS
    board = build(entries, beside if records is None else records, VERSION)
    path = write_board(board, out)
    states = Counter(listed.state for listed in board.entries)
    counts = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    say(f"Entries: {counts or 'none'}.")
    for listed in (*board.entries, *board.elsewhere):
        if listed.state == CLAIMED:
            say(f"Without numbers: {listed.name}. {listed.why}")
    for name, why in board.refused.items():
        say(f"No entry: {name}. {why}")
    say(f"Leaderboard: {path}")
    if open_page:
        import webbrowser

        if not webbrowser.open(path.resolve().as_uri()):
            say("No browser could be started; open the file by hand.", err=True)
