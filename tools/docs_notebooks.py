"""Turn executed notebooks into pages of the site, with what their cells show."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Longer than any fence that stands in a cell.
FENCE = "`" * 8


def write_notebooks(notebooks: Path, folder: Path) -> None:
    """Write a page per notebook, and one that lists them; they are not run."""
    folder.mkdir()
    pages = []
    for path in sorted(notebooks.glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        parts = [part for cell in cells for part in _parts(cell)]
        parts.append(f"[This page as a notebook](../docs/notebooks/{path.name})")
        (folder / f"{path.stem}.md").write_text("\n\n".join([*parts, ""]), encoding="utf-8")
        pages.append(path.stem)
    listed = "\n".join(pages)
    text = (
        "# Notebooks\n\nWhat results show of themselves in Jupyter. A test runs these notebooks "
        f"and compares their numbers.\n\n```{{toctree}}\n{listed}\n```\n"
    )
    (folder / "index.md").write_text(text, encoding="utf-8")


def _parts(cell: dict[str, Any]) -> Iterator[str]:
    """Yield a cell and what it shows, as Markdown."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield f"{FENCE}python\n{source}\n{FENCE}"
    for output in cell["outputs"]:
        data = output.get("data", {})
        if "text/html" in data:
            yield f"{FENCE}{{raw}} html\n{''.join(data['text/html'])}\n{FENCE}"
        elif text := "".join(data.get("text/plain", output.get("text", ""))).rstrip():
            yield f"{FENCE}text\n{text}\n{FENCE}"
