"""What a run shows in a notebook is what page and terminal say; names are text."""

from __future__ import annotations

import base64
import re
import shutil
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

import changeproof as cp
from changeproof import InputError, Results
from changeproof.cli import app
from changeproof.gating.writing import words as gate_lines
from changeproof.report.charts import for_page
from changeproof.report.page.write import build_payload
from paged import parts

RULES = [
    {"name": "nearly everybody", "metric": "coverage", "at_least": 99},
    {"metric": "end_to_end_robustness", "at_least": 5, "method": "any", "decided_by": "value"},
]
# What a notebook may be shown without running anything or asking anybody.
PLAIN = {"div", "p", "b", "br", "img", "details", "summary", "table", "tr", "td", "span"}
PLAIN |= {"thead", "tbody", "th"}


class Shown(HTMLParser):
    """The text and the elements of a piece; a mistake in nesting is an error."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self.tags, self.open = "", set[str](), list[str]()
        self.attributes: list[tuple[str, str]] = []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in ("img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    @property
    def words(self) -> str:
        return " ".join(self.text.split())


def shown(html: str) -> Shown:
    """Read a piece: no script, no style sheet, no address, and colours for dark themes, too."""
    found = Shown(html)
    assert found.tags <= PLAIN
    for name, value in found.attributes:
        assert not name.startswith("on") and name != "href"
        assert name != "src" or value.startswith("data:image/svg+xml;base64,")
        # A background only where the text on it is a part of a picture, or there is none.
        assert not re.search(r"(?<!-)\bcolor:", value)
    return found


def one_line(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def results(advised_run: Results) -> Results:
    return advised_run


def test_the_verdict_is_that_of_page_and_terminal(results: Results) -> None:
    view = results.verdict()
    payload = build_payload(results, results.tables())["verdict"]
    assert repr(view) == str(results)
    assert view.found.as_dict() == payload
    words = shown(view._repr_html_()).words
    assert words == one_line(repr(view))
    assert f"<b>{view.found.findings[0].headline}</b>" in unescape(view.html)


@pytest.mark.parametrize(
    ("name", "section"), [("families", "families"), ("hidden", "hidden"), ("price", "price")]
)
def test_charts_are_those_of_the_page(results: Results, name: str, section: str) -> None:
    view = results.chart(name)
    (on_page,) = parts(build_payload(results, results.tables()), section, "chart")
    assert for_page(view.found) == on_page["chart"]
    found = shown(view.html)
    assert found.words == one_line(f"{view.found.title} {view.found.words}")
    (picture,) = (value for key, value in found.attributes if key == "src")
    svg = base64.b64decode(picture.partition(",")[2]).decode()
    assert svg.startswith("<?xml") and "<script" not in svg and 'xlink:href="http' not in svg
    assert len(view.html) < 120_000
    assert view.found.words in repr(view)


def test_the_numbers_of_a_chart_are_in_its_text(results: Results) -> None:
    row = results.table("family_results").iloc[0]
    (line,) = (
        line
        for line in repr(results.chart()).splitlines()
        if {row["method"], row["family"]} <= set(line.split())
    )
    assert f"{row['empirical_robustness_mean']:.2f}" in line
    with pytest.raises(InputError, match=r"unknown chart 'heat'.* families, hidden, price"):
        results.chart("heat")


def test_a_person_is_told_what_the_terminal_says(results: Results) -> None:
    person = results.survival()["id"].iloc[3]
    view = results.person(person)
    done = CliRunner().invoke(app, ["explain", "--from", str(results.folder), "--row", str(person)])
    assert done.exit_code == 0, done.output
    assert done.stdout.endswith(f"{view}\n")
    found = shown(view.html)
    assert view.found.recommendation == cp.recommend(results, person)
    assert view.found.recommendation.sentence in found.words
    for answer in view.found.explanations:
        if answer.counterfactual is None:
            assert f"No advice: {answer.why_not}." in found.words
            continue
        assert f"{answer.overall.held} of {answer.overall.models} changed models" in found.words
        for sentence in answer.advice[:5]:
            assert f"{sentence}." in found.words
        for each in (*answer.families, answer.overall):
            assert f"{each.family}{each.held} of {each.models}" in found.words
    # Every line of the terminal but the first is in the notebook as well.
    for line in repr(view).splitlines()[1:]:
        assert one_line(line) in found.words, line


def test_one_method_of_a_person_is_told_in_full(results: Results) -> None:
    person = results.survival()["id"].iloc[0]
    view = results.person(person, ["rbr"])
    arguments = ["--row", str(person), "--methods", "rbr"]
    done = CliRunner().invoke(app, ["explain", "--from", str(results.folder), *arguments])
    assert done.stdout.endswith(f"{view}\n")
    assert "Recommended" not in view.html and view.html.count("<details open>") == 1
    with pytest.raises(InputError, match="no row has the id 'nobody'"):
        results.person("nobody")


def test_a_gate_shows_its_own_lines(results: Results) -> None:
    view = results.gate(RULES)
    assert view.found == cp.gate(results.folder, RULES)
    assert repr(view).splitlines() == gate_lines(view.found)
    words = shown(view.html).words
    for outcome in view.found.outcomes:
        assert f"{outcome.answer}{outcome.title}" in words
    assert words.endswith(gate_lines(view.found)[-1])


def test_a_run_shows_its_verdict_its_main_chart_and_its_tables(results: Results) -> None:
    html = results._repr_html_()
    words = shown(html).words
    assert words.startswith(one_line(str(results)))
    assert html.count("<img") == 1 and results.chart().found.title in words
    assert html.index("<img") < html.index("<summary>Tables")
    assert html.count("<table") > 5


def test_whatever_is_in_a_name_is_text(tmp_path: Path) -> None:
    evil = '<script>alert("1")</script>&amp;<img src=x onerror=alert(1)>'
    generator = np.random.default_rng(3)
    rows = 90
    frame = pd.DataFrame(
        {
            evil: generator.normal(0, 1, rows).round(2),
            "kind": generator.choice(["a", f"'{evil}"], rows),
            "id": [f"{evil}{number}" for number in range(rows)],
        }
    )
    frame["ok"] = np.where(frame[evil] + generator.normal(0, 0.3, rows) > 0, "yes", "no")
    results = cp.evaluate(
        frame,
        LogisticRegression(),
        ["kdtree", "nearest-row"],
        ["bootstrap(replicates=2)"],
        factuals=3,
        jobs=1,
        target="ok",
        favourable="yes",
        id_column="id",
        name="data",
        actions={evil: {"reason": evil}},
    )
    person = results.survival()["id"].iloc[0]
    named = [{"name": evil, "metric": "coverage", "at_least": 99}]
    for html in (results._repr_html_(), results.person(person).html, results.gate(named).html):
        assert "<script" not in html and "<img src=x" not in html
        assert shown(html).words
    assert evil in unescape(results.person(person).html)
    assert evil in unescape(results.gate(named).html)


def test_an_unfinished_run_shows_what_there_is(results: Results, tmp_path: Path) -> None:
    shutil.copytree(results.folder, tmp_path / "run", ignore=shutil.ignore_patterns("tables"))
    for path in (tmp_path / "run" / "pieces").rglob("survival-*"):
        path.unlink()
    html = Results(tmp_path / "run")._repr_html_()
    assert "So far, nothing is finished yet." in html
    assert "<img" not in html and shown(html).words
