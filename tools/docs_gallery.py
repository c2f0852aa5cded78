"""Run the examples of the gallery, and write pages with what they printed and drew."""

from __future__ import annotations

import ast
import contextlib
import io
import os
from pathlib import Path

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt


def write_gallery(examples: Path, folder: Path, work: Path) -> None:
    """Write a page per example, and one that lists them.

    Parameters
    ----------
    examples
        Python files. The docstring of each is the text of its page, title first.
    folder
        Where the pages and pictures go.
    work
        An empty folder to run them in.
    """
    folder.mkdir()
    pages = []
    for path in sorted(examples.glob("*.py")):
        source = path.read_text(encoding="utf-8")
        tree = ast.parse(source)
        told = ast.get_docstring(tree)
        if told is None:
            raise ValueError(f"{path} has no docstring, which is the text of its page")
        code = source[_after_docstring(source, tree) :].strip()
        parts = [f"# {told}", f"```python\n{code}\n```"]
        printed = _run(source, path, work)
        if printed:
            parts.append(f"It prints:\n\n```text\n{printed.rstrip()}\n```")
        for number in plt.get_fignums():
            picture = f"{path.stem}-{number}.svg"
            plt.figure(number).savefig(folder / picture)
            parts.append(f"![What the example draws]({picture})")
        plt.close("all")
        (folder / f"{path.stem}.md").write_text("\n\n".join([*parts, ""]), encoding="utf-8")
        pages.append(path.stem)
    listed = "\n".join(pages)
    text = (
        "# Gallery\n\nShort examples. They were run when this page was built, and print what is "
        f"shown.\n\n```{{toctree}}\n{listed}\n```\n"
    )
    (folder / "index.md").write_text(text, encoding="utf-8")


def _after_docstring(source: str, tree: ast.Module) -> int:
    """Return where the code behind the docstring begins."""
    lines = source.splitlines(keepends=True)
    return sum(len(line) for line in lines[: tree.body[0].end_lineno])


def _run(source: str, path: Path, work: Path) -> str:
    """Run an example in a folder, and return what it printed."""
    before, printed = Path.cwd(), io.StringIO()
    os.chdir(work)
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(source, str(path), "exec"), {"__name__": "__main__"})
    finally:
        os.chdir(before)
    return printed.getvalue()
