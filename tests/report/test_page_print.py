"""The page on paper, printed by a real browser: everything is there, and nothing is cut."""

from __future__ import annotations

import base64
import gzip
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from changeproof import Results
from changeproof.report.page.write import packed

CHROMIUM = shutil.which("chromium")
REQUIRED = os.environ.get("CHANGEPROOF_REQUIRE_BROWSER") == "1"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
pytestmark = pytest.mark.skipif(
    CHROMIUM is None and not REQUIRED,
    reason="no chromium here: apt-get install chromium "
    "(CHANGEPROOF_REQUIRE_BROWSER=1 makes this an error)",
)
# What is left of A4 between the margins, in pixels.
PAPER = 703


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert CHROMIUM is not None, "CHANGEPROOF_REQUIRE_BROWSER=1, but there is no chromium"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def written(quick_run: Results) -> Path:
    return quick_run.folder / "report" / "index.html"


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    """One tab for all tests: what its process has compiled of the page's scripts is kept."""
    page = browser.new_page()
    # What is not there by then does not come; to open a page may take longer on a busy machine.
    page.set_default_timeout(5_000.0)
    page.set_default_navigation_timeout(30_000.0)
    yield page
    page.close()


@pytest.fixture
def show(tab: Page, written: Path) -> Iterator[Callable[..., Page]]:
    """Open the page anew, as on a screen; at the end there must have been no error."""
    errors: list[str] = []

    def note(error: object) -> None:
        errors.append(str(error))

    def show(scheme: Literal["dark", "light"] = "light") -> Page:
        tab.set_viewport_size({"width": 1400, "height": 900})
        tab.emulate_media(media="screen", color_scheme=scheme)
        tab.goto("about:blank")
        tab.goto(written.resolve().as_uri())
        tab.wait_for_selector("html[data-ready]")
        return tab

    tab.on("pageerror", note)
    yield show
    tab.remove_listener("pageerror", note)
    assert errors == []


def headings(page: Page, selector: str) -> list[str]:
    return page.eval_on_selector_all(selector, "all => all.map(each => each.textContent)")


def bookmarks(content: bytes) -> list[str]:
    """Return what the outline of a PDF lists: every heading that was printed."""
    found = re.findall(rb"/Title \(((?:\\.|[^\\)])*)\)", content)
    return [re.sub(rb"\\(.)", rb"\1", each).decode("latin-1") for each in found]


def test_a_print_that_does_not_wait_has_every_section_and_chart(
    show: Callable[..., Page], written: Path, tmp_path: Path
) -> None:
    assert CHROMIUM is not None
    paper = tmp_path / "page.pdf"
    command = [CHROMIUM, "--headless", *FLAGS, "--generate-pdf-document-outline"]
    subprocess.run(
        [*command, f"--print-to-pdf={paper}", written.resolve().as_uri()],
        check=True,
        capture_output=True,
        timeout=300,
    )
    content = paper.read_bytes()
    printed = bookmarks(content)
    page = show()
    expected = headings(page, "main > section > h2, figure > h3")
    assert len(expected) == 12 + 10
    assert set(expected) <= set(printed)
    # The cells of a heat map are an image; nothing else on the page is one.
    heat_maps = 2 + 1 + 1
    assert content.count(b"/Subtype /Image") >= heat_maps
    # The person and the single changed models are unpacked for it.
    assert {"KD-tree", "Wachter"} <= set(printed)


def test_every_chart_is_drawn_for_paper_and_for_the_screen_again(
    show: Callable[..., Page],
) -> None:
    page = show("dark")
    assert page.evaluate("page.waiting.size") > 0
    before = page.evaluate("document.body.scrollWidth")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": PAPER, "height": 900})
    page.wait_for_function("page.waiting.size === 0 && page.near.size === 0")
    plots = page.eval_on_selector_all(
        ".plot",
        """all => all.map((each) => {
          const { width, height } = each.querySelector("svg").getBoundingClientRect();
          return [width, height, each.clientWidth];
        })""",
    )
    assert len(plots) == 15
    for width, height, room in plots:
        assert 600 < width <= room <= PAPER
        assert height >= 190
    assert page.evaluate("document.documentElement.scrollWidth") <= PAPER
    wide = page.eval_on_selector_all(
        "main *",
        """(all, paper) => all.filter((each) => !each.closest("svg") &&
             each.getBoundingClientRect().right > paper + 1).map((each) => each.outerHTML)""",
        PAPER,
    )
    assert wide == []
    assert not page.locator(".top").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    label = "#families-figure .ytick text"
    assert page.eval_on_selector(label, "each => getComputedStyle(each).fill") == "rgb(29, 35, 39)"
    folded = page.locator("main details:not([open]):not(.tools *)")
    assert folded.count() == page.locator("main details.long").count() > 0
    assert page.locator("#person-shown dl.facts").is_visible()
    # The window is as wide as before: nothing else than the end of the print draws charts again.
    page.set_viewport_size({"width": 1400, "height": 900})
    page.wait_for_timeout(300)
    page.emulate_media(media="screen", color_scheme="dark")
    page.wait_for_function("!page.printing")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate("document.body.scrollWidth") == before
    assert page.locator("main details[open]").count() == 0
    page.wait_for_function(
        """[...document.querySelectorAll(".plot")].every((each) => {
          const { width } = each.querySelector("svg").getBoundingClientRect();
          return Math.abs(width - each.clientWidth) < 2;
        })"""
    )


def test_a_section_that_somebody_adds_is_printed_like_the_others(
    show: Callable[..., Page],
) -> None:
    page = show()
    page.evaluate(
        """() => {
          const body = document.querySelector("#run > div");
          const later = page.make("div");
          body.append(page.lazily("More", () => page.make("p", { id: "more" }, "told")).details,
            later);
          page.whenNear(later, () => {
            const { people } = page.unpack(1);
            later.append(...page.built([{ chart: { id: "added", title: "Added", words: "…",
              single: true, columns: [], rows: [],
              panels: [{ height: 300, x: {}, y: { names: ["a"] }, layers: [
                { kind: "bars", x: [people.networks.length], y: [0], mark: { colour: "bar" } }] }],
            } }]));
          });
        }"""
    )
    assert page.locator("#added-figure").count() == page.locator("#more").count() == 0
    content = page.pdf(outline=True, tagged=True)
    assert "Added" in bookmarks(content)
    assert page.locator("#added-figure .main-svg").count() > 0


def test_a_table_that_is_too_wide_is_made_to_fit(show: Callable[..., Page]) -> None:
    page = show()
    page.evaluate(
        """() => {
          const columns = Array.from({ length: 30 }, (_, place) => `characteristic${place}`);
          document.querySelector("#run > div").append(page.table("Wide", columns, [columns]));
        }"""
    )
    page.emulate_media(media="print")
    page.set_viewport_size({"width": PAPER, "height": 900})
    page.wait_for_function("page.printing !== null")
    table = page.locator("[aria-label=Wide] table")
    box = table.bounding_box()
    assert box is not None and 500 < box["width"] <= PAPER
    assert page.evaluate("document.documentElement.scrollWidth") <= PAPER
    page.emulate_media(media="screen")
    page.wait_for_function("page.printing === null")
    assert table.evaluate("each => each.style.zoom") == ""


def test_what_is_packed_is_unpacked(show: Callable[..., Page]) -> None:
    generator = np.random.default_rng(5)
    letters = "".join(map(chr, generator.integers(32, 1200, 40_000)))
    texts = ["", "a", "abc" * 50_000, letters, "ü€𝄞 " * 7, letters[:300] * 90]
    zipped = [packed(text) for text in texts]
    zipped.append(base64.b64encode(gzip.compress(letters.encode(), 0, mtime=0)).decode())
    zipped.append(base64.b64encode(gzip.compress(letters.encode(), 9, mtime=0)).decode())
    page = show()
    found = page.evaluate("all => Promise.all(all.map(page.unzipped))", zipped)
    assert found == [*texts, letters, letters]
