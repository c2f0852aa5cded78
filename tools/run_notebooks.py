"""Run the notebooks of the docs, and write them back with what they show.

python tools/run_notebooks.py [NOTEBOOK …]

Each is run in an empty folder by a kernel of its own, and kept without what only this machine
would have: no paths, no names of environments, not when a cell was run. How long methods took is
kept as it was measured.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "docs" / "notebooks"
LARGEST = 300_000
PATIENCE = 1200
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
# What is trained for a notebook is trained there, by one thread.
ENVIRONMENT = {"CHANGEPROOF_MODELS": "off", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def executed(path: Path) -> Any:
    """Run a notebook in an empty folder, and return it with its outputs."""
    notebook: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    os.environ.update(ENVIRONMENT)
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        client = NotebookClient(
            notebook, timeout=PATIENCE, kernel_name="python3", resources=resources
        )
        client.execute()
        return cleaned(notebook, (folder, str(ROOT), str(Path.home())))


def cleaned(notebook: Any, places: tuple[str, ...]) -> Any:
    """Take away what is only true of this machine; refuse what would tell its folders."""
    notebook.metadata = nbformat.from_dict(  # type: ignore[no-untyped-call]
        {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    )
    for number, cell in enumerate(notebook.cells, start=1):
        cell.metadata, cell.id = {}, f"cell-{number}"
        for output in cell.get("outputs", ()):
            output.pop("metadata", None)
            if output.output_type in ("display_data", "execute_result"):
                output.metadata = {}
    text = nbformat.writes(notebook)  # type: ignore[no-untyped-call]
    for place in places:
        if place != "/" and place in text:
            raise ValueError(f"an output names a folder of this machine: {place}")
    return notebook


def texts(notebook: Any) -> list[str]:
    """Return what the cells of a notebook show as text, in their order."""
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            shown = output.get("data", {}).get("text/plain", output.get("text", ""))
            found.append(str(shown))
    return found


def main() -> int:
    """Run notebooks and write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("notebooks", nargs="*", type=Path, help="all of docs/notebooks by default")
    for path in parser.parse_args().notebooks or sorted(NOTEBOOKS.glob("*.ipynb")):
        content = nbformat.writes(executed(path)) + "\n"  # type: ignore[no-untyped-call]
        if len(content.encode()) > LARGEST:
            raise ValueError(f"{path.name} would have {len(content):,} bytes; at most {LARGEST:,}")
        path.write_text(content, encoding="utf-8")
        print(f"{path.name}: {len(content.encode()) / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
