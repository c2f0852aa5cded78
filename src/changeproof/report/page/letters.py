"""Letters that are out: what successors do to them, person by person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from changeproof.report.letters import WHOSE, letter_paragraphs, letter_part
from changeproof.report.names import dataset_name, family_name, method_name
from changeproof.report.numbers import number
from changeproof.runs.letter_tables import BREAKS, HOLDS
from changeproof.runs.results import ALL_FAMILIES

ORDER = {BREAKS: 0, HOLDS: 1}
MARGINS = ("today_score", "today_margin", "successor_score", "successor_margin")
DISTANCES = ("old", "further", "together", "more")
FACTUAL = "factual:"


def letters(tables: Mapping[str, pd.DataFrame]) -> list[dict[str, Any]] | None:
    """Return a view per table of letters and successor; None where there are none."""
    compared = tables.get("successors", pd.DataFrame())
    if compared.empty:
        return None
    said = letter_paragraphs(tables)
    return [
        _view(tables, key, rows, words)
        for (key, rows), words in zip(compared.groupby(WHOSE, sort=False), said, strict=True)
    ]


def _view(
    tables: Mapping[str, pd.DataFrame], key: Any, rows: pd.DataFrame, words: list[list[str]]
) -> dict[str, Any]:
    dataset, seed, method, successor = key
    renewals = tables.get("renewals", pd.DataFrame())
    people = _people(tables, key)
    features = [name for name in people.columns if name.startswith(FACTUAL)]
    return {
        "name": f"{method_name(method)} on {dataset_name(dataset)} ({seed}) under {successor}",
        "words": [" ".join(sentences) for sentences in words],
        "thresholds": [str(people[f"{who}_threshold"].iloc[0]) for who in ("today", "successor")],
        "families": [_family(row) for row in rows.to_dict("records")],
        "features": [name.removeprefix(FACTUAL) for name in features],
        "people": [
            [
                str(row["id"]),
                row["verdict"] if pd.isna(row["reason"]) else f"{row['verdict']}: {row['reason']}",
                *(number(row[name]) for name in MARGINS),
                [int(row["simulated_hold"]), int(row["simulated_models"])],
                "" if pd.isna(row["advice"]) else str(row["advice"]),
                [str(row[name]) for name in features],
            ]
            for row in people.to_dict("records")
        ],
        "renewals": [] if renewals.empty else _renewals(letter_part(renewals, key)),
    }


def _people(tables: Mapping[str, pd.DataFrame], key: Any) -> pd.DataFrame:
    """Return everybody with a letter: broken ones first, those that are farthest off before."""
    table = letter_part(tables["letters"], key)
    order = table["verdict"].map(ORDER).fillna(len(ORDER))
    table = table.assign(order=order, reason=table["reason"].replace("", None))
    return table.sort_values(["order", "successor_margin"], kind="stable")


def _renewals(table: pd.DataFrame) -> list[list[Any]]:
    """Return who, what more there is to change (or why nothing was found), and how far it is."""
    return [
        [
            str(row["id"]),
            str(row["changes"]) if bool(row["accepted"]) else f"no renewal: {row['outcome']}",
            *(number(row[f"distance_{which}"]) for which in DISTANCES),
        ]
        for row in table.to_dict("records")
    ]


def _family(row: Mapping[Any, Any]) -> list[Any]:
    name = "all simulated" if row["family"] == ALL_FAMILIES else family_name(str(row["family"]))
    spread = [
        number(row[f"{what}_{which}"])
        for what in ("broken", "decisions_changed")
        for which in ("least", "median", "most")
    ]
    counts = [row["models_break_as_many"], row["models_change_as_many"]]
    return [name, int(row["models"]), *spread, *(None if pd.isna(n) else int(n) for n in counts)]
