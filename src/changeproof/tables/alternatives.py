"""The table about further choices: who gets them, how far they go and whether they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from changeproof.runs.results import AnswerKey, StoredResults
from changeproof.tables.cases import Case, mean_and_std
from changeproof.tables.display import METHOD, Form, Heading, measured, spread

ALTERNATIVES = "alternatives"
MEASURED = ("advised", "empirical_robustness", "distance", "times_as_far")


def alternative_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Return for every choice of a method who gets it, how often it holds and how far it is.

    Percentages. `advised` is of those who ask: they have advice that the base model accepts.
    `times_as_far` compares with the first choice, person by person. Nothing with one choice.
    """
    if results.plan.alternatives == 1:
        return {}
    rows = [row for key in results.answered for row in _rows(results, key)]
    columns = ["dataset", "method", "choice", "people", *MEASURED]
    frame = pd.DataFrame(rows, columns=columns)
    where = ["dataset", "method", "choice"]
    table = mean_and_std(frame, where, MEASURED)
    table.insert(0, "people", frame.groupby(where, sort=False)["people"].sum())
    return {ALTERNATIVES: table.reset_index()}


def _rows(results: StoredResults, key: AnswerKey) -> list[dict[str, Any]]:
    every = [Case.of(results, each) for each in results.choices(key)]
    first = every[0].task.distances(every[0].answers.factuals, every[0].answers.rows)
    rows = []
    for number, case in enumerate(every, start=1):
        answers, valid = case.answers, case.answers.base_valid
        asking = answers.asking if number == 1 else every[0].answers.asking
        distances = case.task.distances(answers.factuals, answers.rows)
        held = case.survived[valid][:, case.models()]
        rows.append(
            {
                "dataset": key.dataset,
                "method": key.method,
                "choice": number,
                "people": int(valid.sum()),
                "advised": 100.0 * valid[asking].mean() if asking.any() else np.nan,
                "empirical_robustness": 100.0 * held.mean() if held.size else np.nan,
                "distance": distances[valid].mean() if valid.any() else np.nan,
                "times_as_far": (distances[valid] / first[valid]).mean() if valid.any() else np.nan,
            }
        )
    return rows


FORMS = {
    ALTERNATIVES: Form(
        "Further choices ({over})",
        "Further choices: {over}. Each leaves the main feature of those before alone. Advised: of "
        "those who ask, the share with advice that the base model accepts (%). Times as far: the "
        "distance over that of the same person's first advice.",
        (
            METHOD,
            (Heading("Choice"), lambda row: int(row["choice"])),
            (Heading("People"), lambda row: int(row["people"])),
            (Heading("Advised (%)", "↑", short="Advised"), measured("advised", 1)),
            (Heading("Emp. robust.", "↑", short="Robust"), measured("empirical_robustness", 1)),
            (Heading("Distance", "↓"), measured("distance", 3)),
            (Heading("Times as far", "↓", short="Times"), measured("times_as_far", 2)),
        ),
        over=spread,
    ),
}
