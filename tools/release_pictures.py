"""Take the pictures of an audit in the docs, in Debian's Chromium without a window.

Run `python tools/release_pictures.py AUDIT LETTER`: the run directory and one letter (HTML) that
the commands of `docs/before-a-release.md` write. It writes `docs/audit.png`, the top of the page,
and `docs/audit-letter.png`, the whole letter.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from letter_pictures import keep_letter
from page_pictures import keep, opened

DOCS = Path(__file__).resolve().parent.parent / "docs"
# As high as the verdict and what the first person is told below it.
WINDOW = (1290, 1400)


def main(audit: Path, letter: Path) -> None:
    """Take both pictures."""
    with sync_playwright() as driver:
        chromium = shutil.which("chromium")
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        keep("audit", opened(browser, audit, WINDOW))
        keep_letter(browser, letter, DOCS / "audit-letter.png")
        browser.close()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
