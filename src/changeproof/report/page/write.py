"""The page: everything that it shows, and one file that holds it with scripts and styles."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from changeproof.report.changes import scatter_words, variant_survival
from changeproof.report.charts import SHAPES, for_page, stylesheet
from changeproof.report.life import about_sequences
from changeproof.report.page.parts import Source
from changeproof.report.page.people import people
from changeproof.report.page.sections import SECTIONS
from changeproof.report.verdict import verdict
from changeproof.runs.results import StoredResults
from changeproof.tables.display import listed
from changeproof.tables.names import dataset_name, method_name, short_family

MOST_MISSING = 200
FILE = "index.html"
# What ends a script element or a line of JavaScript is written so that it cannot.
ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
ASSETS = Path(__file__).parent / "assets"
SCRIPTS = ("core", "charts", "parts", "answer", "survival", "person", "printing")


def page_of(results: StoredResults, tables: Mapping[str, pd.DataFrame]) -> bytes:
    """Return the page of a run.

    Parameters
    ----------
    results
        The run, finished or not.
    tables
        Its tables; of an unfinished run those of what is finished.
    """
    return render(build_payload(results, tables), build_bulk(results)).encode()


def render(payload: Mapping[str, Any], bulk: list[dict[str, Any]]) -> str:
    """Return the page as HTML; whatever names it holds are text."""
    loader = jinja2.FileSystemLoader(ASSETS)
    template = jinja2.Environment(loader=loader, autoescape=True).get_template("page.html")
    shapes = {shape.plotly: shape.path for shape in SHAPES}
    return template.render(
        style=Markup(f"{stylesheet()}\n{_asset('page.css')}"),
        verdict=payload["verdict"],
        scope=payload["scope"],
        sections=[section for section in SECTIONS if section.id in payload["sections"]],
        data=Markup(embedded({**payload, "shapes": shapes})),
        packed=Markup(embedded([packed(text) for text in (get_plotlyjs(), *map(_json, bulk))])),
        script=Markup("\n".join(_asset(f"{name}.js") for name in SCRIPTS)),
    )


def embedded(content: Any) -> str:
    """Return JSON that can stand in a script element, whatever names it holds."""
    return _json(content).translate(ESCAPES)


def packed(text: str) -> str:
    """Return text, compressed and in letters; the page unpacks it when it is asked for."""
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=4, mtime=0)).decode()


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


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
