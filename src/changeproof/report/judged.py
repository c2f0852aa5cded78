"""Which model was judged, and how a refit differs from it: the sentences that come first."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from changeproof.runs.plan import DEFAULT_MODEL
from changeproof.tables.display import Row, Tables, listed, percent
from changeproof.tables.model import MODEL, TRAINED_HERE
from changeproof.tables.names import dataset_name

OBJECT = "object:"
DIFFER, REFUSED = "people_differ", "letters_refused"
KEEP_IN_MIND = "read the families that retrain with that in mind"
# The remedy: a clone that is fitted on the same rows differs by its change alone.
NAME_ROWS = "If it was fitted on other rows and you know which, name them with --split COLUMN."


def judged_words(tables: Tables) -> str:
    """Say which model was judged, and what a refit of it does; "" in runs of earlier versions."""
    rows = _about_models(tables)
    if rows and rows[0]["source"] == TRAINED_HERE:
        return f"Judged: {_trained(rows)}."
    return " ".join(f"Judged: {_shipped(row)}, as it is. {_refit(row)}" for row in rows)


def refit_words(tables: Tables) -> str:
    """Return the end of `judged_words`: what a refit of a model does; "" of one trained here."""
    shipped = [row for row in _about_models(tables) if row["source"] != TRAINED_HERE]
    return _refit(shipped[-1]) if shipped else ""


def _about_models(tables: Tables) -> list[Row]:
    """Return the rows about models: the first of a dataset, as the others are about methods."""
    table = tables.get(MODEL, pd.DataFrame())
    return [] if table.empty else list(table.drop_duplicates("dataset").to_dict("records"))


def _trained(rows: Sequence[Row]) -> str:
    name, here = str(rows[0]["model"]), [f"{int(row['training_rows']):,} rows" for row in rows]
    name = f"a neural network ({name})" if name.startswith(DEFAULT_MODEL) else name
    if len(rows) > 1:
        on = [dataset_name(str(row["dataset"])) for row in rows]
        here = [f"{count} of {dataset}" for count, dataset in zip(here, on, strict=True)]
    return f"{name}, trained here on {listed(here)}"


def _shipped(row: Row) -> str:
    reference, name = str(row["reference"]), str(row["model"])
    if not reference.startswith(OBJECT):
        return f"the {row['kind']} of {reference}"
    named = "" if name in str(row["kind"]) else f" {name}"
    return f"the {row['kind']}{named} that was passed"


def _refit(row: Row) -> str:
    if row["no_refit"]:
        return f"There is no refit to compare it with: {str(row['no_refit']).removesuffix('.')}."
    if pd.isna(row[DIFFER]):
        return "How a refit differs from it is not known yet."
    people, letters = int(row["test_rows"]), int(row["letters"])
    differ, refused = int(row[DIFFER]), int(row[REFUSED])
    rows = f"on the {int(row['training_rows']):,} training rows"
    who = f"A refit of it {rows}"
    if row["refit_by"]:
        who = f"Its refits are by {row['refit_by']}. Trained {rows}, this"
    if not (differ or refused):
        also = f", and accepts all {_pieces(letters)} that it accepts" if letters else ""
        return f"{who} decides all {people:,} people as it does{also}."
    words = (
        f"{who} decides {differ:,} of {people:,} people {_share(row, 'people_differ')} differently"
    )
    if letters:
        words += (
            f" and refuses {refused:,} of {_pieces(letters)} {_share(row, 'letters_refused')} "
            "that the judged model accepts"
        )
    # What is fitted by another learner differs in any case.
    remedy = "" if row["refit_by"] else f" {NAME_ROWS}"
    return f"{words}: {KEEP_IN_MIND}.{remedy}"


def _pieces(count: int) -> str:
    """Return how many answers these are: of methods, or letters that are out."""
    return f"{count:,} {'piece' if count == 1 else 'pieces'} of advice"


def _share(row: Row, name: str) -> str:
    return f"({percent(float(row[f'{name}_percent']))})"
