"""The page on own data is true: its blocks run from top to bottom, as one script."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "own-data.md"


def test_blocks_run_from_top_to_bottom(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for expected in (
        "Task('loans', 600 rows, 6 features)",
        "purpose categorical ('car', 'house', 'study')",
        "owner binary ('no', 'yes')",
        "empirical_robustness=",
        "column 'income' lacks 2 of 600 values (first at row 'A0003')",
        "Task('diabetes', 768 rows, 8 features)",
    ):
        assert expected in done.stdout, f"{expected!r} is not in:\n{done.stdout}"
