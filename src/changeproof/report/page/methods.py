"""What each method gives people, and how that was tested: the end of an audit."""

from __future__ import annotations

from changeproof.evaluation.bar import LEAST_PERCENT
from changeproof.report.page.parts import NOT_YET, Part, Source, heading, muted, nothing, table
from changeproof.report.page.state import notes_of
from changeproof.tables.display import UNDEFINED
from changeproof.tables.people import ANY

COLUMNS = ("method", "ask", "advised", "holds for", "surely for", "on average (%)", "distance")
MEANING = (
    "Ask: people whom today's model decides against. Advised: those who get advice that it "
    f"accepts. Holds for: those whose advice also holds in at least {LEAST_PERCENT} % of the "
    "changed models; surely for: where the 95 % interval over changed models says so. On "
    "average: the share of changed models in which advice holds that today's model accepts. "
    "Distance: the mean change per feature, in typical deviations of that feature; a change of "
    "category counts 1."
)
BEST_FOR_EACH = "the best for each person"


def method_section(source: Source) -> list[Part]:
    """Return a row per method, in the order of the verdict, and what is to be known of the test."""
    return [*_by_method(source), *_how(source)]


def _by_method(source: Source) -> list[Part]:
    (dataset,) = source.plan.datasets
    plan, scores, bars = source.plan, source.scores, source.scores.bars(dataset)
    methods = [plan.methods[place] for place in scores.best_first(dataset, plan.methods)]
    if not methods:
        return nothing(NOT_YET)
    rows = [
        [source.shown.name(method), *bars[method]]
        + [_text(source, metric, method, digits) for metric, digits in SPREADS.items()]
        for method in methods
        if method in bars
    ]
    if len(rows) > 1:
        rows.append([BEST_FOR_EACH, *bars[ANY], "", ""])
    return [table("What each method gives", COLUMNS, rows), muted(MEANING)]


SPREADS = {"empirical_robustness": 1, "distance": 2}


def _text(source: Source, metric: str, method: str, digits: int) -> str:
    mean = source.scores.of(metric, source.plan.datasets[0], method).mean
    return UNDEFINED if mean is None else f"{mean:.{digits}f}"


def _how(source: Source) -> list[Part]:
    """Return what is to be known of how this was tested."""
    told = notes_of(source.results, source.tables)
    if len(source.plan.base_seeds) > 1:
        told.insert(0, source.meaning(source.plan.datasets))
    return [heading("How to read these numbers"), {"list": told, "id": "notes"}] if told else []
