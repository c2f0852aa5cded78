"""What was run, so that someone else can repeat it."""

from __future__ import annotations

import hashlib
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import tomli_w

from changeproof import __version__
from changeproof.datasets.builtin import dataset_records
from changeproof.datasets.task import Task
from changeproof.errors import visible
from changeproof.fingerprints.things import library_versions, package_version
from changeproof.runs.manifest import located
from changeproof.runs.plan import PRESETS, Plan
from changeproof.runs.results import StoredResults
from changeproof.tables import names
from changeproof.workers.interpreter import processor_name


def provenance(results: StoredResults) -> dict[str, Any]:
    """Return plan, versions, machine and fingerprints."""
    plan = results.plan
    done = set(results.inventory.done)
    pieces = results.manifest.pieces
    marks = sorted(piece.fingerprint for piece in pieces)
    return {
        "plan": plan_toml(plan, results.folder),
        "command": command(plan),
        "versions": {"changeproof": __version__, "python": platform.python_version()}
        | library_versions()
        | ({"torch": package_version("torch")} if package_version("torch") else {}),
        "machine": machine(),
        "written": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "fingerprint": hashlib.sha256("".join(marks).encode()).hexdigest()[:20],
        "sources": sources(results),
        "datasets": [_dataset(results.task(name)) for name in results.shown.datasets],
        "pieces": [
            [piece.label, piece.fingerprint, "finished" if piece in done else "missing"]
            for piece in pieces
        ],
    }


def sources(results: StoredResults) -> list[tuple[str, str, str]]:
    """Return, for every method and family, its name, what it does, and where it is from."""
    found = [(names.method_name(name), each) for name, each in results.methods.items()]
    found += [(names.family_name(name), each) for name, each in results.families.items()]
    return [(name, each.summary, each.source) for name, each in found]


def plan_toml(plan: Plan, folder: Path) -> str:
    """Return the plan as a file that `changeproof run --plan` reads, from wherever that is called.

    Files that the run keeps are named by where they are.
    """
    here = folder.resolve()
    kept = {
        "datasets": tuple(located(each, here) for each in plan.datasets),
        "counterfactuals": {n: located(each, here) for n, each in plan.counterfactuals.items()},
    }
    plan = plan.model_copy(update=kept)
    unasked = set() if plan.by else {"by", "smallest_group"}
    values = plan.model_dump(mode="json", exclude_none=True, exclude={"left_out", *unasked})
    return tomli_w.dumps({key: value for key, value in values.items() if value != {}})


def command(plan: Plan) -> str:
    """Return what to type to get the same run."""
    same = (f"--preset {preset}" for preset in PRESETS if plan == Plan.preset(preset))
    return f"changeproof run {next(same, '--plan plan.toml')}"


def machine() -> dict[str, str]:
    """Describe the machine that this runs on, without its name."""
    described = {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": processor_name(),
        "cores": str(os.cpu_count()),
    }
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        described["memory"] = f"{size / 2**30:.0f} GiB"
    return {key: value for key, value in described.items() if value}


def _dataset(task: Task) -> dict[str, Any]:
    told: dict[str, Any] = {"name": task.name, "fingerprint": task.fingerprint[:20]}
    if record := dataset_records().get(task.name):
        told |= {key: str(getattr(record, key)) for key in ("title", "favourable", "licence")}
    elif task.favourable_values:
        told["favourable"] = ", ".join(map(str, task.favourable_values))
    return told | {"notes": [visible(note) for note in task.notes]}
