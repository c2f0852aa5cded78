"""The principal reasons for decisions, in words, and their table."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import pandas as pd

from changeproof.datasets.recourse import Wording
from changeproof.datasets.words import capital, fill
from changeproof.evaluation.reasons import Reason
from changeproof.runs.pieces import Kind
from changeproof.runs.results import StoredResults

REASONS = "reasons"
COLUMNS = ["dataset", "base_seed", "id", "rank", "feature", "code", "sentence", "worth"]


class ToldReason(NamedTuple):
    """A principal reason for a decision, derived from this model and these rules.

    Attributes
    ----------
    rank
        From 1, the weightiest first.
    feature, code, sentence
        What it is about; as the dataset file calls it.
    worth
        How many times as far the nearest accepted row is if this feature, and those of the reasons
        before it, stay as they are; infinite where none was found.
    """

    rank: int
    feature: str
    code: str
    sentence: str
    worth: float

    @property
    def words(self) -> str:
        """What its change is worth, in words."""
        kept = "if it stays" if self.rank == 1 else "if it stays as well"
        if math.isinf(self.worth):
            return f"{kept}, no accepted row was found"
        farther = round(100 * (self.worth - 1))
        return f"{kept}, {farther} % farther" if farther else f"{kept}, other changes are as near"

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, as for JSON: None where the worth is infinite."""
        return self._asdict() | {"worth": None if math.isinf(self.worth) else self.worth}


class PrincipalReasons:
    """The reasons of the people of a base model, in words."""

    def __init__(
        self, results: StoredResults, dataset: str, base_seed: int, wording: Wording | None = None
    ) -> None:
        task = results.task(dataset)
        self.wording = wording or Wording(task, feasible=True)
        self._found = results.reasons(dataset, base_seed)
        self.row_ids = self._found.row_ids.tolist()
        self._places = {row_id: place for place, row_id in enumerate(self.row_ids)}
        row_ids = self._found.row_ids
        self._factuals = task.standardise(task.frame.loc[row_ids.tolist()])

    def known(self, row_id: int) -> bool:
        """Say whether an accepted row of this person was found, so that there can be reasons."""
        place = self._places.get(row_id)
        return place is not None and bool(self._found.found[place])

    def of(self, row_id: int) -> tuple[ToldReason, ...]:
        """Return the reasons for the decision about one person; none where none were found."""
        place = self._places.get(row_id)
        if place is None or not self._found.found[place]:
            return ()
        (values,) = self.wording.values(self._factuals[[place]])
        return tuple(
            self._told(rank, each, values)
            for rank, each in enumerate(self._found.of(place), start=1)
        )

    def _told(self, rank: int, reason: Reason, values: list[str]) -> ToldReason:
        wording, place = self.wording, reason.place
        name, label = wording.names[place], wording.labels[place]
        words = wording.words[place].reason
        own = (words.low if reason.low else words.high) if wording.has_order(place) else None
        template = own or words.sentence or wording.language.sentences["reason"]
        # A column that nobody has a word for is named as the table names it.
        first = label if wording.words[place].label is None else capital(label)
        named = {"feature": label, "Feature": first, "value": values[place]}
        sentence = fill(template, named)
        return ToldReason(rank, name, words.code or name, sentence, reason.worth)


def with_reasons(results: StoredResults) -> list[tuple[str, int]]:
    """Return the base models, by dataset and seed, whose people have reasons."""
    return [
        (dataset, seed)
        for dataset in results.manifest.tasks
        for seed in results.plan.base_seeds
        if results.finished(Kind.REASONS, dataset, seed)
    ]


def reason_tables(results: StoredResults) -> dict[str, pd.DataFrame]:
    """Return the principal reasons for every decision, where a run has looked for them."""
    if not (there := with_reasons(results)):
        return {}
    rows = []
    for key in there:
        reasons, ids = PrincipalReasons(results, *key), results.task(key[0]).ids
        rows += [
            (*key, ids.loc[row_id], each.rank, each.feature, each.code, each.sentence, each.worth)
            for row_id in reasons.row_ids
            for each in reasons.of(row_id)
        ]
    return {REASONS: pd.DataFrame(rows, columns=COLUMNS)}
