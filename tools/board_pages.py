"""Write results/board/README.md from the leaderboard.json beside it.

python tools/board_pages.py
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from changeproof.board.page import fixed, model_name, page_of, seconds
from changeproof.board.publishing import JSON, PAGE
from changeproof.tables.names import dataset_name

BOARD = Path(__file__).parent.parent / "results" / "board"
HEAD = """# The leaderboard

Benchmark version {version}: {entries} entries, every number computed again from their answers.
Open `index.html` beside this file for intervals, families side by side, pictures, filters and a
card per method. `leaderboard.json` and `leaderboard.parquet` have the same numbers (CC0).
`entries/` has what was handed in, answers included, and `records/` what was computed from them. How
to hand in a method, verify one or break one: [docs/board.md](../../docs/board.md).

- *held*: share of all people who ask whose advice the changed models accept, in percent (end to
  end).
- *distance*: typical deviations per feature. *price*: the distance over the limit, the shortest
  change that a search finds that holds as often for the same people and knows the changed models.
- *at 95*, *at 99*: among the entries that hold for so many percent, group A has the one with the
  least price and all without a clear difference to it. There are no ranks.
- *seconds*: processor time per person, tuning and fitting included, as the keeper ran it again.

Written by `tools/fill_board.py`, never edited.
"""
COLUMNS = ("entry", "state", "answered", "held", "distance", "price", "at 95", "at 99", "seconds")


def readme_of(document: Mapping[str, Any]) -> str:
    """Return the page in Markdown for what `leaderboard.json` holds."""
    entries = {each["name"]: each for each in document["entries"]}
    parts = [HEAD.format(version=document["benchmark"], entries=len(entries))]
    for track in document["tracks"]:
        data = ", ".join(dict.fromkeys(dataset_name(cell["dataset"]) for cell in track["data"]))
        models = ", ".join(dict.fromkeys(model_name(cell["model"]) for cell in track["data"]))
        parts.append(
            f"\n## {track['title']}\n\n{track['words']}\n\n"
            f"{data}, with {models}; {track['answers']:,} answers each.\n"
        )
        parts.append("\n| " + " | ".join(COLUMNS) + " |\n|---|---|" + "---:|" * 7 + "\n")
        for result in document["results"]:
            if result["track"] == track["name"]:
                parts.append("| " + " | ".join(_line(result, entries[result["entry"]])) + " |\n")
    return "".join(parts)


def _line(result: Mapping[str, Any], entry: Mapping[str, Any]) -> list[str]:
    above = result["above"]
    return [
        entry["label"],
        entry["state"],
        fixed(result["coverage"]["value"]),
        fixed(result["end_to_end"]["value"]),
        fixed(result["distance"]["value"], 2),
        fixed(result["price"]["value"], 2),
        above.get("95", ""),
        above.get("99", ""),
        seconds(result["seconds_per_person"]),
    ]


def main() -> None:
    document = json.loads((BOARD / JSON).read_bytes())
    (BOARD / PAGE).write_bytes(page_of(document))
    (BOARD / "README.md").write_text(readme_of(document), encoding="utf-8")


if __name__ == "__main__":
    main()
