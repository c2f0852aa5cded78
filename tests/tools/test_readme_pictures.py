"""The pictures of the paper's results are those of the committed tables."""

from __future__ import annotations

import io
import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]


def test_pictures_show_the_committed_tables() -> None:
    spec = spec_from_file_location("readme_pictures", ROOT / "tools" / "readme_pictures.py")
    assert spec is not None
    assert spec.loader is not None
    tool = module_from_spec(spec)
    spec.loader.exec_module(tool)
    pictures: dict[str, bytes] = tool.pictures(ROOT / "results" / "paper")
    page = (ROOT / "docs" / "the-paper.md").read_text(encoding="utf-8")
    shown = re.findall(r"!\[.+?\]\((\S+\.png)\)", page)
    drawn = [f"{name}.png" for name in pictures]
    assert [path for path in shown if path in drawn] == drawn
    for name, picture in pictures.items():
        path = ROOT / "docs" / f"{name}.png"
        assert path.stat().st_size < 200_000
        # Arithmetic in the last digit may shade an edge otherwise; another digit is far more.
        ours, committed = (
            np.asarray(Image.open(file).convert("RGB"), dtype=float)
            for file in (io.BytesIO(picture), path)
        )
        assert ours.shape == committed.shape
        assert (np.abs(ours - committed).max(axis=-1) > 64).sum() < 10
