"""Take pictures of the page of an audit, in Debian's Chromium without a window.

Run `python tools/audit_pictures.py AUDIT`: the run directory of
`changeproof audit --data german-credit --out AUDIT`. It writes `docs/audit-light.png`,
`docs/audit-dark.png` and `docs/audit-narrow.png`.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from page_pictures import keep, opened

# As high as the verdict and the first person below it; on a telephone, the verdict.
WIDE, NARROW = (1400, 1330), (390, 1500)


def main(audit: Path) -> None:
    """Take all pictures."""
    with sync_playwright() as driver:
        chromium = shutil.which("chromium")
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        pictures = {"light": WIDE, "dark": WIDE, "narrow": NARROW}
        for name, size in pictures.items():
            page = opened(browser, audit, size, "dark" if name == "dark" else "light")
            page.wait_for_selector("#person-row")
            keep(f"audit-{name}", page)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
