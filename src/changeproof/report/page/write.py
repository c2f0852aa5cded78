"""The page: its sections in order, everything that they show, and one file that holds it all.

A section is a line of `SECTIONS` and a function that returns its parts; see `parts`.
"""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import jinja2
from markupsafe import Markup, escape
from plotly.offline import get_plotlyjs

from changeproof.report.charts import SHAPES, for_page, stylesheet
from changeproof.report.page.changes import change_section, scatter_words, variant_survival
from changeproof.report.page.embedding import ASSETS, as_json, asset, embedded
from changeproof.report.page.groups import group_section
from changeproof.report.page.guarantees import guarantee_section
from changeproof.report.page.letters import letter_section
from changeproof.report.page.life import about_sequences, life_section
from changeproof.report.page.parts import Part, Source
from changeproof.report.page.people import advice_section, people, person_section
from changeproof.report.page.provenance import run_section
from changeproof.report.page.rankings import answer_section, ranking_section
from changeproof.report.page.robustness import family_section, hidden_section, price_section
from changeproof.report.page.times import published_section, time_section
from changeproof.report.verdict import verdict
from changeproof.runs.results import StoredResults
from changeproof.tables.display import Tables, listed
from changeproof.tables.names import dataset_name, method_name, short_family

MOST_MISSING = 200
FILE = "index.html"
SCRIPTS = ("core", "charts", "parts", "answer", "survival", "person", "printing")


class Section(NamedTuple):
    """A section: its address, its name in the navigation, its title, how it begins, and its parts.

    `parts` returns None where a run has nothing of the kind.
    """

    id: str
    name: str
    title: str
    intro: str
    parts: Callable[[Source], list[Part] | None]


SECTIONS = (
    Section(
        "letters",
        "Letters",
        "The letters that are out",
        "People were told what to change, and then the model changed. Here is the model that "
        "really came next, put to the same letters, beside the models that were simulated.",
        letter_section,
    ),
    Section(
        "answer",
        "Answer",
        "The answer first",
        "Choose the data and the change that you expect next. Methods are ranked by end-to-end "
        "robustness: of all people who ask, the percentage who get a CFE that still holds "
        "afterwards.",
        answer_section,
    ),
    Section(
        "families",
        "By family",
        "Robustness by family of change",
        "Empirical robustness: of the CFEs that the base model accepts, the percentage that a "
        "changed model still accepts.",
        family_section,
    ),
    Section(
        "hidden",
        "What scores hide",
        "What the score hides",
        "Empirical robustness looks only at CFEs that the base model accepts. Coverage says how "
        "many people got a CFE at all. End-to-end robustness counts everybody who asked: those who "
        "got no valid CFE count as not helped.",
        hidden_section,
    ),
    Section(
        "price",
        "Price",
        "The price",
        "A CFE that asks for more tends to survive more changes, but is harder to act on. "
        "Distance is the mean change per feature, in typical deviations of that feature; a change "
        "of category counts 1.",
        price_section,
    ),
    Section(
        "life",
        "How long",
        "How long does it last?",
        "A CFE is given once. Then the model is updated, and updated again, each time from where "
        "the last update left it. A CFE lasts until the first update that no longer accepts it. "
        "There are many such futures.",
        life_section,
    ),
    Section(
        "changes",
        "Size of changes",
        "How big the changes were",
        "Compared with the base model on the test rows: the share of predictions that flip, and "
        "the mean absolute difference of the predicted probabilities.",
        change_section,
    ),
    Section(
        "guarantees",
        "Guarantees",
        "Do guarantees transfer?",
        "Some methods certify their CFEs for one kind of change. Here is what they promise, and "
        "what happened under that change and under all others.",
        guarantee_section,
    ),
    Section(
        "rankings",
        "Rankings",
        "Do rankings hold?",
        "The methods ranked by end-to-end robustness, under each family separately. If it did "
        "not matter how the model changes, all columns would be the same.",
        ranking_section,
    ),
    Section(
        "groups",
        "Groups",
        "Who is let down?",
        "The same numbers for groups of people: who gets advice, how often it still holds, and "
        "how far it asks them to go. Small groups are not shown.",
        group_section,
    ),
    Section(
        "advice",
        "Advice",
        "What people are told",
        "Advice must be something that a person can do. This is what the answers ask of people.",
        advice_section,
    ),
    Section(
        "person",
        "A person",
        "A person",
        "What each method tells one person to change, in the units of the data, and how many "
        "changed models would still accept that. In brackets: the size of a change, in typical "
        "deviations of that feature, or 1 for a change of category. Recommended is the shortest "
        "advice that today's model accepts, that the person can follow, and that is known to hold "
        "in at least 95 % of the changed models, by its 95 % interval.",
        person_section,
    ),
    Section(
        "time",
        "Time",
        "Time",
        "Time to generate one CFE. Methods answer whole batches; the time of a batch is divided "
        "evenly among its requests.",
        time_section,
    ),
    Section("published", "Published", "The published numbers beside ours", "", published_section),
    Section("run", "Run", "What was run", "", run_section),
)


def page_of(results: StoredResults, tables: Tables) -> bytes:
    """Return the page of a run; of an unfinished run, by the tables of what is finished."""
    return render(build_payload(results, tables), build_bulk(results)).encode()


def render(payload: dict[str, Any], bulk: list[dict[str, Any]]) -> str:
    """Return the page as HTML; whatever names it holds are text."""
    pages = jinja2.Environment(loader=jinja2.FileSystemLoader(ASSETS), autoescape=True)
    pages.filters["options"] = _options
    shapes = {shape.plotly: shape.path for shape in SHAPES}
    return pages.get_template("page.html").render(
        style=Markup(f"{stylesheet()}\n{asset('page.css')}"),
        verdict=payload["verdict"],
        scope=payload["scope"],
        sections=[section for section in SECTIONS if section.id in payload["sections"]],
        data=Markup(embedded({**payload, "shapes": shapes})),
        packed=Markup(embedded([packed(text) for text in (get_plotlyjs(), *map(as_json, bulk))])),
        script=Markup("\n".join(asset(f"{name}.js") for name in SCRIPTS)),
    )


def _options(text: str) -> Markup:
    """Mark options of the command line, so that no line ends inside of one."""
    return Markup(re.sub(r"(?<![\w-])--[a-z][a-z-]*", r"<code>\g<0></code>", str(escape(text))))


def packed(text: str) -> str:
    """Return text, compressed and in letters; the page unpacks it when it is asked for."""
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=4, mtime=0)).decode()


def build_payload(results: StoredResults, tables: Tables) -> dict[str, Any]:
    """Return what the page shows at once; see `build_bulk` for what it unpacks later."""
    source = Source(results, tables)
    plan, shown = source.plan, source.shown
    found = {section.id: section.parts(source) for section in SECTIONS}
    counts = [
        _counted(len(plan.datasets), "dataset", "datasets"),
        _counted(len(plan.methods), "method", "methods"),
        f"{_counted(len(plan.families), 'family', 'families')} of change",
        f"{_counted(len(plan.base_seeds), 'base model', 'base models')} per dataset.",
    ]
    scope = ", ".join(counts)
    return {
        "verdict": verdict(results, tables).as_dict(),
        "scope": scope[0].upper() + scope[1:],
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
        "averaged": [plan.families.index(family) for family in results.counting_families],
        "sections": {name: parts for name, parts in found.items() if parts is not None},
    }


def _counted(number: int, one: str, many: str) -> str:
    return f"one {one}" if number == 1 else f"{number} {many}"


def build_bulk(results: StoredResults) -> list[dict[str, Any]]:
    """Return, for every dataset of the plan, all people and all changed models."""
    plan = results.shown
    bulk = []
    for dataset in plan.datasets:
        points = variant_survival(results, dataset)
        words = [] if points is None else scatter_words(points, plan)
        bulk.append({"people": people(results, dataset), "variants": points, "words": words})
    return bulk


def state(results: StoredResults, tables: Tables) -> dict[str, Any]:
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
        notes.append(f"Continue with: changeproof run --out {results.folder}")
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
