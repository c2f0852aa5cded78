"""What is missing of a run, and what is to be known of its numbers, in sentences."""

from __future__ import annotations

from typing import Any

from changeproof.report.page.life import about_sequences
from changeproof.runs.results import StoredResults
from changeproof.tables.display import Tables, listed
from changeproof.tables.names import dataset_name, method_name

MOST_MISSING = 200
ONE_EACH = (
    "There is one base model per dataset, so there are no standard deviations. Intervals are over "
    "people, and say nothing about other base models."
)
ONE_MODEL = (
    "All of this is about one model, today's, also called the base model. 95 % intervals are over "
    "people: what as many other people would show, with this model and these changed models."
)


def state(results: StoredResults, tables: Tables) -> dict[str, Any]:
    """Say what is missing and what is to be known, in sentences, and name the missing pieces."""
    inventory = results.inventory
    missing = [*inventory.damaged, *inventory.missing]
    return {
        "complete": inventory.complete,
        "notes": [*missing_notes(results, tables), *notes_of(results, tables)],
        "missing": [piece.label for piece in missing[:MOST_MISSING]],
        "more": max(0, len(missing) - MOST_MISSING),
    }


def missing_notes(results: StoredResults, tables: Tables) -> list[str]:
    """Say what is missing of an unfinished run, and how to go on."""
    inventory, plan = results.inventory, results.shown
    missing = [*inventory.damaged, *inventory.missing]
    if not missing:
        return []
    total = len(inventory.done) + len(missing)
    wanted = len(plan.datasets) * len(plan.base_seeds) * len(plan.methods)
    there = len(tables["seed_results"].drop_duplicates(["dataset", "base_seed", "method"]))
    notes = [
        f"{len(missing)} of {total} pieces are missing or damaged. There are numbers for "
        f"{there} of {wanted} combinations of dataset, base model and method."
    ]
    if there > len(results.answered):
        notes.append(
            "The numbers come from the folder tables, written when the run was finished. What "
            "needs the missing pieces (people, single changed models) is left out. A piece "
            "also counts as missing when the code that makes it has changed since."
        )
    return [*notes, f"Continue with: changeproof run --out {results.folder}"]


def notes_of(results: StoredResults, tables: Tables) -> list[str]:
    """Say what is to be known of the numbers of a run."""
    plan, notes = results.shown, []
    if len(plan.base_seeds) == 1:
        notes.append(ONE_MODEL if len(plan.datasets) == 1 else ONE_EACH)
    notes += [f"Left out: {name} ({reason})." for name, reason in plan.left_out.items()]
    notes += about_sequences(results)
    full = tables["full_results"]
    silent = full[full["empirical_robustness_mean"].isna()][["method", "dataset"]].to_numpy()
    if len(silent):
        named = [f"{method_name(m)} on {dataset_name(d)}" for m, d in silent]
        notes.append(f"The base models accept no CFE of {listed(named)}.")
    return notes
