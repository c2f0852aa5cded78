"""Take the README's pictures of the page, in Debian's Chromium without a window.

Run `python tools/page_pictures.py PAPER RECOURSE`: two run directories with their reports, of the
presets paper and recourse (german-credit is enough). It writes `docs/page-light.png`,
`docs/page-dark.png`, `docs/page-narrow.png` and `docs/person.png`.
"""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

DOCS = Path(__file__).resolve().parent.parent / "docs"
# In milliseconds; the machine may be busy.
PATIENCE = 120_000.0
# Who is shown, and of which data.
DATASET, PERSON = "German Credit", "row 746"


def opened(
    browser: Browser,
    run: Path,
    size: tuple[int, int],
    scheme: Literal["light", "dark"] = "light",
) -> Page:
    """Return the page of a run in a window of a size."""
    width, height = size
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.set_default_timeout(PATIENCE)
    page.goto((run / "report" / "index.html").resolve().as_uri())
    page.wait_for_selector("html[data-ready]")
    return page


def keep(name: str, page: Page) -> None:
    """Write what is in the window as a picture, with all colours: those of methods are small."""
    image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    path = DOCS / f"{name}.png"
    image.save(path, optimize=True)
    print(f"docs/{path.name}: {path.stat().st_size / 1000:.0f} kB")
    page.close()


def main(paper: Path, recourse: Path) -> None:
    """Take all pictures."""
    with sync_playwright() as driver:
        chromium = shutil.which("chromium")
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        # As high as the verdict and the ranking below it.
        keep("page-light", opened(browser, paper, (1290, 2330)))
        keep("page-dark", opened(browser, paper, (1290, 2330), "dark"))
        keep("page-narrow", opened(browser, paper, (380, 820)))
        page = opened(browser, recourse, (1290, 1010))
        section = page.locator("#person")
        section.scroll_into_view_if_needed()
        for label, option in (("Data", DATASET), ("Person", PERSON)):
            chosen = section.get_by_label(label)
            if chosen.count():
                chosen.select_option(label=option)
        section.evaluate("(it) => window.scrollTo(0, it.offsetTop - 60)")
        page.wait_for_timeout(500)
        keep("person", page)
        browser.close()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
