"""The notebooks of the docs are executed, small, and show the same numbers when run again."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
# Of numbers as they are shown: what another version of a library may make of the last digit.
CLOSE = 0.02


def test_there_is_one_for_each_reader() -> None:
    names = {"before-a-release.ipynb", "a-new-method.ipynb"}
    assert {path.name for path in NOTEBOOKS} == names
    linked = (ROOT / "docs" / "plugs-in.md").read_text(encoding="utf-8")
    assert all(f"notebooks/{name}" in linked for name in names)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_kept_with_what_it_shows_and_nothing_of_a_machine(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.encode()) < 300_000
    assert not re.search(r"/(?:tmp|home|root|work|Users)/|site-packages|[A-Z]:\\\\", text)
    notebook = json.loads(text)
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    kinds = {output["output_type"] for cell in code for output in cell["outputs"]}
    assert kinds <= {"execute_result", "stream"}
    shown = "".join(
        "".join(o.get("data", {}).get("text/html", "")) for c in code for o in c["outputs"]
    )
    assert shown.count('<div class="changeproof"') >= 3 and "data:image/svg+xml;base64," in shown
    assert "<script" not in shown and "http" not in shown


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_shows_the_same_when_run_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("nbclient", reason="nbclient is not installed (extra: dev)")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed (extra: dev)")
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import nbformat

    from run_notebooks import executed, texts

    before = texts(nbformat.read(path, as_version=4))
    again = texts(executed(path))
    assert len(before) == len(again) >= 4
    for kept, found in zip(before, again, strict=True):
        assert NUMBER.sub("#", kept).split() == NUMBER.sub("#", found).split()
        numbers = [[float(each) for each in NUMBER.findall(text)] for text in (kept, found)]
        assert numbers[1] == pytest.approx(numbers[0], abs=CLOSE)
