"""Pages as PDF, by a browser that is there; the same page always gives the same bytes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from changeproof.errors import InputError, one_line

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
SECONDS = 60
# When it was made is no part of a letter; as long as what it replaces, which keeps offsets true.
DATE = re.compile(rb"(/(?:CreationDate|ModDate) \(D:)\d{14}")


def find_browser() -> str | None:
    """Return a browser that can print pages, if one is installed."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


def as_pdf(browser: str, html: Path) -> bytes:
    """Print a page of ours, which lets a browser run and load nothing."""
    with TemporaryDirectory(prefix="changeproof-pdf-") as folder:
        out = Path(folder) / "letter.pdf"
        command = [
            browser,
            "--headless",
            "--disable-gpu",
            "--no-pdf-header-footer",
            f"--user-data-dir={folder}/profile",
            f"--print-to-pdf={out}",
            html.resolve().as_uri(),
        ]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.insert(1, "--no-sandbox")  # a browser of root has none
        try:
            subprocess.run(command, capture_output=True, timeout=SECONDS, check=True)
            content = out.read_bytes()
        except (OSError, subprocess.SubprocessError) as error:
            raise InputError(f"{browser} could not print {html.name}: {one_line(error)}") from None
    return DATE.sub(rb"\g<1>20000101000000", content)
