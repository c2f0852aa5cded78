"""The page in a real browser: Debian's Chromium, without a window."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from playwright.sync_api import Browser, Page, Request, expect, sync_playwright

from advised import RULES, advised, in_groups
from changeproof import Plan, Results, build_tables, evaluate, explain_all, load_task, recommend
from changeproof.datasets.recourse import MOST_CHANGES, Wording
from changeproof.evaluation.fragility import fragile_picks
from changeproof.report.charts import Shown
from changeproof.report.page import people as listed_people
from changeproof.report.page.parts import chart
from changeproof.report.page.robustness import price
from changeproof.report.page.write import build_bulk, build_payload, render
from changeproof.report.scores import Scores
from changeproof.tables.names import method_name
from changeproof.tables.registry import read_tables
from changeproof.workflow import run
from lasting import CHAIN, lasting
from loans import loans

CHROMIUM = shutil.which("chromium")
REQUIRED = os.environ.get("CHANGEPROOF_REQUIRE_BROWSER") == "1"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
pytestmark = pytest.mark.skipif(
    CHROMIUM is None and not REQUIRED,
    reason="no chromium here: apt-get install chromium "
    "(CHANGEPROOF_REQUIRE_BROWSER=1 makes this an error)",
)
PATIENCE = 5_000.0
CONTROLS = "a[href], button, select, summary, [tabindex='0']"
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert CHROMIUM is not None, "CHANGEPROOF_REQUIRE_BROWSER=1, but there is no chromium"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    """One tab for all tests: what its process has compiled of the page's scripts is kept."""
    context = browser.new_context(offline=True)
    # What is not there by then does not come; to open a page may take longer on a busy machine.
    context.set_default_timeout(PATIENCE)
    context.set_default_navigation_timeout(6 * PATIENCE)
    yield context.new_page()
    context.close()


@pytest.fixture
def show(tab: Page) -> Iterator[Open]:
    """Open a page; at the end there must have been no request and nothing on the console."""
    asked: set[str] = set()
    trouble: list[str] = []

    def requested(request: Request) -> None:
        address = request.url
        if address.split("#")[0] not in asked and not address.startswith(("blob:", "data:")):
            trouble.append(f"request: {address}")

    listeners: dict[Any, Callable[[Any], None]] = {
        "console": lambda message: trouble.append(f"console: {message.text}"),
        "pageerror": lambda error: trouble.append(f"error: {error}"),
        "request": requested,
    }

    def show(path: Path, width: int = 1400, scheme: Any = "light") -> Page:
        tab.set_viewport_size({"width": width, "height": 900})
        tab.emulate_media(color_scheme=scheme)
        own = path.resolve().as_uri()
        asked.add(own)
        tab.goto(own)
        tab.wait_for_selector("html[data-ready]")
        return tab

    for event, listener in listeners.items():
        tab.on(event, listener)
    yield show
    for event, listener in listeners.items():
        tab.remove_listener(event, listener)
    tab.mouse.move(0, 0)
    tab.goto("about:blank")
    assert trouble == []


@pytest.fixture(scope="module")
def written(quick_run: Results) -> Path:
    return quick_run.folder / "report" / "index.html"


@pytest.fixture(scope="module")
def content(quick_run: Results) -> str:
    """What the page shows, as JSON."""
    results = quick_run
    payload = build_payload(results, read_tables(quick_run.folder))
    return json.dumps([payload, build_bulk(results)])


def draw_everything(page: Page) -> None:
    """Open what is folded and go down the page, so that every chart comes near."""
    folded = "section.folded > details"
    page.eval_on_selector_all(folded, "all => all.forEach(each => { each.open = true; })")
    for figure in page.locator("figure").all():
        figure.scroll_into_view_if_needed()
    page.wait_for_function("page.waiting.size === 0 && page.unpacked.size > 0")


def sections(page: Page) -> list[str]:
    return page.eval_on_selector_all("main > section", "all => all.map(each => each.id)")


def test_opens_fast_and_every_figure_is_drawn_named_and_explained(
    show: Open, written: Path
) -> None:
    page = show(written)
    timing = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    assert timing < 3000
    assert page.evaluate("performance.getEntriesByType('resource').length") == 0
    assert written.stat().st_size < 12e6
    draw_everything(page)
    figures = page.locator("figure").all()
    assert len(figures) == 10
    for figure in figures:
        assert figure.locator(".plot .main-svg").count() > 0
        assert figure.locator("[role=img]").get_attribute("aria-label")
        assert len(figure.locator(".words").inner_text()) > 30
        assert figure.get_by_role("button", name="as CSV").count() == 1
    ids = page.eval_on_selector_all("[id]", "all => all.map(each => each.id)")
    assert len(ids) == len(set(ids))


def test_answer_follows_the_choices_and_has_the_numbers_of_the_csv(
    show: Open, written: Path, quick_run: Results
) -> None:
    page = show(written)
    tables = read_tables(quick_run.folder)
    rows = tables["family_results"].query("dataset == 'diabetes' and family == 'bootstrap'")
    rows = rows.assign(shown=rows["method"].map(method_name))
    before = page.locator("#sentence").inner_text()
    page.select_option("#choose-dataset", label="Diabetes")
    options = page.locator("#choose-change option").all_inner_texts()
    page.select_option("#choose-change", index=next(
        i for i, text in enumerate(options) if text.startswith("Bootstrap")
    ))  # fmt: skip
    sentence = page.locator("#sentence").inner_text()
    assert sentence != before
    assert sentence.startswith("After retraining on a bootstrap sample of the training rows, ")
    best = rows.sort_values("end_to_end_robustness_mean", ascending=False, kind="stable")
    expect(page.locator("#ranking-intervals")).to_contain_text("95 % intervals are over people")
    shown = page.locator("#ranking tbody tr").all()
    assert len(shown) == len(rows)
    values = [line.locator(".value").all_inner_texts() for line in shown]
    assert [v[0] for v in values] == [f"{v:.1f}" for v in best["end_to_end_robustness_mean"]]
    for line, cells in zip(shown, values, strict=True):
        row = rows.set_index("shown").loc[line.get_by_role("button").inner_text()]
        assert cells[1] == f"{row['empirical_robustness_mean']:.1f}"
        assert cells[2] == f"{row['coverage_mean']:.1f}"
        assert cells[3] == f"{row['distance_mean']:.3f}"
    marked = {
        line.get_by_role("button").inner_text() for line in shown if line.locator(".badge").count()
    }
    points = rows.set_index("shown")[["end_to_end_robustness_mean", "distance_mean"]]
    beaten = {
        name
        for name, (robust, far) in zip(points.index, points.to_numpy(), strict=True)
        if any(r >= robust and d <= far and (r, d) != (robust, far) for r, d in points.to_numpy())
    }
    assert marked == set(points.index) - beaten
    page.get_by_role("button", name="Wachter").click()
    assert "by Wachter" in page.locator("#sentence").inner_text()


def test_charts_tables_and_downloads_are_the_csv_files(
    show: Open, written: Path, quick_run: Results
) -> None:
    page = show(written)
    plan, tables = quick_run.plan, read_tables(quick_run.folder)
    figure = page.locator("#families-figure")
    figure.scroll_into_view_if_needed()
    page.wait_for_selector("#families-figure .main-svg")
    drawn = page.eval_on_selector_all(
        "#families-figure .plot", "plots => plots.map(plot => plot.data[0].z)"
    )
    results = tables["family_results"].set_index(["dataset", "method", "family"])
    robustness = results["empirical_robustness_mean"]
    for dataset, panel in zip(plan.datasets, drawn, strict=True):
        for method, line in zip(plan.methods, panel, strict=True):
            assert line == [robustness[dataset, method, family] for family in plan.families]
    with page.expect_download() as download:
        figure.get_by_role("button", name="as CSV").click()
    text = download.value.path().read_text()
    assert download.value.suggested_filename == "changeproof-families.csv"
    lines = list(csv.DictReader(io.StringIO(text)))
    assert len(lines) == len(results)
    for line in lines:
        key = (line["dataset"], line["method"], line["family"])
        assert float(line["mean"]) == robustness[key]
    figure.locator("summary").click()
    figure.locator("tbody tr").first.wait_for()
    cells = figure.locator("tbody tr").first.locator("td").all_inner_texts()
    assert cells[:3] == [lines[0]["dataset"], lines[0]["method"], lines[0]["family"]]
    assert cells[3] == lines[0]["mean"]


def test_person_view_follows_the_choices(show: Open, written: Path, quick_run: Results) -> None:
    page = show(written)
    page.locator("#person").scroll_into_view_if_needed()
    page.wait_for_selector("#person-dataset")
    page.select_option("#person-dataset", label="Diabetes")
    answers = quick_run.counterfactuals("diabetes", 2026, "kdtree")
    row = f"row {answers.row_ids[3]}"
    page.wait_for_function(f"document.querySelector('#person-row')?.textContent.includes('{row}')")
    page.select_option("#person-row", label=row)
    page.wait_for_function(f"document.querySelector('#person-shown').textContent.includes('{row}')")
    card = page.locator(".card[data-method='kdtree']")
    task = load_task("diabetes")
    expected = [str(each) for each in Wording(task).changes(answers.factuals[3], answers.rows[3])]
    if card.locator("summary").count():
        card.locator("summary").click()
    # The rest of a long list is built when its "toggle" event comes, after the click returned.
    expect(card.locator("li")).to_have_count(len(expected))
    said = [re.sub(r" \([^)]*\)$", "", text) for text in card.locator("li").all_inner_texts()]
    assert said == expected
    assert f"the mean over 8 features; {len(expected)} of them change." in card.inner_text()
    survived = quick_run.survival("diabetes", 2026, "kdtree")[3]
    assert f"{survived.sum()} of 200 changed models" in card.inner_text()
    counts = card.locator("dd").all_inner_texts()
    assert counts == [f"{survived[i : i + 25].sum()} of 25" for i in range(0, 200, 25)]
    page.locator("#person-next").focus()
    page.keyboard.press("Enter")
    following = f"row {answers.row_ids[4]}"
    page.wait_for_function(
        f"document.querySelector('#person-shown').textContent.includes('{following}')"
    )
    assert page.evaluate("document.activeElement.id") == "person-next"


def page_of(results: Results, folder: Path) -> Path:
    path = folder / "index.html"
    path.write_text(render(build_payload(results, build_tables(results)), build_bulk(results)))
    return path


def test_a_table_that_is_cut_off_shows_that_there_is_more(show: Open, written: Path) -> None:
    """A cover moves with the table and hides a shadow that does not, at the end only."""
    page = show(written, width=390)
    said = "each => getComputedStyle(each).backgroundAttachment"
    assert page.eval_on_selector(".scroll", said) == "local, scroll"


def test_the_page_says_that_it_does_not_list_everybody(
    show: Open, advised_run: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = len(advised_run.counterfactuals(*advised_run.answered[0]))
    monkeypatch.setattr(listed_people, "MOST_LISTED", 2)
    page = show(page_of(advised_run, tmp_path), width=400)
    page.locator("#person").scroll_into_view_if_needed()
    page.wait_for_selector("#person-row")
    expect(page.locator("#person-row option")).to_have_count(2)
    note = f"The page lists 2 of the {asked} people of this base model"
    expect(page.locator("#person-shown .nothing")).to_contain_text(note)
    expect(page.locator("#person-shown .nothing")).to_contain_text("tables/people.csv")


def test_people_read_what_explain_says(show: Open, advised_run: Results, tmp_path: Path) -> None:
    page = show(page_of(advised_run, tmp_path), width=400)
    page.locator("#person").scroll_into_view_if_needed()
    page.wait_for_selector("#person-row")
    names = {method: method_name(method) for method in advised_run.shown.methods}
    seen = set()
    for place, row in enumerate(page.locator("#person-row option").all_inner_texts()):
        page.select_option("#person-row", index=place)
        person = row.removeprefix("row ")
        known = page.locator("#person-shown summary").first
        expect(known).to_have_text(f"What is known of row {person}")
        expect(page.locator(".rules")).to_have_text(f"Respected: {RULES}.")
        chosen = recommend(advised_run, person)
        reason = re.sub("|".join(names), lambda found: names[found[0]], chosen.reason)
        lead = "Recommended: " if chosen.method else ""
        expect(page.locator("#recommended")).to_have_text(lead + reason)
        marked = page.locator(".card.recommended")
        expect(marked).to_have_count(1 if chosen.method else 0)
        if chosen.method:
            assert marked.get_attribute("data-method") == chosen.method
            assert page.locator(".card").first.get_attribute("data-method") == chosen.method
        for answer in explain_all(advised_run, person):
            card = page.locator(f".card[data-method='{answer.method}']")
            if answer.counterfactual is None:
                expect(card).to_contain_text(f"No advice: {answer.why_not}.")
                seen.add("nothing")
                continue
            expect(card).to_contain_text("Nothing else changes.")
            few = answer.advice[:MOST_CHANGES]
            expect(card.locator("li")).to_have_count(len(few))
            if len(answer.advice) > MOST_CHANGES:
                card.locator("summary").click()
                expect(card.locator("li")).to_have_count(len(answer.advice))
                seen.add("folded")
            texts = card.locator("li").all_inner_texts()
            assert [re.sub(r" \([^)]*\)$", "", text) for text in texts] == list(answer.advice)
    assert seen == {"nothing", "folded"}
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_answers_as_published_do_not_pass_for_advice(show: Open, tmp_path: Path) -> None:
    results = advised(tmp_path / "run", feasible=False, publish=False)
    page = show(page_of(results, tmp_path))
    page.locator("#person").scroll_into_view_if_needed()
    page.wait_for_selector(".card[data-method='younger']")
    expect(page.locator(".rules")).to_contain_text("Some of this advice breaks a constraint")
    card = page.locator(".card[data-method='younger']")
    expect(card).to_contain_text("between categories, which nobody can be told: ")
    assert "Nothing else changes" not in card.inner_text()


def test_how_long_advice_lasts_follows_the_choices(
    show: Open, written: Path, tmp_path: Path
) -> None:
    results = lasting(None)
    table = build_tables(results)["life"].set_index(["family", "method"])
    page = show(page_of(results, tmp_path), width=420)
    figure = page.locator("#life-figure")
    figure.scroll_into_view_if_needed()
    page.wait_for_selector("#life-figure .main-svg")
    selects = page.locator("#life select")
    selects.nth(0).select_option(index=1)

    def drawn() -> list[list[float]]:
        return page.eval_on_selector(
            "#life-figure .plot", "plot => plot.data.map(each => [...each.y])"
        )

    for place, column in enumerate(("held_so_far_mean", "holds_mean")):
        selects.nth(1).select_option(index=place)
        for method, curve in zip(results.shown.methods, drawn(), strict=True):
            expected = table.loc[(CHAIN, method), column].tolist()
            assert curve == pytest.approx([100, *expected], rel=1e-5)
    selects.nth(2).select_option(index=2)
    low, high = (table.loc[(CHAIN, "wachter"), f"holds_{end}"].tolist() for end in ("low", "high"))
    assert drawn()[0] == pytest.approx([100, *high], rel=1e-5)
    assert drawn()[1] == pytest.approx([100, *low], rel=1e-5)
    with page.expect_download() as download:
        figure.get_by_role("button", name="as CSV").click()
    lines = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    assert [line["family"] for line in lines] == [CHAIN] * len(table.loc[CHAIN])
    assert "held through all 4 updates" in figure.locator(".words").inner_text()
    expect(page.locator("#life table").last).to_contain_text("median life")
    # The average of a person, too, is over single changes only.
    page.locator("#person").scroll_into_view_if_needed()
    expect(page.locator(".card").first).to_contain_text("of 4 changed models")
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    assert "life" not in sections(show(written))


def test_rankings_and_survival_follow_the_choices(show: Open, written: Path) -> None:
    page = show(written)
    draw_everything(page)
    for section, figure in (("#rankings", "#ranks-figure"), ("#changes", "#survival-figure")):
        words = page.locator(f"{figure} .words")
        before = words.inner_text()
        page.locator(f"{section} select").first.select_option(index=1)
        page.wait_for_function(
            "([where, text]) => document.querySelector(where).innerText !== text",
            arg=[f"{figure} .words", before],
        )


@pytest.mark.parametrize("width", [380, 1400])
def test_fits_and_every_control_is_reached_by_keyboard(
    show: Open, written: Path, width: int
) -> None:
    page = show(written, width=width)
    draw_everything(page)
    page.wait_for_selector("#person-next")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = page.eval_on_selector_all(
        "main *",
        """(all, width) => all.filter((each) => !each.closest('.scroll, svg, pre') &&
             each.getBoundingClientRect().right > width + 1).map((each) => each.outerHTML)""",
        width,
    )
    assert wide == []
    page.evaluate("window.scrollTo(0, 0)")
    page.evaluate(
        """selector => {
          window.controls = [...document.querySelectorAll(selector)].filter((each) =>
            each.checkVisibility());
          window.reached = new Set();
          document.addEventListener("focusin", (event) => window.reached.add(event.target));
        }""",
        CONTROLS,
    )
    for _ in range(page.evaluate("window.controls.length") + 10):
        page.keyboard.press("Tab")
    left = page.evaluate(
        "window.controls.filter((each) => !window.reached.has(each)).map((each) => each.outerHTML)"
    )
    assert left == []
    page.locator("#choose-change").focus()
    page.keyboard.press("ArrowDown")
    assert page.locator("#choose-change").evaluate("each => each.selectedIndex") == 1
    assert page.locator("#choose-change").evaluate(
        "each => getComputedStyle(each).outlineStyle"
    ) != ("none")


def test_dark_mode_follows_the_system_and_the_button(show: Open, written: Path) -> None:
    page = show(written, scheme="dark")
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    page.locator("#families-figure").scroll_into_view_if_needed()
    page.wait_for_selector("#families-figure .main-svg")
    label = "#families-figure .ytick text"
    light_text = page.eval_on_selector(label, "each => getComputedStyle(each).fill")
    page.get_by_role("button", name="Light mode").click()
    assert page.evaluate(background) != dark
    assert page.eval_on_selector(label, "each => getComputedStyle(each).fill") != light_text


def test_picks_that_hang_on_little_are_listed(
    show: Open, quick_run: Results, tmp_path: Path
) -> None:
    results, tables = quick_run, read_tables(quick_run.folder)
    firm = tables["tuning"].assign(
        rows_behind=lambda table: table["rows_behind"].mask(~table["chosen"], 2)
    )
    for name, tuning in (("fragile", tables["tuning"]), ("firm", firm)):
        path = tmp_path / f"{name}.html"
        path.write_text(render(build_payload(results, {**tables, "tuning": tuning}), []))
        page = show(path)
        listed = page.locator("#fragile li").all_inner_texts()
        assert listed == fragile_picks(tuning)
        assert bool(listed) == (name == "fragile")
        assert ("Close calls in tuning" in page.locator("#run").inner_text()) == bool(listed)


def test_sources_are_links(show: Open, written: Path) -> None:
    links = show(written).locator("#run td a").all()
    found = {link.get_attribute("href"): link.inner_text() for link in links}
    assert "https://arxiv.org/abs/2207.02739" in found
    assert all(address == text for address, text in found.items())


def test_names_with_markup_are_shown_as_text(show: Open, content: str, tmp_path: Path) -> None:
    evil = '</script><img src=x onerror="window.hacked = 1"><b>bold</b> & %{x} {feature}'
    text = content
    for name in ("Diabetes", "Glucose", "KD-tree", "kdtree", "Bootstrap", "bootstrap"):
        assert f'"{name}"' in text
        text = text.replace(f'"{name}"', json.dumps(f"{name}{evil}"))
    path = tmp_path / "index.html"
    path.write_text(render(*json.loads(text)))
    page = show(path)
    draw_everything(page)
    page.wait_for_selector("#person-dataset")
    page.select_option("#person-dataset", label=f"Diabetes{evil}")
    page.wait_for_function("document.querySelector('#person-shown').innerText.includes('Glucose')")
    assert page.evaluate("window.hacked") is None
    assert page.locator("main img").count() == 0
    assert page.locator("main b").count() == 0
    # Long names are cut on axes; there, too, what is left is text.
    assert page.locator("figure .ytick", has_text="KD-tree</scr…").count() > 0
    assert f"Glucose{evil} from" in page.locator("#person-shown").inner_text()


def test_settings_are_shown_with_marks_of_their_own(
    show: Open, content: str, quick_run: Results, tmp_path: Path
) -> None:
    payload, bulk = json.loads(content)
    methods = [f"robx-balanced(quantile=0.{n})" for n in range(20)]
    full = read_tables(quick_run.folder)["full_results"].query("method == 'kdtree'")
    table = pd.concat([full.assign(method=method) for method in methods])
    drawn = price(Scores({"full_results": table}), Shown.of(table), {})
    payload["sections"]["price"] = [chart(drawn)]
    path = tmp_path / "index.html"
    path.write_text(render(payload, bulk))
    page = show(path)
    legend = page.locator("#price-figure .legend span")
    assert legend.all_inner_texts() == [method_name(name) for name in methods]
    marks = page.eval_on_selector_all(
        "#price-figure .legend path",
        "all => all.map(each => [each.getAttribute('d'), getComputedStyle(each).fill].join())",
    )
    assert len(set(marks)) == len(methods)
    page.locator("#price-figure").scroll_into_view_if_needed()
    page.wait_for_selector("#price-figure .main-svg")
    drawn = page.eval_on_selector_all(
        "#price-figure .plot",
        "plots => plots[0].data.filter(({ marker }) => marker?.symbol)"
        ".map(({ marker }) => `${marker.symbol} ${marker.color}`)",
    )
    assert len(set(drawn)) == len(methods)


def test_the_limit_is_drawn_and_methods_are_compared_with_it(show: Open, written: Path) -> None:
    page = show(written)
    figure = page.locator("#price-figure")
    figure.scroll_into_view_if_needed()
    page.wait_for_selector("#price-figure .main-svg")
    curves = page.eval_on_selector_all(
        "#price-figure .plot", "plots => plots.map(({ data }) => [...data.at(-1).y])"
    )
    assert curves == [[95, 99, 100]] * 2
    said = figure.locator("figcaption").inner_text()
    assert "No method can be left of this line" in said and "comes closest to the limit" in said
    figure.locator("summary").click()
    figure.locator("th").first.wait_for()
    headings = figure.locator("th").all_inner_texts()
    assert {"limit", "price"} <= set(headings)


def test_groups_are_drawn_where_a_run_was_asked_for_them(
    show: Open, written: Path, advised_run: Results, tmp_path: Path
) -> None:
    assert "groups" not in sections(show(written))
    grouped = in_groups(advised_run)
    tables = build_tables(grouped)
    path = tmp_path / "index.html"
    path.write_text(render(build_payload(grouped, tables), build_bulk(grouped)))
    page = show(path, width=400)
    section = page.locator("#groups")
    section.get_by_label("Groups").select_option(label="owner")
    section.get_by_label("Method").select_option(label="KD-tree")
    table = tables["groups"].query("by == 'owner' and method == 'kdtree'")
    figure = page.locator("#groups-figure")
    figure.scroll_into_view_if_needed()
    page.wait_for_selector("#groups-figure .main-svg")
    draw_everything(page)
    dots = page.eval_on_selector_all(
        "#groups-figure .plot", "plots => plots.map(({ data }) => [...data[1].x])"
    )
    metrics = list(table["metric"].unique())
    for metric, values in zip(metrics, dots, strict=True):
        expected = table.loc[table["metric"] == metric, "value"]
        assert values == pytest.approx(expected.tolist(), rel=1e-5)
    with page.expect_download() as got:
        figure.get_by_role("button", name="CSV").click()
    rows = list(csv.DictReader(io.StringIO(Path(got.value.path()).read_text())))
    assert list(rows[0]) == list(table.columns) and len(rows) == len(table)
    assert {row["group"] for row in rows} == {"no", "yes"}
    section.get_by_label("Groups").select_option(label="purpose")
    said = page.locator("#groups .sentence").inner_text()
    assert "No clear difference in coverage" in said or "Coverage is highest for" in said
    assert page.locator("#groups-left-out").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_an_unfinished_run_says_what_is_missing(
    show: Open, quick_run: Results, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(quick_run.folder, tmp_path / "run"))
    shutil.rmtree(folder / "tables")
    for path in (folder / "pieces").rglob("diabetes/2026/survival-kdtree-bootstrap.*"):
        path.unlink()
    page = show(Results(folder).report())
    notice = page.locator("#state").inner_text()
    assert "This run is not finished." in notice
    assert "diabetes 2026 survival kdtree" in notice
    assert not (folder / "tables").exists()
    page.select_option("#choose-dataset", label="Diabetes")
    names = page.locator("#ranking button").all_inner_texts()
    assert "KD-tree" not in names
    assert "Wachter" in names
    draw_everything(page)
    shutil.rmtree(folder / "pieces")
    page = show(Results(folder).report())
    assert "Nothing is finished yet" in page.locator("#sentence").inner_text()
    assert page.locator(".nothing").count() >= 7
    assert page.locator("#run pre").inner_text().startswith("datasets = ")


def test_one_of_everything_still_gives_a_page(show: Open, tmp_path: Path) -> None:
    plan = Plan.preset(
        "quick", datasets=["diabetes"], methods=["kdtree"], families=["bootstrap"], factuals=3
    )
    folder = run(plan, tmp_path / "one", jobs=1).folder
    page = show(folder / "report" / "index.html")
    assert page.locator("#state").inner_text() == ""
    assert "All of this is about one model" in page.locator("#methods").inner_text()
    assert page.locator("#rankings").count() == 0
    assert "promises anything" in (page.locator("#guarantees").text_content() or "")
    draw_everything(page)
    page.wait_for_selector(".card[data-method='kdtree']")


def test_no_valid_counterfactual_still_gives_a_page(
    show: Open, quick_run: Results, tmp_path: Path
) -> None:
    tables = {name: table.copy() for name, table in read_tables(quick_run.folder).items()}
    undefined = ["empirical_robustness_mean", "distance_mean", "base_validity_mean"]
    for name in ("full_results", "family_results"):
        tables[name][undefined] = float("nan")
        tables[name]["end_to_end_robustness_mean"] = 0.0
    metrics = [name.removesuffix("_mean") for name in undefined]
    intervals = tables["intervals"]
    intervals.loc[intervals["metric"].isin(metrics), ["mean", "std", "low", "high"]] = float("nan")
    intervals.loc[intervals["metric"] == "end_to_end_robustness", "mean"] = 0.0
    results = quick_run
    bulk = build_bulk(results)
    for part in bulk:
        part["variants"]["survived"] = [
            [None] * len(values) for values in part["variants"]["survived"]
        ]
    path = tmp_path / "index.html"
    path.write_text(render(build_payload(results, tables), bulk))
    page = show(path)
    assert "gave nobody a CFE" in page.locator("#sentence").inner_text()
    assert "The base models accept no CFE of" in page.locator("#state").inner_text()
    assert "undefined" in page.locator("#ranking").inner_text()
    assert "there is no price" in page.locator("#price").inner_text()
    draw_everything(page)


def test_figures_that_repeat_a_table_agree_with_it(
    show: Open, written: Path, quick_run: Results
) -> None:
    page = show(written)
    draw_everything(page)
    tables = read_tables(quick_run.folder)

    def bars(figure: str) -> list[list[float]]:
        return page.eval_on_selector_all(
            f"{figure} .plot", "plots => plots.map(plot => [...plot.data[0].x])"
        )

    magnitude: pd.DataFrame = tables["change_magnitude"]
    flips, difference = bars("#magnitude-figure")
    assert flips == magnitude["hard_disagreement_percent_mean"].tolist()
    assert difference == magnitude["probability_mae_mean"].tolist()
    (medians,) = bars("#generation-figure")
    expected = 1e3 * tables["generation_seconds"]["median_seconds"]
    assert medians == pytest.approx(expected.tolist(), rel=1e-5)
    full = tables["full_results"].set_index(["dataset", "method"])
    shown = page.eval_on_selector_all(
        "#hidden-figure .plot", "plots => plots.map(plot => plot.data.slice(1).map(t => [...t.x]))"
    )
    kinds = ("coverage", "empirical_robustness", "end_to_end_robustness")
    for dataset, panel in zip(quick_run.plan.datasets, shown, strict=True):
        for kind, values in zip(kinds, panel, strict=True):
            column = full[f"{kind}_mean"]
            assert values == [column[dataset, method] for method in quick_run.plan.methods]
    assert sections(page)[0] == "answer"


HOSTILE = "<img src=x onerror=alert(1)>"
ODD_IDS = [
    "<script>alert(1)</script>", "a\"b'c", "O'Neil & Söhne / 50 %", "#person?x=1", "שלום 12",
    "x" * 90, "row 1", "{feature}", "🏦 7", "&lt;b&gt;",
]  # fmt: skip


@pytest.fixture(scope="module")
def hostile_audit(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """An audit whose people, columns and categories have names that nobody should have."""
    table = loans(300).rename(columns={"income": HOSTILE, "debts": "חובות </script>"})
    table["purpose"] = table["purpose"].map({"car": "<b>&car", "house": "בית", "study": 60 * "s"})
    table["applicant"] = [
        f"{ODD_IDS[place % len(ODD_IDS)]}{place if place >= len(ODD_IDS) else ''}"
        for place in range(len(table))
    ]
    folder = tmp_path_factory.mktemp("hostile")
    return evaluate(
        table, "sklearn:LogisticRegression", ["kdtree", "robx-robust"],
        ["bootstrap(replicates=3)"], out=folder / "run", jobs=1, target="approved",
        favourable="yes", id_column="applicant", publish=False,
    )  # fmt: skip


@pytest.mark.parametrize("width", [1400, 390])
def test_names_are_text_in_the_person_section_of_an_audit(
    show: Open, hostile_audit: Results, tmp_path: Path, width: int
) -> None:
    page = show(page_of(hostile_audit, tmp_path), width=width)
    assert sections(page)[0] == "person"
    page.locator("#person").scroll_into_view_if_needed()
    page.wait_for_selector("#person-row")
    options = page.locator("#person-row option").all_inner_texts()
    odd = [text for text in options if not text.removeprefix("row A")[:1].isdigit()]
    assert any("<script>" in text for text in odd) or any("שלום" in text for text in odd)
    seen = ""
    for place in range(min(12, len(options))):
        page.select_option("#person-row", index=place)
        person = hostile_audit.counterfactuals("data", 2026, "kdtree").row_ids[place]
        name = hostile_audit.task("data").ids.loc[person]
        known = page.locator("#person-shown > details summary").first
        assert known.text_content() == f"What is known of row {name}"
        known.click()
        seen += page.locator("#person-shown").inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert HOSTILE in seen and "חובות </script>" in seen and "<b>&car" in seen
    assert page.locator("#person img, #person script, #person b").count() == 0
    # What is read from right to left does not turn the words around it.
    told = "page.filled('{Feature} from {before}', { Feature: '\u05d1\u05d9\u05ea', before: 3 })"
    assert page.evaluate(told) == "\u2068\u05d1\u05d9\u05ea\u2069 from 3"


def test_what_is_folded_opens_for_a_link_and_for_print(
    show: Open, advised_run: Results, tmp_path: Path
) -> None:
    path = page_of(advised_run, tmp_path)
    page = show(path)
    folded = page.locator("section.folded > details")
    assert folded.count() >= 8 and page.locator("section.folded > details[open]").count() == 0
    assert not page.locator("#families-figure").is_visible()
    page.evaluate("location.hash = '#families'")
    expect(page.locator("#families > details")).to_have_attribute("open", "")
    page.wait_for_selector("#families-figure .main-svg")
    assert page.locator("section.folded > details[open]").count() == 1
    # A part of a section, in an address that somebody opens.
    page.goto("about:blank")
    page.goto(f"{path.resolve().as_uri()}#price-figure")
    page.wait_for_selector("#price-figure .main-svg")
    assert page.locator("#price > details").get_attribute("open") is not None
    page.wait_for_function(
        "document.querySelector('#price-figure').getBoundingClientRect().y < 400"
    )
    page.emulate_media(media="print")
    page.wait_for_function("page.printing !== null && page.waiting.size === 0")
    assert page.locator("section.folded > details:not([open])").count() == 0
    assert page.locator("#families-figure .main-svg").count() > 0
    page.emulate_media(media="screen")
    page.wait_for_function("page.printing === null")
    assert page.locator("section.folded > details[open]").count() == 1


def test_an_audit_offers_choices_only_where_there_are_several(
    show: Open, advised_run: Results, tmp_path: Path
) -> None:
    page = show(page_of(advised_run, tmp_path))
    page.wait_for_selector("#person-row")
    assert page.locator("#person-dataset, #person-network, #choose-dataset").count() == 0
    told = page.locator("#recommended-to").inner_text()
    people = page.locator("#person-row option").count()
    chosen = [recommend(advised_run, text[4:]).method for text in page.locator(
        "#person-row option").all_inner_texts()]  # fmt: skip
    assert len(chosen) == people
    if not any(chosen):
        assert told == f"For none of these {people} people is advice known to hold often enough."
    for method in filter(None, set(chosen)):
        assert f"{method_name(method)} {chosen.count(method)}" in told
    page.locator("#navigation a[href='#more']").click()
    page.locator("#answer summary h2").click()
    expect(page.locator("#answer .ranking")).to_be_visible()
