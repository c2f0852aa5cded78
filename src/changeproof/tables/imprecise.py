"""The tables about advice that is followed imprecisely."""

from __future__ import annotations

import numpy as np
import pandas as pd

from changeproof.evaluation.imprecise import DRAWS, NOISE, WAYS
from changeproof.runs.pieces import Kind
from changeproof.runs.results import StoredResults
from changeproof.tables.cases import Case, cases, mean_and_std
from changeproof.tables.display import METHOD, Form, Heading, measured, spread

IMPRECISE, PEOPLE = "imprecise", "imprecise_people"
WHERE = ["dataset", "method"]


def imprecise_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Return how often advice holds that is followed imprecisely: of a method, and of everybody."""
    there = [case for case in cases(results) if results.finished(Kind.IMPRECISE, *case.key)]
    if not there:
        return {}
    everybody = pd.concat([_people(results, case) for case in there], ignore_index=True)
    seeds = everybody.groupby(["dataset", "base_seed", "method"], sort=False)[list(WAYS)].mean()
    table = mean_and_std(seeds.reset_index(), WHERE, WAYS) * 100.0
    people = everybody.dropna().groupby(WHERE, sort=False).size()
    table.insert(0, "people", people.reindex(table.index, fill_value=0))
    return {IMPRECISE: table.reset_index(), PEOPLE: everybody}


def _people(results: StoredResults, case: Case) -> pd.DataFrame:
    held = results.imprecise(*case.key)
    return pd.DataFrame(
        {**case.key._asdict(), "id": case.ids} | dict(zip(WAYS, np.transpose(held), strict=True))
    )


FORMS = {
    IMPRECISE: Form(
        "Advice that is followed imprecisely ({over})",
        "How much of the advice that the base model accepts it still accepts if it is followed "
        f"imprecisely (%): {{over}}. Every change of a number ends short of what was told, or "
        f"around it (normal, with a deviation of {NOISE} % of the change; {DRAWS} tries for each "
        "person). The model is today's: this is no change of the model, and counts in no other "
        "number.",
        (
            METHOD,
            (Heading("People"), lambda row: int(row["people"])),
            *((Heading(way, "↑"), measured(way, 1)) for way in WAYS),
        ),
        over=spread,
    ),
}
