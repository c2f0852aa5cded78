"""What a run has and what it took, and what plans can name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from changeproof import changes, methods
from changeproof.datasets import dataset_records
from changeproof.plugins import Registry
from changeproof.report.terminal.grid import print_table, say, terminal
from changeproof.runs.pieces import Kind, Piece
from changeproof.runs.store import Inventory
from changeproof.runs.timings import largest_memory, sessions, timings_table

MOST_MISSING = 10
DESCRIBED = ("rows", "features", "favourable", "licence")
# What plans can name: the heading of the names, and what else is known of each.
NAMED: dict[str, tuple[str, Callable[[Any], dict[str, Any]]]] = {
    "datasets": (
        "dataset",
        lambda found: {
            **{each: getattr(found, each) for each in DESCRIBED},
            "may change": "as stated" if found.dataset_file else "anything",
        },
    ),
    # Of an object, since what some say of themselves depends on their settings.
    "families": ("family", lambda found: {"changed models": found().summary}),
    "methods": (
        "method",
        lambda found: {
            "needs of the model": str(found.needs),
            "tuned": "yes" if found.tuning_candidates() else "no",
            "counterfactual": found().summary,
        },
    ),
}


def print_inventory(folder: Path, inventory: Inventory) -> None:
    """Print what is done, damaged and missing."""
    console = terminal()
    states = {"done": inventory.done, "missing": inventory.missing, "damaged": inventory.damaged}
    counts = {state: Counter(p.kind for p in pieces) for state, pieces in states.items()}
    kinds = [kind for kind in Kind if any(kind in count for count in counts.values())]
    rows = [
        {"piece": kind.value} | {state: count[kind] for state, count in counts.items()}
        for kind in kinds
    ]
    print_table(str(folder), rows, console)
    for path in inventory.damaged.values():
        say(console, f"damaged: {path}")
    for piece in inventory.missing[:MOST_MISSING]:
        say(console, f"missing: {piece.label}")
    if len(inventory.missing) > MOST_MISSING:
        say(console, f"… and {len(inventory.missing) - MOST_MISSING} more")
    go_on = f"Continue with: changeproof run --out {folder}"
    say(console, "Complete." if inventory.complete else go_on)


def print_timings(folder: Path, pieces: Sequence[Piece]) -> None:
    """Print where the time of a run went, longest first."""
    console = terminal()
    table = timings_table(folder, pieces).sort_values("seconds", ascending=False)
    seconds = ["seconds", "processor_seconds", "share"]
    shown = table.assign(**{name: table[name].map("{:.1f}".format) for name in seconds})
    shown = shown.rename(columns={"processor_seconds": "processor", "share": "share (%)"})
    print_table(f"Time of {folder}, summed over workers", shown, console)
    total = [
        {
            "session": session.started,
            "jobs": session.jobs,
            "pieces": session.pieces,
            "compiling (s)": f"{session.compile_seconds:.1f}",
            "work (s)": f"{session.work_seconds:.1f}",
            "report (s)": f"{session.report_seconds:.1f}",
            "wall (s)": f"{session.seconds:.1f}",
        }
        for session in sessions(folder)
    ]
    if total:
        print_table("Wall time", total, console)
    say(console, f"Peak memory of a process: {largest_memory(folder):.0f} MiB")


def print_names(kind: str, sources: bool = False) -> None:
    """Print what plans can name: datasets, families or methods; also where these are from."""
    heading, described = NAMED[kind]
    usable: Mapping[str, Any] = dataset_records()
    broken: dict[str, str] = {}
    if kind != "datasets":
        registry: Registry[Any] = changes.REGISTRY if kind == "families" else methods.REGISTRY
        broken = registry.broken()
        usable = {name: registry.get(name) for name in registry.names if name not in broken}
    print_table(kind, [{heading: name, **described(found)} for name, found in usable.items()])
    if sources:
        origin = "origin" if kind == "datasets" else "source"
        known = [{heading: name, "from": getattr(usable[name], origin)} for name in usable]
        print_table(f"where the {kind} are from", known)
    for name, reason in broken.items():
        say(terminal(), f"broken: {name}: {reason}")
