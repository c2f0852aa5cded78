"""The tables about what people are told."""

from __future__ import annotations

import pandas as pd

from changeproof.evaluation.advice import (
    QUALITIES,
    Plausibility,
    breach_shares,
    measure_advice,
)
from changeproof.runs.results import StoredResults

WHOSE = ["dataset", "method"]


def advice_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Return what answers ask of people, and which rules they broke before they were mended."""
    plausible: dict[str, Plausibility] = {}
    measured, broken = [], []
    for key in results.answered:
        task, answers = results.task(key.dataset), results.counterfactuals(*key)
        if key.dataset not in plausible:
            plausible[key.dataset] = Plausibility(task)
        advice = measure_advice(task, answers, plausible[key.dataset])
        measured.append({**key._asdict(), **advice.as_dict()})
        shares = breach_shares(task, answers)
        broken += [{**key._asdict(), "breach": way, "share": s} for way, s in shares.items()]
    return {"advice": _advice(measured), "breaches": _breaches(broken)}


def _advice(rows: list[dict[str, object]]) -> pd.DataFrame:
    """Mean and standard deviation over base models."""
    order = [f"{quality}_{which}" for which in ("mean", "std") for quality in QUALITIES]
    frame = pd.DataFrame(rows, columns=[*WHOSE, "base_seed", *QUALITIES])
    table = frame.groupby(WHOSE, sort=False)[list(QUALITIES)].agg(["mean", "std"])
    table.columns = ["_".join(column) for column in table.columns]
    return table[order].reset_index()


def _breaches(rows: list[dict[str, object]]) -> pd.DataFrame:
    """Mean share over base models, of the rules that were broken at all."""
    frame = pd.DataFrame(rows, columns=[*WHOSE, "base_seed", "breach", "share"])
    table = frame.groupby([*WHOSE, "breach"], sort=False)["share"].mean().reset_index()
    return table[table["share"] > 0].reset_index(drop=True)
