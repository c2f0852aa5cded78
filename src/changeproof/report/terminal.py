"""Tables in the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from changeproof import changes, methods
from changeproof.datasets.builtin import dataset_records
from changeproof.registry import Registry
from changeproof.report.reading import readable
from changeproof.runs.piece import Kind
from changeproof.runs.pieces import plan_pieces
from changeproof.runs.plan import Plan
from changeproof.runs.runner import Inventory, count_by_kind
from changeproof.runs.timings import largest_memory, sessions, timings_table

MOST_MISSING = 10
T = TypeVar("T")


def print_tables(tables: dict[str, pd.DataFrame], console: Console | None = None) -> None:
    """Print the main tables for reading, not for parsing."""
    console = console if console is not None else Console()
    for title, table in readable(tables).items():
        _print(console, title, table)


def print_table(name: str, table: pd.DataFrame, console: Console | None = None) -> None:
    """Print one table as it is."""
    _print(console if console is not None else Console(), name, table)


def print_inventory(
    folder: Path, plan: Plan, inventory: Inventory, console: Console | None = None
) -> None:
    """Print what is done, damaged and missing."""
    console = console if console is not None else Console()
    done, missing = count_by_kind(inventory.done), count_by_kind(inventory.missing)
    damaged = count_by_kind(inventory.damaged)
    rows = [
        {
            "piece": kind.value,
            "done": done.get(kind, 0),
            "missing": missing.get(kind, 0),
            "damaged": damaged.get(kind, 0),
        }
        for kind in Kind
    ]
    _print(console, f"{folder}", pd.DataFrame(rows))
    for path in inventory.damaged.values():
        console.print(f"damaged: {path}", markup=False, highlight=False, soft_wrap=True)
    for piece in inventory.missing[:MOST_MISSING]:
        console.print(f"missing: {piece.label}", markup=False, highlight=False)
    if len(inventory.missing) > MOST_MISSING:
        console.print(f"… and {len(inventory.missing) - MOST_MISSING} more")
    if inventory.complete:
        console.print("Complete.")
    else:
        command = f"changeproof run --out {folder}"
        console.print(f"Go on with: {command}", markup=False, highlight=False, soft_wrap=True)


def print_timings(folder: Path, plan: Plan, console: Console | None = None) -> None:
    """Print where the time of a run went, longest first."""
    console = console if console is not None else Console()
    table = timings_table(folder, plan_pieces(plan)).sort_values("seconds", ascending=False)
    shown = pd.DataFrame(
        {
            "stage": table["stage"],
            "subject": table["subject"],
            "pieces": table["pieces"],
            "seconds": table["seconds"].map("{:.1f}".format),
            "processor": table["processor_seconds"].map("{:.1f}".format),
            "share (%)": table["share"].map("{:.1f}".format),
        }
    )
    _print(console, f"Time of {folder}, summed over workers", shown)
    total = pd.DataFrame(
        {
            "session": [session.started for session in sessions(folder)],
            "jobs": [session.jobs for session in sessions(folder)],
            "pieces": [session.pieces for session in sessions(folder)],
            "compiling (s)": [f"{session.compile_seconds:.1f}" for session in sessions(folder)],
            "work (s)": [f"{session.work_seconds:.1f}" for session in sessions(folder)],
            "report (s)": [f"{session.report_seconds:.1f}" for session in sessions(folder)],
            "wall (s)": [f"{session.seconds:.1f}" for session in sessions(folder)],
        }
    )
    if len(total):
        _print(console, "Wall time", total)
    console.print(f"Peak memory of a process: {largest_memory(folder):.0f} MiB", highlight=False)


def print_names(subject: str, console: Console | None = None) -> None:
    """Print what plans can name."""
    console = console if console is not None else Console()
    if subject == "datasets":
        columns = ["rows", "features", "favourable", "licence"]
        rows = [
            {"dataset": name, **{column: getattr(record, column) for column in columns}}
            for name, record in dataset_records().items()
        ]
    elif subject == "families":
        rows = [
            {"family": name, "changed models": found.summary}
            for name, found in _usable(changes.REGISTRY)
        ]
    else:
        rows = [
            {
                "method": name,
                "needs of the model": str(found.needs),
                "tuned": "yes" if found.tuning_candidates() else "no",
                "counterfactual": found.summary,
            }
            for name, found in _usable(methods.REGISTRY)
        ]
    _print(console, subject, pd.DataFrame(rows))
    registries: dict[str, Registry[Any]] = {
        "families": changes.REGISTRY,
        "methods": methods.REGISTRY,
    }
    broken = registries[subject].broken() if subject in registries else {}
    for name, reason in broken.items():
        console.print(f"broken: {name}: {reason}", markup=False, highlight=False, soft_wrap=True)


def _usable(registry: Registry[T]) -> Iterator[tuple[str, T]]:
    broken = registry.broken()
    return ((name, registry.get(name)) for name in registry.names if name not in broken)


def _print(console: Console, title: str, frame: pd.DataFrame) -> None:
    table = Table(
        title=escape(title),
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        collapse_padding=True,
        pad_edge=False,
    )
    for column in frame.columns:
        numeric = pd.api.types.is_numeric_dtype(frame[column].dtype)
        table.add_column(escape(str(column)), justify="right" if numeric else "left")
    for row in frame.itertuples(index=False):
        table.add_row(*(escape(_cell(value)) for value in row))
    console.print(table)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if pd.isna(value) else f"{value:.6g}"
    return str(value)
