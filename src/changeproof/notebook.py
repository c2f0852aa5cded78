"""What a run shows of itself in a notebook: the verdict, its charts, a person, a gate.

Words and numbers are those of page and terminal, from the same functions. HTML has no script, no
style sheet and no address in it: all of it is in the notebook. Colours of text are the notebook's
own, so it can be read in dark themes, too; charts stand on white.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Generic, NamedTuple, TypeVar

import pandas as pd

from changeproof.errors import unknown
from changeproof.explanation import (
    Explanation,
    advice_sentences,
    best_first,
    comparison_lines,
    explain_all,
    explanation_lines,
    holding_words,
    lasting_lines,
    other_lines,
    recommendation,
    rejection_lines,
    rule_lines,
    takes_about,
    unknown_lines,
)
from changeproof.gating.judging import Gate
from changeproof.gating.writing import MARKS, decisive_words
from changeproof.gating.writing import words as gate_lines
from changeproof.report.charts import Chart
from changeproof.report.page.changes import magnitude
from changeproof.report.page.life import curves
from changeproof.report.page.parts import Source
from changeproof.report.page.robustness import decomposition, heat_map, price
from changeproof.report.recommendation import Recommendation
from changeproof.report.verdict import Verdict
from changeproof.runs.results import StoredResults
from changeproof.tables.display import Tables
from changeproof.tables.names import in_order

# The chart that says most, by the name that it has on the page.
MAIN = "families"
# So many inches wide, a single panel and several, so many of them side by side.
NARROW, WIDE, COLUMNS = 4.8, 6.9, 2
# So many rows of a chart's data as text.
ROWS = 24
FRAME = "max-width: 62em; line-height: 1.45;"
CARD = "border: 1px solid rgba(128, 128, 128, .5); border-radius: 6px; padding: .4em .9em;"
PAPER = "max-width: 100%; background: #fff; border-radius: 6px; padding: 6px;"
NEAR = "margin: .5em 0;"
SMALL = "opacity: .8; font-size: .92em;"
BAR = "display: inline-block; height: .6em; background: #4f94c4;"
CELL = "text-align: left; padding: .15em .8em .15em 0;"
T = TypeVar("T")


@dataclass(frozen=True, eq=False, repr=False)
class View(Generic[T]):
    """A part of a run that shows itself: as text in a terminal, as HTML in a notebook.

    Attributes
    ----------
    found
        What is shown, as an object.
    text
        The same in words.
    write
        What makes HTML of the object.
    """

    found: T
    text: str
    write: Callable[[T], str]

    @property
    def html(self) -> str:
        """The same as HTML, which needs no other file."""
        return f'<div class="changeproof" style="{FRAME}">{self.write(self.found)}</div>'

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.html


class Person(NamedTuple):
    """What several methods told a person, and whose advice is recommended."""

    explanations: tuple[Explanation, ...]
    recommendation: Recommendation


def verdict_view(found: Verdict) -> View[Verdict]:
    """Return the verdict of a run."""
    return View(found, "\n".join(found.lines), verdict_html)


def verdict_html(found: Verdict) -> str:
    """Return a verdict as paragraphs: the sentence that says most in bold."""
    judged = [paragraph(found.judged)] if found.judged else []
    notes = [paragraph(note) for note in found.notes]
    findings = []
    for each in found.findings:
        bold = f"<b>{escape(each.headline)}</b>"
        _, _, rest = each.sentence.partition(each.headline)
        findings.append(f'<p style="{NEAR}">{bold}{escape(rest)}</p>')
    about = [paragraph(words, SMALL) for words in (found.about, found.simulated)]
    return "\n".join([*judged, *notes, *findings, *about, paragraph(found.not_simulated, SMALL)])


def charts_of(results: StoredResults, tables: Tables) -> dict[str, Chart]:
    """Return the charts of a run by the names that they have on the page."""
    source = Source(results, tables)
    scores, shown, unchanged = source.scores, source.shown, results.unchanged
    found = {}
    if source.present:
        found = {
            MAIN: heat_map(scores, shown, unchanged, source.meaning(source.present)),
            "hidden": decomposition(scores, shown),
            "price": price(scores, shown, tables),
        }
    if len(lives := tables.get("life", pd.DataFrame())):
        for number, family in enumerate(in_order(lives["family"]), start=1):
            found["life" if number == 1 else f"life-{number}"] = curves(tables, family, shown)
    if len(tables["change_magnitude"]):
        found["magnitude"] = magnitude(tables, shown)
    return found


def chart_view(results: StoredResults, tables: Tables, name: str) -> View[Chart]:
    """Return a chart of a run."""
    charts = charts_of(results, tables)
    if name not in charts:
        raise unknown("chart", name, charts)
    return View(charts[name], chart_text(charts[name]), chart_html)


def chart_text(chart: Chart) -> str:
    """Return what a chart shows, in words and numbers."""
    table = pd.DataFrame(chart.rows, columns=list(chart.columns)).dropna(axis=1, how="all")
    shown = table.to_string(index=False, max_rows=ROWS, float_format=lambda value: f"{value:.2f}")
    return "\n".join(filter(None, (chart.title, chart.words, shown)))


def chart_html(chart: Chart) -> str:
    """Return a chart as a picture that stands in the page itself."""
    from changeproof.report.figures import draw, encoded  # matplotlib, when it is needed

    figure = draw(chart, COLUMNS, NARROW if len(chart.panels) == 1 else WIDE)
    picture = base64.b64encode(encoded(figure, "svg")).decode()
    words = f"{chart.title}. {chart.words}"
    return (
        f"<p><b>{escape(chart.title)}</b></p>\n"
        f'<img style="{PAPER}" alt="{escape(words)}" src="data:image/svg+xml;base64,{picture}">\n'
        + (paragraph(chart.words) if chart.words else "")
    )


def person_view(
    results: StoredResults,
    person: object,
    methods: Sequence[str] | None,
    dataset: str | None,
    language: str | None,
) -> View[Person]:
    """Return what methods told one person, and which advice to follow."""
    answers = explain_all(results, person, methods, dataset, language)
    found = Person(tuple(answers), recommendation(answers))
    task = results.task(answers[0].dataset)
    one = len(answers) == 1
    lines = (
        explanation_lines(answers[0], task)
        if one
        else comparison_lines(answers, found.recommendation, task)
    )

    def write(found: Person) -> str:
        first = found.explanations[0]
        parts = [f"<p><b>{escape(f'For {first.person} on {first.dataset}')}</b></p>"]
        parts += [lines_html(each) for each in (rejection_lines(first), unknown_lines(first, task))]
        if not one:
            parts.append(f"<p><b>{escape(found.recommendation.sentence)}</b></p>")
        best = found.recommendation.method
        for each in best_first(found.explanations, found.recommendation):
            parts.append(card(each, recommended=not one and each.method == best, whole=one))
        parts.append(lines_html(rule_lines(task, found.explanations)))
        return "\n".join(parts)

    return View(found, "\n".join(lines), write)


def card(answer: Explanation, *, recommended: bool, whole: bool) -> str:
    """Return what one method told a person: the advice, and how often it holds by family."""
    title = answer.method + (" (recommended)" if recommended else "")
    parts = [f"<b>{escape(title)}</b>", paragraph(" ".join(advice_sentences(answer)))]
    if answer.counterfactual is not None:
        parts.append(paragraph(holding_words(answer)))
        if answer.months is not None:
            parts.append(paragraph(f"{takes_about(answer.months)}."))
        parts += [lines_html(each) for each in (lasting_lines(answer), other_lines(answer))]
        rows = "".join(
            f'<tr><td style="{CELL}">{escape(each.family)}</td>'
            f'<td style="{CELL}">{each.held} of {each.models}</td>'
            f'<td style="{CELL}">{bar(each.share)}</td></tr>'
            for each in (*answer.families, answer.overall)
        )
        counts = f'<table style="margin: .3em 0;">{rows}</table>'
        opened = " open" if recommended or whole else ""
        parts.append(f"<details{opened}><summary>By family of change</summary>{counts}</details>")
    return f'<div style="{CARD} margin: .5em 0;">{"".join(parts)}</div>'


def bar(share: float) -> str:
    """Return a bar for a share; nothing where it is undefined."""
    return "" if share != share else f'<span style="{BAR} width: {8 * share:.2f}em;"></span>'


def gate_view(found: Gate) -> View[Gate]:
    """Return the answers of a gate."""
    return View(found, "\n".join(gate_lines(found)), gate_html)


def gate_html(found: Gate) -> str:
    """Return a row for each rule, and what they come to."""
    rows = "".join(
        f'<tr><td style="{CELL} white-space: nowrap;"><b>{MARKS[each.answer]} {each.answer}</b>'
        f'</td><td style="{CELL}">{escape(each.title)}</td>'
        f'<td style="{CELL}">{escape(decisive_words(each))}</td></tr>'
        for each in found.outcomes
    )
    return f"<table>{rows}</table>\n{paragraph(gate_lines(found)[-1])}"


def run_html(found: Verdict, charts: dict[str, Chart], tables: str) -> str:
    """Return a run at a glance: its verdict, its main chart, and its tables folded."""
    chart = [chart_html(charts[MAIN])] if MAIN in charts else []
    folded = [f"<details><summary>Tables</summary>{tables}</details>"] if tables else []
    content = "\n".join([verdict_html(found), *chart, *folded])
    return f'<div class="changeproof" style="{FRAME}">{content}</div>'


def paragraph(words: str, style: str = "") -> str:
    return f'<p style="{NEAR} {style}">{escape(words)}</p>'


def lines_html(lines: Iterable[str]) -> str:
    """Return lines of a terminal as one paragraph; nothing where there is none."""
    shown = "<br>".join(escape(line.strip()) for line in lines)
    return f'<p style="{NEAR}">{shown}</p>' if shown else ""
