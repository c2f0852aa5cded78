"""The documentation site is built without a warning, and no link of it leads nowhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

import changeproof as cp

ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = ("http:", "https:", "mailto:", "data:", "javascript:")
# What no reader of a signature is to see: private names, internals, what is no code.
ODD = re.compile(r"\b_[a-zA-Z]|[~<]|changeproof\.[a-z_]+\.|Annotated|settings: Any|model_config")


class Page(HTMLParser):
    """What a page links to, and what can be linked to on it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.signatures: list[str] = []
        self.in_signature = False
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value}
        self.links += [given[name] for name in ("href", "src") if name in given]
        if "id" in given:
            self.anchors.add(given["id"])
        if tag == "dt" and "sig" in given.get("class", "").split():
            self.signatures.append("")
            self.in_signature = True

    def handle_endtag(self, tag: str) -> None:
        self.in_signature &= tag != "dt"

    def handle_data(self, data: str) -> None:
        if self.in_signature:
            self.signatures[-1] += data


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("furo", reason="what builds the site is not installed (extra: docs)")
    out = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "build_docs.py"), "--out", str(out)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return out


# One test, so that one worker builds the site once.
def test_the_site_is_whole(site: Path) -> None:
    pages = {path.relative_to(site): Page(path) for path in sorted(site.rglob("*.html"))}
    lost = []
    for path, page in pages.items():
        for link in page.links:
            if link.startswith(ELSEWHERE):
                continue
            place, anchor = urldefrag(unquote(link))
            target = (
                (site / path.parent / place.partition("?")[0]).resolve() if place else site / path
            )
            known = pages.get(target.relative_to(site.resolve())) if place else page
            if not target.exists() or (anchor and known and anchor not in known.anchors):
                lost.append(f"{path}: {link}")
    assert not lost, "\n".join(lost)

    told = {path.name for path in (ROOT / "docs").glob("*.md")}
    assert told == {f"{path.stem}.md" for path in pages if path.parts[0] == "docs"}
    reference = [page for path, page in pages.items() if path.parts[0] == "reference"]
    documented = set().union(*(page.anchors for page in reference))
    assert {f"changeproof.{name}" for name in cp.__all__ if name != "__version__"} <= documented
    signatures = [
        s for path, p in pages.items() if path.parts[0] == "reference" for s in p.signatures
    ]
    assert len(signatures) > len(cp.__all__)
    odd = re.compile(
        r"\b_[a-zA-Z]|[~<]|changeproof\.[a-z_]+\.|Annotated|settings: Any|model_config"
    )
    assert not [each for each in signatures if odd.search(each)]
    commands = (site / "commands.html").read_text(encoding="utf-8")
    assert "--unpickle-and-run-its-code" in commands.replace("</span>", "").replace(
        '<span class="pre">', ""
    )
    example = (site / "gallery" / "person.html").read_text(encoding="utf-8")
    assert "kdtree: holds in" in example
