"""The page of the leaderboard: what it says, hostile names, and how it is in a real browser."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Request, expect, sync_playwright

from changeproof.board.leaderboard import leaderboard
from changeproof.board.page import again, least, linked, seconds
from changeproof.board.pictures import Spot, picture, shade, ticks
from changeproof.board.publishing import write_board
from changeproof.board.records import RECORDS
from synthetic_board import BENCHMARK, SHAPES, add_entry, add_record, full_board, people_of

CHROMIUM = shutil.which("chromium")
REQUIRED = os.environ.get("CHANGEPROOF_REQUIRE_BROWSER") == "1"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
in_browser = pytest.mark.skipif(
    CHROMIUM is None and not REQUIRED,
    reason="no chromium here: apt-get install chromium "
    "(CHANGEPROOF_REQUIRE_BROWSER=1 makes this an error)",
)
MINUS = "\N{MINUS SIGN}"
# A4 on its side, between the margins, in pixels.
PAPER = 1032
Open = Callable[..., Page]


def written(folder: Path) -> Path:
    board = leaderboard(folder / "entries", folder / RECORDS, BENCHMARK)
    return write_board(board, folder / "board")


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of 40 entries."""
    folder = tmp_path_factory.mktemp("full")
    full_board(folder)
    return written(folder)


@pytest.fixture(scope="module")
def content(full: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(full.with_name("leaderboard.json").read_bytes())
    return found


@pytest.fixture(scope="module")
def tab() -> Iterator[Page]:
    assert CHROMIUM is not None, "CHANGEPROOF_REQUIRE_BROWSER=1, but there is no chromium"
    with sync_playwright() as driver:
        browser: Browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        context = browser.new_context(offline=True)
        context.set_default_timeout(10_000.0)
        context.set_default_navigation_timeout(30_000.0)
        yield context.new_page()
        browser.close()


@pytest.fixture
def show(tab: Page) -> Iterator[Open]:
    """Open a page; at the end there must have been no request and nothing on the console."""
    trouble: list[str] = []
    own: set[str] = set()

    def requested(request: Request) -> None:
        if request.url.split("#")[0] not in own and not request.url.startswith("data:"):
            trouble.append(f"request: {request.url}")

    listeners: dict[Any, Callable[[Any], None]] = {
        "console": lambda message: trouble.append(f"console: {message.text}"),
        "pageerror": lambda error: trouble.append(f"error: {error}"),
        "dialog": lambda dialog: trouble.append(f"dialog: {dialog.message}"),
        "request": requested,
    }

    def show(path: Path, width: int = 1400, scheme: Any = "light", at: str = "") -> Page:
        tab.set_viewport_size({"width": width, "height": 900})
        tab.emulate_media(media="screen", color_scheme=scheme)
        own.add(path.resolve().as_uri())
        tab.goto("about:blank")
        tab.goto(path.resolve().as_uri() + at)
        tab.wait_for_selector("html[data-ready]", state="attached")
        return tab

    for event, listener in listeners.items():
        tab.on(event, listener)
    yield show
    for event, listener in listeners.items():
        tab.remove_listener(event, listener)
    assert trouble == []


def column(page: Page, key: str) -> list[str]:
    """Return what stands in a column of the visible rows."""
    found: list[str] = page.eval_on_selector(
        "#track-published table.results",
        """(table, key) => {
          const place = [...table.tHead.rows[0].cells].findIndex((c) => c.dataset.key === key);
          return [...table.tBodies[0].rows].filter((row) => !row.hidden)
            .map((row) => row.cells[place].innerText.trim());
        }""",
        key,
    )
    return found


def entries(page: Page) -> list[str]:
    rows = "#track-published table.results tbody tr:not([hidden])"
    return list(page.eval_on_selector_all(rows, "all => all.map((row) => row.dataset.entry)"))


def test_the_page_is_small_and_names_only_files_beside_it(full: Path) -> None:
    assert full.stat().st_size < 1e6
    text = full.read_text()
    assert text.count("CC0") >= 1
    addresses = set(re.findall(r'(?:href|src)="([^"]*)"', text))
    elsewhere = {a for a in addresses if not a.startswith(("#", "data:", "https://example.org/"))}
    assert elsewhere == {"leaderboard.json", "leaderboard.parquet"}
    assert "url(" not in text.replace("url(data:", "")


class Elements(HTMLParser):
    """The elements and their addresses, as an HTML parser sees them."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


HOSTILE = "</script><script>alert('x')</script><img src=x onerror=alert(1)>"


def hostile(folder: Path) -> Path:
    entry = add_entry(
        folder,
        "hostile",
        tracks=["published"],
        label='"><b onclick=alert(2)>',
        authors=(HOSTILE, "${alert(3)}"),
        paper=f"{HOSTILE} javascript:alert(4) https://example.org/a'onmouseover=alert(5)",
        bibtex=HOSTILE,
        code="javascript:alert(6)",
        commit=HOSTILE,
        licence="{{ 7 * 7 }}",
        method=HOSTILE,
        settings={HOSTILE: HOSTILE},
        promise=HOSTILE,
    )
    shape = {"published": SHAPES["published"]}
    add_record(entry, people_of(shape, 0.9, 1.0, "hostile"), findings=(HOSTILE,))
    add_entry(folder, "claimed", tracks=["published"], label="<i>claimed</i>")
    (folder / "entries" / "no <b>entry<b>").mkdir()
    return written(folder)


def test_names_are_text_whatever_they_hold(tmp_path: Path) -> None:
    text = hostile(tmp_path).read_text()
    elements = Elements()
    elements.feed(text)
    tags = [tag for tag, _ in elements.found]
    assert "img" not in tags
    assert "i" not in tags[tags.index("article") :]
    assert tags.count("script") == 3
    for tag, attributes in elements.found:
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)
        assert not str(attributes.get("href", "")).startswith("javascript")
    assert "{{ 7 * 7 }}" in text


@in_browser
def test_names_do_nothing_in_a_browser(tmp_path: Path, show: Open) -> None:
    page = show(hostile(tmp_path))
    card = page.locator("#entry-hostile")
    expect(card.locator("h3")).to_have_text('"><b onclick=alert(2)>')
    card.locator("summary").click()
    assert card.locator("pre").inner_text() == HOSTILE
    page.get_by_label("Compare with").select_option("hostile")
    expect(page.locator("[data-key=difference]")).to_contain_text("<b onclick=alert(2)>")


def test_words_for_numbers_and_addresses() -> None:
    assert [seconds(v) for v in (None, 0.00123, 0.25, 3.0, 12.6)] == [
        "",
        "0.0012",
        "0.25",
        "3",
        "13",
    ]
    assert linked("see https://a.org/b?c=1.") == (
        'see <a rel="noopener noreferrer" href="https://a.org/b?c=1">https://a.org/b?c=1</a>.'
    )
    assert linked("http://a.org <b>") == "http://a.org &lt;b&gt;"
    assert again({"difference": 0.0}) == "the same answers"
    assert again({"difference": 0.00012}) == "answers are at most 0.00012 deviations apart"
    assert again({"difference": None}) == "other people got an answer"
    assert least({"families": {"a": None, "b": 2.0, "c": 1.0}}) == ("c", 1.0)
    assert least({"families": {"a": None}}) is None


def test_pictures_have_round_ticks_and_colours_from_end_to_end() -> None:
    assert ticks(0.0, 2.3, 6) == [0.0, 0.5, 1.0, 1.5, 2.0]
    assert ticks(30.0, 100.0, 6) == [40.0, 60.0, 80.0, 100.0]
    assert ticks(1.0, 1.0, 5) == [1.0]
    assert shade(0.0, 0.0, 100.0) == ("#00224e", True)
    assert shade(100.0, 0.0, 100.0) == ("#fee838", False)
    assert shade(100.0, 100.0, 100.0).colour == "#fee838"


def test_who_leads_has_nobody_nearer_and_better_and_labels_do_not_meet() -> None:
    values = [(1.0, 90.0), (2.0, 95.0), (2.5, 94.0), (0.5, 50.0), (1.0, 80.0)]
    spots = [Spot(f"e{n}", f"Method {n}", x, y, "recomputed") for n, (x, y) in enumerate(values)]
    found = picture(spots, 0.4, 1000.0, 400.0)
    assert {dot.spot.name for dot in found.dots if dot.leads} == {"e0", "e1", "e3"}
    assert all((dot.label is not None) == dot.leads for dot in found.dots)
    places = {dot.spot.name: (dot.x, dot.y) for dot in found.dots}
    # Farther is to the right, better is up, and the limit is nearer than everybody.
    assert places["e3"][0] < places["e0"][0] < places["e1"][0] < places["e2"][0]
    assert places["e1"][1] < places["e2"][1] < places["e0"][1] < places["e3"][1]
    assert found.limit is not None and found.left < found.limit < places["e3"][0]
    crowd = [Spot(str(n), "A long name " * 3, 1.0 + n / 1e3, 90.0 + n / 1e3, "") for n in range(30)]
    assert 1 <= sum(dot.label is not None for dot in picture(crowd, None, 900.0, 400.0).dots) <= 4


@in_browser
def test_numbers_are_those_of_the_json(show: Open, full: Path, content: dict[str, Any]) -> None:
    page = show(full)
    results = {r["entry"]: r for r in content["results"] if r["track"] == "published"}
    shown = entries(page)
    assert len(shown) == 40
    ranked = [name for name in shown if name in results]
    assert ranked == sorted(ranked, key=lambda name: -results[name]["end_to_end"]["value"])
    assert set(shown[len(ranked) :]) == {"method-12", "method-25", "method-38"}
    assert column(page, "group")[: len(ranked)] == [results[name]["group"] for name in ranked]
    prices = [f"{results[name]['price']['value']:.2f}" for name in ranked]
    assert column(page, "price") == [*prices, "", "", ""]
    # What nobody verified is empty.
    row = page.locator("#track-published table.results tr[data-entry=method-12]")
    assert re.sub(r"\s+", " ", row.inner_text()).strip() == (
        "KD-tree 12 claimed Nobody has verified it. predictions no"
    )


@in_browser
def test_ranked_by_a_family_or_by_price_numbers_and_groups_follow(
    show: Open, full: Path, content: dict[str, Any]
) -> None:
    page = show(full)
    results = {r["entry"]: r for r in content["results"] if r["track"] == "published"}
    rank = page.locator("#track-published [data-rank]")
    rank.select_option("family architecture")
    family = {name: each["families"]["architecture"] for name, each in results.items()}
    ranked = [name for name in entries(page) if name in results]
    assert ranked == sorted(ranked, key=lambda name: -family[name]["end_to_end"]["value"])
    assert column(page, "group")[: len(ranked)] == [family[name]["group"] for name in ranked]
    first = f"{family[ranked[0]]['end_to_end']['value']:.1f}"
    assert column(page, "end")[0].startswith(first)
    rank.select_option("95")
    above = {name: each for name, each in results.items() if "95" in each["above"]}
    assert 0 < len(above) < len(results)
    ranked = entries(page)
    assert ranked == sorted(above, key=lambda name: above[name]["price"]["value"])
    assert column(page, "group") == [above[name]["above"]["95"] for name in ranked]
    expect(page.locator("#track-published [data-shown]")).to_have_text(
        f"{len(above)} of 40 entries shown."
    )
    expect(page.locator("#track-published [data-explained]")).to_contain_text("price")
    dots = page.locator("#track-published .picture.large .dot:visible")
    assert dots.count() == len(above)
    cells = page.locator("#track-published .heat tbody tr:visible")
    assert cells.evaluate_all("all => all.map((row) => row.dataset.entry)") == ranked
    rank.select_option("all")
    assert len(entries(page)) == 40


@in_browser
def test_filters_sorting_and_comparison(show: Open, full: Path, content: dict[str, Any]) -> None:
    page = show(full)
    about = {each["name"]: each for each in content["entries"]}
    for key, value, fits in (
        ("state", "contested", lambda e: e["state"] == "contested"),
        ("access", "gradients", lambda e: e["access"] == "gradients"),
        ("trains", "yes", lambda e: e["trains"]),
    ):
        chosen = page.locator(f"#track-published [data-filter={key}]")
        chosen.select_option(value)
        assert set(entries(page)) == {name for name, each in about.items() if fits(each)}
        chosen.select_option("")
    head = page.locator("#track-published [data-key=distance]")
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    numbers = [float(text) for text in column(page, "distance") if text]
    assert numbers == sorted(numbers)
    head.get_by_role("button").press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    numbers = [float(text) for text in column(page, "distance") if text]
    assert numbers == sorted(numbers, reverse=True)
    assert column(page, "distance")[-3:] == ["", "", ""]
    page.locator("#track-published [data-compare]").select_option("method-05")
    pairs = {
        (each["entry"], each["other"]): each["value"]
        for each in content["differences"]
        if each["track"] == "published" and each["of"] == "end_to_end"
    }
    for name, text in zip(entries(page), column(page, "difference"), strict=True):
        there, back = pairs.get((name, "method-05")), pairs.get(("method-05", name))
        value = there if there is not None else None if back is None else -back
        if value is None:
            assert text == ""
        else:
            assert float(text.split()[0].replace(MINUS, "-")) == pytest.approx(value, abs=0.051)


@in_browser
def test_tracks_are_tabs_for_the_keyboard_too(show: Open, full: Path) -> None:
    page = show(full)
    tabs = page.get_by_role("tab")
    assert tabs.all_inner_texts() == ["As published", "Lasting"]
    expect(page.locator("#track-published")).to_be_visible()
    expect(page.locator("#track-lasting")).to_be_hidden()
    tabs.first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#track-lasting")).to_be_visible()
    expect(page.locator("#track-published")).to_be_hidden()
    assert page.evaluate("document.activeElement.textContent.trim()") == "Lasting"
    page.keyboard.press("ArrowRight")
    expect(page.locator("#track-published")).to_be_visible()
    page = show(full, at="#track-lasting")
    expect(page.locator("#track-lasting")).to_be_visible()
    # One family of change is no column of its own, and has no picture by family.
    assert page.locator("#track-lasting [data-key=worst]").count() == 0
    assert page.locator("#track-lasting .heat").count() == 0
    page.locator("#track-lasting table.results a").first.click()
    assert page.evaluate("document.querySelector('.card:target') !== null")


@in_browser
def test_what_can_be_pressed_has_a_name_and_what_is_an_id_is_one(show: Open, full: Path) -> None:
    page = show(full)
    ids = page.eval_on_selector_all("[id]", "all => all.map((each) => each.id)")
    assert len(ids) == len(set(ids))
    nameless = page.eval_on_selector_all(
        "a[href], button, select, summary",
        """all => all.filter((each) => !(each.ariaLabel || each.textContent.trim() ||
             each.labels?.[0]?.textContent.trim())).map((each) => each.outerHTML)""",
    )
    assert nameless == []
    labelled = page.eval_on_selector_all("select", "all => all.every((each) => each.labels.length)")
    assert labelled
    assert page.locator("svg:not([role=img])").count() == 0
    headings = page.eval_on_selector_all(
        "h1, h2, h3, h4", "all => all.map((each) => Number(each.tagName[1]))"
    )
    assert headings[0] == 1
    assert all(b - a <= 1 for a, b in pairwise(headings))


@in_browser
def test_a_card_says_who_and_what_became_of_it(
    show: Open, full: Path, content: dict[str, Any]
) -> None:
    page = show(full)
    card = page.locator("#entry-method-21")
    expect(card).to_contain_text("Contested by B. Somebody.")
    expect(card).to_contain_text("31.0 % of its valid advice holds; it is held to 90.0 %.")
    expect(page.locator("#entry-method-18")).to_contain_text(
        "Promises that a certified answer holds within the radius 0.005."
    )
    result = next(r for r in content["results"] if r["entry"] == "method-21")
    rows = card.locator(".became tbody tr").all_inner_texts()
    assert len(rows) == 2
    assert f"{result['end_to_end']['value']:.1f}" in " ".join(rows)
    card.locator("summary").click()
    bibtex = next(e for e in content["entries"] if e["name"] == "method-21")["bibtex"]
    assert card.locator("pre").text_content() == bibtex
    card.get_by_role("button", name="Copy BibTeX").click()
    expect(card.locator(".copy")).to_have_text(re.compile("Copied|Selected"))


@in_browser
def test_a_phone_shows_everything_without_scrolling_sideways(show: Open, full: Path) -> None:
    page = show(full, width=390)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    wide = page.eval_on_selector_all(
        "main *",
        """all => all.filter((each) => !each.closest(".scroll, svg, .tabs, .unseen") &&
             each.getBoundingClientRect().right > 391).map((each) => each.outerHTML)""",
    )
    assert wide == []
    row = page.locator("#track-published table.results tbody tr").first
    box = row.bounding_box()
    assert box is not None and box["width"] < 391
    expect(page.locator("#track-published .picture.small")).to_be_visible()
    expect(page.locator("#track-published .picture.large")).to_be_hidden()


@in_browser
def test_dark_follows_the_system_and_the_switch(show: Open, full: Path) -> None:
    page = show(full, scheme="dark")
    background = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(background) == "rgb(20, 24, 27)"
    page.get_by_role("button", name="Light mode").click()
    assert page.evaluate(background) == "rgb(251, 251, 249)"
    page.get_by_role("button", name="Dark mode").click()
    assert page.evaluate(background) == "rgb(20, 24, 27)"


@in_browser
def test_paper_has_all_tracks_on_white_and_nothing_is_cut(show: Open, full: Path) -> None:
    page = show(full, scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    page.set_viewport_size({"width": PAPER, "height": 700})
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("document.documentElement.scrollWidth") <= PAPER
    for track in ("published", "lasting"):
        expect(page.locator(f"#track-{track} table.results")).to_be_visible()
        expect(page.locator(f"#track-{track} .title")).to_be_visible()
    expect(page.locator("#track-published .controls")).to_be_hidden()
    expect(page.locator(".top")).to_be_hidden()
    # What is folded on the screen is there, but for BibTeX.
    expect(page.locator("#entry-method-01 .more dl")).to_be_visible()
    expect(page.locator("#entry-method-01 pre")).to_be_hidden()
    content = page.pdf(outline=True, tagged=True, prefer_css_page_size=True)
    assert 8 < content.count(b"/Type /Page\n") < 30
    page.emulate_media(media="screen")
