"""Everything that the page shows, as one value that JSON can hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from changeproof.report.changes import scatter_words, variant_survival
from changeproof.report.charts import for_page
from changeproof.report.life import about_sequences
from changeproof.report.page.parts import Source
from changeproof.report.page.people import people
from changeproof.report.page.sections import SECTIONS
from changeproof.report.verdict import verdict
from changeproof.runs.results import StoredResults
from changeproof.tables.display import listed
from changeproof.tables.names import dataset_name, method_name, short_family

MOST_MISSING = 200


def build_payload(results: StoredResults, tables: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
    """Return what the page shows at once; see `build_bulk` for what it unpacks later."""
    source = Source(results, tables)
    plan, shown = source.plan, source.shown
    found = {section.id: section.parts(source) for section in SECTIONS}
    return {
        "verdict": verdict(results, tables).as_dict(),
        "scope": _scope(source),
        "state": state(results, tables),
        # What scripts of their own need to know.
        "methods": list(plan.methods),
        "shown": {
            "datasets": shown.called(plan.datasets),
            "methods": shown.called(plan.methods),
            "families": shown.called(plan.families),
            "short_families": [short_family(family) for family in plan.families],
        },
        "references": {"datasets": list(plan.datasets), "families": list(plan.families)},
        "marks": [for_page(mark) for mark, _ in shown.legend],
        "present": [plan.datasets.index(dataset) for dataset in source.present],
        # The families that averages are about, by position.
        "averaged": [plan.families.index(family) for family in results.averaged],
        "sections": {name: parts for name, parts in found.items() if parts is not None},
    }


def _scope(source: Source) -> str:
    plan = source.plan
    parts = [
        _counted(len(plan.datasets), "dataset", "datasets"),
        _counted(len(plan.methods), "method", "methods"),
        f"{_counted(len(plan.families), 'family', 'families')} of change",
        f"{_counted(len(plan.base_seeds), 'base model', 'base models')} per dataset.",
    ]
    said = ", ".join(parts)
    return said[0].upper() + said[1:]


def _counted(number: int, one: str, many: str) -> str:
    return f"one {one}" if number == 1 else f"{number} {many}"


def build_bulk(results: StoredResults) -> list[dict[str, Any]]:
    """Return, for every dataset of the plan, all people and all changed models."""
    plan = results.shown
    bulk = []
    for dataset in plan.datasets:
        points = variant_survival(results, dataset)
        said = [] if points is None else scatter_words(points, plan)
        bulk.append({"people": people(results, dataset), "variants": points, "words": said})
    return bulk


def state(results: StoredResults, tables: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
    """Say what is missing, in sentences, and name the pieces."""
    inventory, plan = results.inventory, results.shown
    missing = [*inventory.damaged, *inventory.missing]
    total = len(inventory.done) + len(missing)
    wanted = len(plan.datasets) * len(plan.base_seeds) * len(plan.methods)
    there = len(tables["seed_results"].drop_duplicates(["dataset", "base_seed", "method"]))
    notes = []
    if missing:
        notes.append(
            f"{len(missing)} of {total} pieces are missing or damaged. There are numbers for "
            f"{there} of {wanted} combinations of dataset, base model and method."
        )
        if there > len(results.answered):
            notes.append(
                "The numbers come from the folder tables, written when the run was finished. What "
                "needs the missing pieces (people, single changed models) is left out. A piece "
                "also counts as missing when the code that makes it has changed since."
            )
        notes.append(f"Go on with: changeproof run --out {results.folder}")
    if len(plan.base_seeds) == 1:
        notes.append(
            "There is one base model per dataset, so there are no standard deviations. Intervals "
            "are over people, and say nothing about other base models."
        )
    notes += [f"Left out: {name} ({reason})." for name, reason in plan.left_out.items()]
    notes += about_sequences(results)
    full = tables["full_results"]
    silent = full[full["empirical_robustness_mean"].isna()][["method", "dataset"]].to_numpy()
    if len(silent):
        named = [f"{method_name(m)} on {dataset_name(d)}" for m, d in silent]
        notes.append(f"The base models accept no CFE of {listed(named)}.")
    return {
        "complete": inventory.complete,
        "notes": notes,
        "missing": [piece.label for piece in missing[:MOST_MISSING]],
        "more": max(0, len(missing) - MOST_MISSING),
    }
