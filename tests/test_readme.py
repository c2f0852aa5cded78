"""The README is true: its Python blocks run as written, and say something."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from command_line import run_script

README = Path(__file__).resolve().parent.parent / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
# What each block prints, among other things.
EXPECTED = [
    ["end_to_end_robustness_mean", "to-the-mean", "betarce(robustness=0.8)"],
    ["parameter-perturbation    0.9", "Name: held"],
]


def test_every_block_is_tried() -> None:
    assert len(BLOCKS) == len(EXPECTED)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_python_blocks_run_as_written(number: int, tmp_path: Path) -> None:
    script = tmp_path / "example.py"
    script.write_text(BLOCKS[number], encoding="utf-8")
    done = run_script(script)
    assert done.returncode == 0, done.stderr
    for expected in EXPECTED[number]:
        assert expected in done.stdout, f"{expected!r} is not in:\n{done.stdout}"
