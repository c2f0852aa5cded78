"""The tables of docs/faithful.md, from committed results: no number on the page is typed by hand.

    python -m benchmarks.faithful_page

puts them between the marks of the page.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from benchmarks.machine import RESULTS
from benchmarks.report import compared_table, markdown

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "faithful.md"
PAPER = ROOT / "results" / "paper" / "paper_comparison.csv"


def paper_table() -> str:
    """Return how far the paper's methods are from the numbers that were published."""
    numbers = pd.read_csv(PAPER)
    numbers = numbers[numbers["table"] == "full_results"]
    numbers = numbers.assign(off=(numbers["ours"] - numbers["published"]).abs())
    numbers["share"] = 100.0 * numbers["off"] / numbers["published"]
    lines = []
    for method, mine in numbers.groupby("method_or_family"):
        robust = mine[mine["metric"] == "empirical_robustness"]
        distance = mine[mine["metric"] == "distance"]
        within = int(mine["within"].sum())
        lines.append(
            [
                f"`{method}`",
                f"{within} of {len(mine)}",
                f"{robust['off'].mean():.2f} ({robust['off'].max():.2f})",
                f"{distance['share'].mean():.1f} ({distance['share'].max():.1f})",
            ]
        )
    header = ["method", "numbers within tolerance"]
    header += ["robustness off by, points: mean (most)", "distance off by, %: mean (most)"]
    return markdown(header, lines)


def same_table() -> str:
    """Return the libraries whose answers can be held against ours row by row."""
    table = pd.read_csv(RESULTS / "rivals.csv")
    table = table[table["ours"].notna()]
    lines = []
    for row in table.sort_values(["tool", "method", "dataset"]).itertuples():
        ours = str(row.ours).rpartition(":")[2]
        lines.append(
            [
                f"{row.tool} {row.version}: {row.method}",
                f"`{ours}`",
                f"{row.dataset}, {row.model}",
                f"{row.same_answers:.0f} of {row.answered_by_both:.0f}",
                f"{row.robustness:.1f} / {row.our_robustness:.1f}",
                f"{row.distance:.3f} / {row.our_distance:.3f}",
            ]
        )
    header = ["theirs", "ours", "on", "same rows", "robust %, theirs / ours"]
    return markdown([*header, "distance, theirs / ours"], lines)


def setting_table(setting: str) -> Callable[[], str]:
    """Return what makes the table of a setting of `faithful.csv`."""

    def table() -> str:
        rows = pd.read_csv(RESULTS / "faithful.csv")
        return compared_table(rows[rows["setting"] == setting])

    return table


TABLES: dict[str, Callable[[], str]] = {
    "paper": paper_table,
    "same": same_table,
    "proplace": setting_table("proplace"),
    "sns": setting_table("sns"),
}


def filled(page: str) -> str:
    """Return the page with every table between its marks made anew."""
    for name, table in TABLES.items():
        marks = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
        made = table()
        page, found = re.subn(
            marks,
            lambda match, made=made: f"{match[1]}\n{made}\n\n{match[2]}",
            page,
            flags=re.DOTALL,
        )
        if found != 1:
            raise SystemExit(f"{PAGE.name}: expected one place for the table {name}, found {found}")
    return page


def main() -> None:
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"written: docs/{PAGE.name}")


if __name__ == "__main__":
    main()
