"""Build the documentation site: collect pages, write those read off the code, and run Sphinx.

python tools/build_docs.py [--out FOLDER] [--links]

The sources keep the layout of the repository, so that links between pages of `docs/` and
`results/` are the same there and here.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from changeproof.workers.interpreter import collect_garbage_rarely
from docs_gallery import write_gallery
from docs_notebooks import write_notebooks
from docs_pictures import draw
from docs_reference import write_commands, write_named, write_reference

ROOT = Path(__file__).resolve().parent.parent
TAKEN = (
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "docs/*.md",
    "docs/*.png",
    "docs/notebooks/*.ipynb",
    "results/*/README.md",
    "benchmarks/results/README.md",
    "benchmarks/results/*.png",
)


def collect(source: Path, work: Path) -> None:
    """Put all sources of the site into a folder that does not exist yet."""
    site = ROOT / "docs" / "site"
    shutil.copytree(site, source, ignore=shutil.ignore_patterns("gallery", "__pycache__"))
    for pattern in TAKEN:
        for path in sorted(ROOT.glob(pattern)):
            target = source / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.parent.name == "docs" and path.suffix == ".md":
                # The pages of `docs/site` are at the top here.
                text = path.read_text(encoding="utf-8").replace("](site/", "](../")
                target.write_text(text, encoding="utf-8")
            else:
                shutil.copyfile(path, target)
    draw(source / "pictures")
    write_reference(source / "reference")
    write_commands(source / "commands.md")
    write_named(source / "named.md")
    write_notebooks(ROOT / "docs" / "notebooks", source / "notebooks")
    write_gallery(site / "gallery", source / "gallery", work)


def build(out: Path, builder: str = "html") -> int:
    """Build the site into a folder; a warning is an error. Return Sphinx' exit code."""
    with tempfile.TemporaryDirectory() as folder:
        source, work = Path(folder) / "source", Path(folder) / "work"
        work.mkdir()
        collect(source, work)
        cache = str(Path(folder) / "doctrees")
        asked = ["-q", "-W", "--keep-going", "-b", builder, "-d", cache, str(source), str(out)]
        return int(import_module("sphinx.cmd.build").build_main(asked))


def main() -> int:
    """Build the site, or check its links to other sites."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "site", help="where the pages go")
    parser.add_argument("--links", action="store_true", help="check links to other sites instead")
    given = parser.parse_args()
    collect_garbage_rarely()
    code = build(given.out, "linkcheck" if given.links else "html")
    if code == 0:
        print(given.out / ("output.txt" if given.links else "index.html"))
    return code


if __name__ == "__main__":
    sys.exit(main())
