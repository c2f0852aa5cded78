"""What was run, so that someone else can repeat it."""

from __future__ import annotations

import hashlib
import os
import platform
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import tomli_w

from changeproof import __version__
from changeproof.changes import SUCCESSOR, family_names
from changeproof.datasets import dataset_records
from changeproof.datasets.task import Task
from changeproof.errors import visible
from changeproof.evaluation.fragility import fragile_picks
from changeproof.fingerprints.things import library_versions, package_version
from changeproof.methods import method_names
from changeproof.plugins import without_settings
from changeproof.report.judged import OBJECT
from changeproof.report.page.parts import Part, Source, folded, heading, muted, table, text
from changeproof.runs.plan import PRESETS, Plan
from changeproof.runs.results import StoredResults
from changeproof.tables import names
from changeproof.tables.display import Tables, listed
from changeproof.tables.model import FORMS, MODEL
from changeproof.workers.interpreter import processor_name

DATA = {
    "dataset": "name",
    "what it is": "title",
    "favourable": "favourable",
    "licence": "licence",
    "fingerprint": "fingerprint",
}
ABOUT = {
    "name": "model",
    "from": "reference",
    "kind": "kind",
    "how it is used": "source",
    "columns": "columns",
    "threshold": "threshold",
    "fingerprint": "digest",
}
BESIDE = (
    "The plan names files of the run directory, so keep plan.toml there, beside plan.json. The "
    "command works anywhere if it is given the path of plan.toml."
)


def run_section(source: Source) -> list[Part]:
    run = provenance(source.results)
    known = {
        label: key for label, key in DATA.items() if any(each.get(key) for each in run["datasets"])
    }
    data = [[each.get(key, "") for key in known.values()] for each in run["datasets"]]
    notes = [f"{each['name']}: {note}" for each in run["datasets"] for note in each["notes"]]
    fragile = fragile_picks(source.tables.get("tuning", pd.DataFrame()))
    pieces = ["piece", "fingerprint", "state"]
    facts = [
        ["versions", ", ".join(f"{name} {text}" for name, text in run["versions"].items())],
        [
            "machine that wrote this page",
            ", ".join(" ".join(each) for each in run["machine"].items()),
        ],
        ["written at", run["written"]],
        ["fingerprint of the run", run["fingerprint"]],
    ]
    return [
        *_judged(source.tables),
        heading("The plan"),
        {"code": run["plan"]},
        text(run["repeat"]),
        {"file": "plan.toml", "button": "plan.toml", "content": run["plan"]},
        heading("Data"),
        table("Data", list(known), data, texts=len(known)),
        *_listed("What was odd about the data, and what to do:", "oddities", notes),
        heading("Methods and families of change"),
        table(
            "Methods and families",
            ["name", "what it does", "where it is from"],
            run["sources"],
            texts=3,
            tall=True,
        ),
        *([heading("Close calls in tuning")] if fragile else []),
        *_listed(
            "Settings are chosen on validation rows of the first base model: the highest base "
            "validity wins, and between equals the lower distance. One row or none decided these "
            "choices, so other rows may lead to others:",
            "fragile",
            fragile,
        ),
        heading("Versions and machine"),
        {"facts": facts},
        muted(
            "Fingerprints are hashes of data, settings, code and library versions. Equal "
            "fingerprints mean the same bytes on every x86-64-v3 processor (those of the last ten "
            "years), with any number of workers. Models from other libraries are only as exact as "
            "those libraries."
        ),
        folded(
            f"Fingerprints of all {len(run['pieces'])} pieces",
            [table("Fingerprints", pieces, run["pieces"], texts=3, tall=True, file="fingerprints")],
            long=True,
        ),
    ]


def _judged(tables: Tables) -> list[Part]:
    """Return what is known of the model, and the letters of each method that a refit refuses."""
    if MODEL not in tables:
        return []
    about = tables[MODEL].iloc[0]
    facts = [[label, str(about[name])] for label, name in ABOUT.items()]
    parts: list[Part] = [heading("The model"), {"facts": facts}]
    if read := FORMS[MODEL].table(MODEL, tables):
        # A model as shipped belongs to one dataset.
        cells = [
            [read.on_screen(cell) for cell in row] for _, rows in read.sections for row in rows
        ]
        columns = [each.name for each in read.headings]
        parts += [muted(read.caption), table(read.title, columns, cells)]
    return parts


def _listed(words: str, name: str, texts: list[str]) -> list[Part]:
    return [text(words), {"list": texts, "id": name}] if texts else []


def provenance(results: StoredResults) -> dict[str, Any]:
    """Return plan, versions, machine and fingerprints."""
    plan = results.plan
    done = set(results.inventory.done)
    pieces = results.manifest.pieces
    fingerprints = sorted(piece.fingerprint for piece in pieces)
    return {
        "plan": plan_toml(plan),
        "command": "" if kept_nowhere(results) else command(plan),
        "beside": bool(kept_files(plan)),
        "repeat": repeat_words(results),
        "versions": {"changeproof": __version__, "python": platform.python_version()}
        | library_versions()
        | ({"torch": package_version("torch")} if package_version("torch") else {}),
        "machine": machine(),
        "written": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "fingerprint": hashlib.sha256("".join(fingerprints).encode()).hexdigest()[:20],
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


def plan_toml(plan: Plan) -> str:
    """Return the plan as a file that `changeproof run --plan` reads.

    Files that the run keeps are named as its directory has them, and are looked for beside the
    plan file: nothing says where somebody keeps the run.
    """
    unasked = set() if plan.by else {"by", "smallest_group"}
    values = plan.model_dump(mode="json", exclude_none=True, exclude={"left_out", *unasked})
    return tomli_w.dumps({key: value for key, value in values.items() if value != {}})


def command(plan: Plan) -> str:
    # As records: reading a run imports none of the methods that a preset names.
    presets = {name: Plan.checked(values(), record=True) for name, values in PRESETS.items()}
    same = (f"--preset {name}" for name, preset in presets.items() if plan == preset)
    return f"changeproof run {next(same, '--plan plan.toml')}"


def repeat_words(results: StoredResults) -> str:
    """Say how to repeat a run; a plan alone cannot, of what no run keeps."""
    if passed := kept_nowhere(results):
        return (
            f"The plan alone does not repeat it: a run keeps no copy of {listed(passed)}. Repeat "
            "the command or the call that made it (changeproof audit, or cp.evaluate in Python), "
            "with the same passed again; the plan names everything else."
        )
    plan = results.plan
    return f"Repeat it with: {command(plan)}. {BESIDE if kept_files(plan) else ''}".strip()


def kept_nowhere(results: StoredResults) -> list[str]:
    """Return what was passed as an object, or read once from a file, so that no plan names it."""
    plan, judged = results.plan, results.manifest.judged
    passed = []
    if plan.model.startswith(OBJECT):
        reference = OBJECT if judged is None else judged.reference
        passed.append("the model" if reference.startswith(OBJECT) else f"the model ({reference})")
    if plan.successors:
        passed.append(f"the models that came after it ({listed(list(plan.successors))})")
    known = {*method_names(), *family_names(), SUCCESSOR}
    names = [without_settings(each) for each in (*plan.methods, *plan.families)]
    return passed + [name for name in names if ":" not in name and name not in known]


def kept_files(plan: Plan) -> list[str]:
    datasets = [name for name in plan.datasets if name not in dataset_records()]
    return [*datasets, *plan.counterfactuals.values()]


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
    described: dict[str, Any] = {"name": task.name, "fingerprint": task.fingerprint[:20]}
    if record := dataset_records().get(task.name):
        described |= {key: str(getattr(record, key)) for key in ("title", "favourable", "licence")}
    elif task.favourable_values:
        described["favourable"] = ", ".join(map(str, task.favourable_values))
    return described | {"notes": [visible(note) for note in task.notes]}
