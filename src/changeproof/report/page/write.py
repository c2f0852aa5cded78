"""The page: everything that its sections show, in one file that holds it all; see `kinds`."""

from __future__ import annotations

import base64
import gzip
import re
from typing import Any

import jinja2
from markupsafe import Markup, escape
from plotly.offline import get_plotlyjs

from changeproof.report.charts import SHAPES, for_page, stylesheet
from changeproof.report.page.changes import scatter_words, variant_survival
from changeproof.report.page.embedding import ASSETS, as_json, asset, embedded
from changeproof.report.page.kinds import PAGES, kind_of
from changeproof.report.page.parts import Source
from changeproof.report.page.people import people
from changeproof.report.page.state import missing_notes, state
from changeproof.report.verdict import verdict
from changeproof.runs.results import StoredResults
from changeproof.tables.display import Tables
from changeproof.tables.names import short_family

FILE = "index.html"
SCRIPTS = ("core", "charts", "parts", "answer", "survival", "person", "printing")


def page_of(results: StoredResults, tables: Tables) -> bytes:
    """Return the page of a run; of an unfinished run, by the tables of what is finished."""
    return render(build_payload(results, tables), build_bulk(results)).encode()


def render(payload: dict[str, Any], bulk: list[dict[str, Any]]) -> str:
    """Return the page as HTML; whatever names it holds are text."""
    pages = jinja2.Environment(loader=jinja2.FileSystemLoader(ASSETS), autoescape=True)
    pages.filters["options"] = _options
    shapes = {shape.plotly: shape.path for shape in SHAPES}
    kind = PAGES[payload["kind"]]
    return pages.get_template("page.html").render(
        style=Markup(f"{stylesheet()}\n{asset('page.css')}"),
        scope=payload["scope"],
        title=payload["title"],
        subject=payload["subject"],
        kind=kind,
        lines=kind.lines(payload["verdict"]),
        sections=[section for section in kind.sections if section.id in payload["sections"]],
        folded=[section for section in kind.folded if section.id in payload["sections"]],
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
    plan, shown, kind = source.plan, source.shown, kind_of(source.plan)
    found = {each.id: each.parts(source) for each in (*kind.sections, *kind.folded)}
    subject = kind.subject(plan)
    each = " per dataset" if len(plan.datasets) > 1 else ""
    counts = [
        _counted(len(plan.datasets), "dataset", "datasets"),
        _counted(len(plan.methods), "method", "methods"),
        f"{_counted(len(plan.families), 'family', 'families')} of change",
        f"{_counted(len(plan.base_seeds), 'base model', 'base models')}{each}.",
    ]
    scope, missing = ", ".join(counts), missing_notes(results, tables)
    return {
        "kind": kind.name,
        "subject": subject,
        "title": f"{subject} | changeproof audit" if subject else "changeproof report",
        "verdict": verdict(results, tables).as_dict(),
        "scope": scope[0].upper() + scope[1:],
        # An audit tells what is to be known of its numbers where they are explained.
        "state": {**state(results, tables), **({"notes": missing} if subject else {})},
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
