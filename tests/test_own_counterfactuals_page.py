"""The page on own counterfactuals is true: its blocks run from top to bottom, as one script."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parent.parent / "docs" / "own-counterfactuals.md"
WITHOUT_DICE = [
    "['1 of {rejected} rows hold no counterfactual']",
    "given {{'found': ",
    "'not in the table': ",
    "kdtree {{'found': ",
    "empirical_robustness=",
]


@pytest.mark.parametrize("with_dice", [False, True], ids=["without DiCE", "with DiCE"])
def test_blocks_run_from_top_to_bottom(with_dice: bool, tmp_path: Path) -> None:
    if with_dice and find_spec("dice_ml") is None:
        pytest.skip("dice-ml is not installed (extra: dice)")
    text = PAGE.read_text(encoding="utf-8")
    text = text if with_dice else text.partition("## From DiCE")[0]
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) == 3 + with_dice
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    rejected = (tmp_path / "loans.csv").read_text(encoding="utf-8").count(",no\n")
    for expected in [*WITHOUT_DICE, *(["dice Metrics("] if with_dice else [])]:
        shown = expected.format(rejected=rejected)
        assert shown in done.stdout, f"{shown!r} is not in:\n{done.stdout}"
