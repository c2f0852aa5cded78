"""The table about the model that was judged, and how far a refit on the same rows is from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from changeproof.runs.content import Refit
from changeproof.runs.pieces import Kind
from changeproof.runs.results import StoredResults
from changeproof.tables.display import METHOD, Form, Heading, Row, Tables, fixed

MODEL = "model"
# The first row of a dataset is about all methods together.
ALL = "all"
AS_IT_IS, TRAINED_HERE = "as it is", "trained here"
COLUMNS = [
    "dataset", "method", "model", "reference", "kind", "digest", "columns", "threshold", "source",
    "training_rows", "test_rows", "people_differ", "people_differ_percent",
    "letters", "letters_refused", "letters_refused_percent", "refit_by", "no_refit",
]  # fmt: skip


def model_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Return which model was judged on each dataset; none of runs that do not say."""
    if results.manifest.judged is None:
        return {}
    rows = [row for dataset in results.manifest.tasks for row in _rows(results, dataset)]
    return {MODEL: pd.DataFrame(rows, columns=COLUMNS)}


def _rows(results: StoredResults, dataset: str) -> Iterator[dict[str, Any]]:
    """Yield what is known of the model, then of the letters of each method, where it is refitted.

    Of an unfinished run, as far as is known.
    """
    judged, task = results.manifest.judged, results.task(dataset)
    assert judged is not None
    about = {
        "dataset": dataset,
        "model": judged.name,
        "reference": judged.reference,
        "kind": judged.kind,
        "digest": judged.digest,
        "columns": judged.columns,
        "threshold": judged.threshold,
        "source": AS_IT_IS if judged.shipped else TRAINED_HERE,
        "training_rows": len(task.split.train),
        "test_rows": len(task.split.test),
        "refit_by": judged.refit_by,
        "no_refit": judged.no_refit,
    }
    base = (dataset, results.plan.base_seeds[0])
    if not (judged.refitted and results.finished(Kind.REFIT, *base)):
        yield about | {"method": ALL}
        return
    people = results.refit(*base)
    there = [name for name in results.methods if results.finished(Kind.REFIT, *base, name)]
    refits = {name: results.refit(*base, name) for name in there}
    if reason := people.reason:
        yield about | {"method": ALL, "no_refit": reason}
        return
    about |= _counted("people_differ", people.judged != people.refit)
    yield about | {"method": ALL} | _letters(*refits.values())
    yield from (about | {"method": name} | _letters(refit) for name, refit in refits.items())


def _letters(*refits: Refit) -> dict[str, Any]:
    """Return how many letters the judged model accepts, and how many of them its refits refuse."""
    refused = [~each.refit[each.judged] for each in refits]
    every = np.concatenate(refused) if refused else np.zeros(0, np.bool_)
    return {"letters": len(every), **_counted("letters_refused", every)}


def _counted(name: str, which: Any) -> dict[str, Any]:
    share = 100.0 * which.mean() if len(which) else np.nan
    return {name: int(which.sum()), f"{name}_percent": share}


def _by_method(tables: Tables, frame: pd.DataFrame) -> Sequence[Row]:
    """Return the rows about methods: all but the first of a dataset."""
    return frame[frame.duplicated("dataset")].to_dict("records")


FORMS = {
    MODEL: Form(
        "Advice that a refit refuses",
        "Pieces of advice (counterfactuals that the judged model accepts), and how many of them a "
        "refit of that model on the training rows refuses.",
        (
            METHOD,
            (Heading("Pieces of advice", short="Advice"), lambda row: int(row["letters"])),
            (Heading("Refused"), lambda row: int(row["letters_refused"])),
            (Heading("Refused (%)"), lambda row: fixed(row["letters_refused_percent"], 1)),
        ),
        rows=_by_method,
    ),
}
