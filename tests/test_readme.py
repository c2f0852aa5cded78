"""The README is true: its code runs, and it names the commands there are."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).resolve().parent.parent / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_python_blocks_run_as_written(number: int, tmp_path: Path) -> None:
    script = tmp_path / "example.py"
    # Worker processes import the main module again, as in any script that starts some.
    lines = "\n".join(
        f"    {line}" for line in BLOCKS[number].splitlines() if "import *" not in line
    )
    stars = "from changeproof import *\n" if "import *" in BLOCKS[number] else ""
    script.write_text(f"{stars}if __name__ == '__main__':\n{lines}\n")
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    if "measure" in BLOCKS[number]:
        assert "empirical_robustness=" in done.stdout


def test_there_are_examples() -> None:
    assert len(BLOCKS) == 2
