"""Take the pictures of letters in the docs, in Debian's Chromium without a window.

Run `python tools/letter_pictures.py LETTERS [FOLDER]`: a folder of letters, as written by
`changeproof letters`. It writes `docs/letter-1.png` and so on, in the order of the index.
"""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

import pandas as pd
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from changeproof.adapters.letters import INDEX

DOCS = Path(__file__).resolve().parent.parent / "docs"
SIZE = {"width": 760, "height": 400}


def main(letters: Path, folder: Path) -> None:
    """Take a picture of each letter, as high as the letter."""
    index = pd.read_csv(letters / INDEX, dtype=str)
    pages = index["file"][index["document"] == "html"]
    with sync_playwright() as driver:
        chromium = shutil.which("chromium")
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for number, name in enumerate(pages, start=1):
            keep_letter(browser, letters / name, folder / f"letter-{number}.png")
        browser.close()


def keep_letter(browser: Browser, letter: Path, path: Path) -> None:
    """Write a picture of a letter, as high as the letter."""
    page = browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
    page.goto(letter.resolve().as_uri())
    image = Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("L")
    # Black, white and a few greys: a letter.
    image.quantize(16).save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
    page.close()


if __name__ == "__main__":
    given = [Path(each) for each in sys.argv[1:3]]
    main(given[0], given[1] if len(given) > 1 else DOCS)
