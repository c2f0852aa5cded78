"""Everything that the page shows, as one value that JSON can hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from changeproof.evaluation.fragility import fragile_picks
from changeproof.evaluation.metrics import METRICS
from changeproof.report import words
from changeproof.report.groups import groups
from changeproof.report.letters import letters
from changeproof.report.life import about_sequences, life, over_all
from changeproof.report.page.advice import advice
from changeproof.report.page.guarantees import guarantees
from changeproof.report.page.limit import limit, limit_words
from changeproof.report.page.magnitude import magnitudes, scatter_words, variant_survival
from changeproof.report.page.people import people, templates
from changeproof.report.page.provenance import provenance
from changeproof.report.page.rankings import rankings
from changeproof.report.page.times import generation, published, stages
from changeproof.report.scores import Scores, frontier_of, ranked, scores
from changeproof.report.verdict import verdict
from changeproof.report.words import covered
from changeproof.runs.plan import Plan
from changeproof.runs.results import StoredResults
from changeproof.tables import names
from changeproof.tables.display import listed
from changeproof.tables.people import INTERVALS as PEOPLE

MOST_MISSING = 200


def build_payload(results: StoredResults, tables: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
    """Return what the page shows at once; see `build_bulk` for what it unpacks later."""
    plan = results.shown
    table = scores(tables["intervals"], plan, tables[PEOPLE])
    over = covered(tables, plan)
    summaries = [results.families[family].summary for family in plan.families]
    changes = [
        words.AS_IT_WAS if family in results.unchanged else words.after(summary)
        for family, summary in zip(plan.families, summaries, strict=True)
    ]
    changes.insert(0, over_all(results))
    behind = tables["seed_results"].groupby(["dataset", "method"])["base_seed"].nunique()
    return {
        "datasets": list(plan.datasets),
        "methods": list(plan.methods),
        "families": list(plan.families),
        "short_families": [names.short_family(family) for family in plan.families],
        "summaries": summaries,
        "shown": {
            "datasets": names.different_names(plan.datasets, names.dataset_name),
            "methods": names.different_names(plan.methods, names.method_name),
            "families": {
                name: f"{shown} (no change)" if name in results.unchanged else shown
                for name, shown in names.different_names(plan.families, names.family_name).items()
            },
        },
        "marks": [*names.mark_places(plan.methods).values()],
        "metrics": list(METRICS),
        "base_seeds": list(plan.base_seeds),
        "state": state(results, tables),
        "verdict": verdict(results, tables).as_dict(),
        "scores": table,
        "answers": answers(table, plan, changes, [each.intervals for each in over]),
        # What intervals and standard deviations are over, by dataset, and what that means.
        "over": [each.intervals for each in over],
        "repeated": [each.repeated for each in over],
        "meaning": [each.meaning for each in over],
        # The families that averages are about, by position.
        "averaged": [plan.families.index(family) for family in results.averaged],
        # How many base models stand behind each dataset and method.
        "finished": [[int(behind.get((d, m), 0)) for m in plan.methods] for d in plan.datasets],
        "price": [frontier_of(families[0], "empirical_robustness") for families in table],
        "limit": limit(tables, plan),
        "life": life(tables, plan),
        "letters": letters(tables),
        "words": {
            "heat": words.heat_map_words(table, plan, results.unchanged),
            "hidden": words.hidden_words(table, plan),
            "price": words.price_words(table, plan) + limit_words(tables),
        },
        "magnitudes": magnitudes(tables["change_magnitude"], tables["variants"]),
        "guarantees": guarantees(tables, plan, results),
        "groups": groups(tables, plan),
        "advice": advice(tables, plan),
        "rankings": rankings(tables["family_results"], plan, results.unchanged),
        "recourse": templates(),
        "generation": generation(tables["generation_seconds"]),
        "stages": stages(tables),
        "fragile": fragile_picks(tables.get("tuning", pd.DataFrame())),
        "published": published(plan, tables, results.inventory.complete),
        "run": provenance(results),
    }


def build_bulk(results: StoredResults) -> list[dict[str, Any]]:
    """Return, for every dataset of the plan, all people and all changed models."""
    plan = results.shown
    bulk = []
    for dataset in plan.datasets:
        points = variant_survival(results, dataset)
        said = [] if points is None else scatter_words(points, plan)
        bulk.append({"people": people(results, dataset), "variants": points, "words": said})
    return bulk


def answers(
    table: Scores, plan: Plan, changes: list[str], over: list[str]
) -> list[list[dict[str, Any]]]:
    """Return for every dataset and family the methods in order, the frontier and sentences.

    `changes` is how sentences begin: about all families, then about each. Intervals are `over`
    these, by dataset.
    """
    return [
        [
            {
                "order": ranked(row),
                "frontier": frontier_of(row, "end_to_end_robustness"),
                "sentences": [
                    "" if score is None else words.sentence(change, method, score, whose)
                    for method, score in zip(plan.methods, row, strict=True)
                ],
            }
            for change, row in zip(changes, families, strict=True)
        ]
        for families, whose in zip(table, over, strict=True)
    ]


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
        named = [f"{names.method_name(m)} on {names.dataset_name(d)}" for m, d in silent]
        notes.append(f"The base models accept no CFE of {listed(named)}.")
    return {
        "complete": inventory.complete,
        "notes": notes,
        "missing": [piece.label for piece in missing[:MOST_MISSING]],
        "more": max(0, len(missing) - MOST_MISSING),
    }
