"""Tables of scores: what a model says of letters that may not leave the house."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from changeproof.adapters.tables import ID_COLUMNS, read_with_ids, row_ids_of
from changeproof.datasets.task import Task
from changeproof.datasets.threshold import HALF, Threshold
from changeproof.errors import InputError
from changeproof.methods.given import PREFIX, ROW_ID
from changeproof.model import Floats
from changeproof.models.learner import FittedModel
from changeproof.models.thresholds import ThresholdModel

SCORE = "score"
MOST_NAMED = 3


class TabledModel(FittedModel):
    """A model that is known on some rows only; its scores of others are NaN."""

    def scores(self, rows: Floats) -> Floats:
        found = [self._predict.get(row.tobytes(), np.nan) for row in np.ascontiguousarray(rows)]
        return np.array(found, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """The scores that a model gave the letters, by the people's ids.

    `reference` says where the table `frame` of ids and scores is from. `known` has the score of
    every letter's row, once the letters are known.
    """

    name: str
    reference: str
    frame: pd.DataFrame
    known: dict[bytes, float] = field(default_factory=dict)

    @classmethod
    def read(cls, source: pd.DataFrame | str | Path, name: str, id_column: str | None) -> Self:
        """Read a table with one row per letter: the id of the person, and the score."""
        where = "the scores" if isinstance(source, pd.DataFrame) else str(source)
        possible = [*([id_column] if id_column is not None else []), *ID_COLUMNS]
        frame, column = read_with_ids(where, source, possible)
        others = [each for each in frame.columns if each != column]
        score = SCORE if SCORE in others else others[0] if len(others) == 1 else None
        if score is None:
            raise InputError(
                f"{where}: no column has the scores; expected {SCORE!r}; its columns are "
                f"{list(frame.columns)}"
            )
        scores = pd.to_numeric(frame[score], errors="coerce")
        bad = ~np.isfinite(scores.to_numpy(np.float64))
        if bad.any():
            place = int(bad.argmax())
            raise InputError(
                f"{where}: row {place + 1} has the score {frame[score].iloc[place]!r}; expected a "
                "number"
            )
        reference = "object:scores" if isinstance(source, pd.DataFrame) else f"scores:{source}"
        return cls(name, reference, pd.DataFrame({"id": frame[column], SCORE: scores}))

    @property
    def digest(self) -> str:
        scores = sorted((key.hex(), value) for key, value in self.known.items())
        return hashlib.sha256(repr(scores).encode()).hexdigest()

    def of_letters(self, task: Task, letters: pd.DataFrame) -> Self:
        """Return the table with its letters, which `read_counterfactuals` has returned."""
        where = self.reference.removeprefix("scores:")
        row_ids = row_ids_of(where, self.frame["id"], task)
        columns = [PREFIX + name for name in task.feature_names]
        sent = letters.dropna(subset=columns).set_index(ROW_ID)[columns]
        scores = pd.Series(self.frame[SCORE].to_numpy(np.float64), index=row_ids)
        for wrong, reason in (
            (scores.index.difference(pd.Index(letters[ROW_ID])), "a score, but no letter"),
            (sent.index.difference(scores.index), "a letter, but no score"),
        ):
            if len(wrong):
                names = ", ".join(str(task.ids.loc[row]) for row in wrong[:MOST_NAMED])
                more = ", …" if len(wrong) > MOST_NAMED else ""
                who = "1 person has" if len(wrong) == 1 else f"{len(wrong)} people have"
                raise InputError(f"{where}: {who} {reason}: {names}{more}")
        known: dict[bytes, float] = {}
        rows = np.ascontiguousarray(sent.to_numpy(np.float64))
        for row_id, row in zip(sent.index, rows, strict=True):
            value, key = float(scores.loc[row_id]), row.tobytes()
            if known.setdefault(key, value) != value:
                raise InputError(
                    f"{where}: the letter of {task.ids.loc[row_id]} says the same as another, but "
                    "has another score; expected one score for one row of features"
                )
        return replace(self, known=known)

    def model(self, task: Task, threshold: Threshold | None) -> ThresholdModel:
        scores = np.array(list(self.known.values()), dtype=np.float64)
        threshold = task.favourable_range if threshold is None else threshold
        given = Threshold(HALF) if threshold is None else threshold
        if threshold is None and not (scores.min() >= 0.0 and scores.max() <= 1.0):
            raise InputError(
                f"{self.reference.removeprefix('scores:')}: the scores go from {scores.min():g} to "
                f"{scores.max():g}; say which are favourable: {self.reference}@THRESHOLD"
            )
        judge: Any = TabledModel(self.known, self.name)
        return ThresholdModel(judge, given, given.scale_of(scores))
