"""Draw the pictures of README and docs/the-paper.md from the tables of the committed paper run.

Run `python tools/readme_pictures.py`: it reads `results/paper/*.csv` and writes
`docs/robustness.png` and `docs/tradeoff.png`. The same tables give the same files. The first
picture, `docs/question.svg`, is that of the page on concepts, from models that are trained for it.
"""

from __future__ import annotations

import io
from pathlib import Path

import pandas as pd
from PIL import Image

from changeproof.report.figures import draw, encoded
from changeproof.report.printing import print_charts

ROOT = Path(__file__).resolve().parent.parent
# As wide as a page, and as fine as a screen.
WIDTH = 6.9
DOTS_PER_INCH = 200


def pictures(folder: Path) -> dict[str, bytes]:
    """Return the pictures of a run's tables as PNG files, by name."""
    paths = [folder / f"{name}.csv" for name in ("family_results", "full_results", "limit")]
    charts = dict(print_charts({path.stem: pd.read_csv(path) for path in paths if path.exists()}))
    figures = {
        "robustness": draw(charts["robustness"], columns=2, width=WIDTH),
        "tradeoff": draw(charts["tradeoff"], columns=4, width=WIDTH),
    }
    return {
        name: _smaller(encoded(figure, "png", dots_per_inch=DOTS_PER_INCH))
        for name, figure in figures.items()
    }


def _smaller(picture: bytes) -> bytes:
    """Return a PNG file with 256 colours, which is enough for these."""
    buffer = io.BytesIO()
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image.quantize(256, dither=Image.Dither.NONE).save(buffer, "png", optimize=True)
    return buffer.getvalue()


def main() -> None:
    """Write the pictures."""
    from docs_pictures import draw_question  # beside this file

    draw_question(ROOT / "docs" / "question.svg")
    for name, content in pictures(ROOT / "results" / "paper").items():
        path = ROOT / "docs" / f"{name}.png"
        path.write_bytes(content)
        print(f"{path.relative_to(ROOT)}: {len(content) / 1000:.0f} kB")


if __name__ == "__main__":
    main()
