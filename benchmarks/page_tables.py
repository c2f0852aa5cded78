"""The tables of pages in docs/, from committed results: no number in them is typed by hand.

    python -m benchmarks.page_tables

puts them between the marks of the pages.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.machine import RESULTS
from benchmarks.report import compared_table, markdown
from changeproof.paper.comparison import PUBLISHED
from changeproof.tables.names import method_name

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAPER = ROOT / "results" / "paper"
QUORUM = ROOT / "results" / "quorum"
DATASETS = ("breast-cancer", "diabetes", "wine-quality", "heloc")
# By how many points a method may hold less often than quorum and still be called as robust.
AS_ROBUST = 0.5
# Whose methods are shown beside ours, and which of ours are.
RIVALS = ("dice", "rocelib")
OURS = ("kdtree", "wachter", "apds", "mce-r", "betarce", "robx-balanced", "quorum")


def paper_table() -> str:
    """Return how far the paper's methods are from the numbers that were published."""
    numbers = pd.read_csv(PAPER / "paper_comparison.csv")
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


def results_table() -> str:
    """Return end-to-end robustness and distance in the paper's run, published in brackets."""
    ours = pd.read_csv(PAPER / "full_results.csv").set_index(["method", "dataset"])
    theirs = pd.read_csv(PUBLISHED / "full_results.csv").set_index(["method", "dataset"])
    rate, distance = "end_to_end_robustness_mean", "distance_mean"
    lines = []
    for method in sorted(set(ours.index.get_level_values("method"))):
        line = [method]
        for dataset in DATASETS:
            here, there = ours.loc[(method, dataset)], theirs.loc[(method, dataset)]
            line.append(
                f"{here[rate]:.1f} ({there[rate]:.1f}) at "
                f"{here[distance]:.2f} ({there[distance]:.2f})"
            )
        lines.append(line)
    return markdown(["method", *DATASETS], lines)


def limit_table() -> str:
    """Return the limit, quorum, and the nearest published method that holds as often."""
    limit = pd.read_csv(QUORUM / "limit.csv")
    limit = limit[limit["family"] == "all"].set_index(["share", "dataset"])["distance_mean"]
    lines = [
        [f"{share} %", *(f"{limit[share, dataset]:.2f}" for dataset in DATASETS)]
        for share in (100, 99, 95)
    ]
    results = pd.read_csv(QUORUM / "full_results.csv")
    robust = "empirical_robustness_mean"
    quorum, published = ["**quorum**"], ["published, as robust"]
    for dataset in DATASETS:
        here = results[results["dataset"] == dataset].set_index("method")
        mine = here.loc["quorum"]
        quorum.append(f"{mine[robust]:.1f} % at {mine['distance_mean']:.2f}")
        others = here[~here.index.str.startswith("quorum")]
        others = others[others[robust] >= mine[robust] - AS_ROBUST]
        nearest = others.loc[others["distance_mean"].idxmin()]
        published.append(
            f"{method_name(str(nearest.name))} {nearest[robust]:.1f} % at "
            f"{nearest['distance_mean']:.2f}"
        )
    return markdown(["share of changed models", *DATASETS], [*lines, quorum, published])


def measured_table() -> str:
    """Return other tools' methods and some of ours on the same people and changed models."""
    table = pd.read_csv(RESULTS / "rivals.csv")
    table = table[(table["model"] == "network") & table["robustness"].notna()]
    ours = table[(table["tool"] == "changeproof") & table["method"].isin(OURS)]
    theirs = table[table["tool"].isin(RIVALS)].sort_values(["tool", "method"])
    datasets = sorted(set(theirs["dataset"]))
    lines = []
    for (tool, version, method), rows in pd.concat([theirs, ours]).groupby(
        ["tool", "version", "method"], sort=False
    ):
        on = {row.dataset: row for row in rows.itertuples()}
        name = "changeproof" if tool == "changeproof" else f"{tool} {version}"
        line = [f"{name}: {method}", *(_holds(on.get(dataset)) for dataset in datasets)]
        waits = [f"{1000 * on[it].seconds_per_person:.1f}" if it in on else "-" for it in datasets]
        lines.append([*line, " / ".join(waits)])
    return markdown(["method", *datasets, f"ms a person ({' / '.join(datasets)})"], lines)


def _holds(row: Any) -> str:
    """Return how often answers of a row of `rivals.csv` hold, and how far they are."""
    if row is None:
        return "-"
    some = "" if row.coverage == 100.0 else f", for {row.coverage:.1f} % of people"
    return f"{row.robustness:.1f} % at {row.distance:.2f}{some}"


TABLES: dict[str, dict[str, Callable[[], str]]] = {
    "faithful.md": {
        "paper": paper_table,
        "same": same_table,
        "proplace": setting_table("proplace"),
        "sns": setting_table("sns"),
    },
    "the-paper.md": {"results": results_table, "limit": limit_table},
    "compared.md": {"measured": measured_table},
}


def filled(name: str, page: str) -> str:
    """Return the text of a page with every table between its marks made anew."""
    for place, table in TABLES[name].items():
        marks = rf"(<!-- {place} -->\n).*?(<!-- end -->)"
        made = table()
        page, found = re.subn(
            marks,
            lambda match, made=made: f"{match[1]}\n{made}\n\n{match[2]}",
            page,
            flags=re.DOTALL,
        )
        if found != 1:
            raise SystemExit(f"{name}: expected one place for the table {place}, found {found}")
    return page


def main() -> None:
    """Put all tables into their pages."""
    for name in TABLES:
        path = DOCS / name
        path.write_text(filled(name, path.read_text(encoding="utf-8")), encoding="utf-8")
        print(f"written: docs/{name}")


if __name__ == "__main__":
    main()
