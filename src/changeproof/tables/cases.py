"""What tables are made from: one method's answers for one base model, and where they hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from changeproof.datasets.task import Task
from changeproof.evaluation.metrics import People
from changeproof.methods.answers import Counterfactuals
from changeproof.model import Booleans
from changeproof.runs.results import ALL_FAMILIES, AnswerKey, StoredResults


class Case(NamedTuple):
    """A method's answers to the people of one base model.

    `survived` is [people, changed models], and `family_of` says of which family each model is.
    Those of `counting_families` count in numbers over all families.
    """

    key: AnswerKey
    task: Task
    answers: Counterfactuals
    survived: Booleans
    family_of: npt.NDArray[np.object_]
    counting_families: tuple[str, ...]

    @classmethod
    def of(cls, results: StoredResults, key: AnswerKey) -> Self:
        family_of = results.variants(key.dataset, key.base_seed)["family"].to_numpy(dtype=object)
        answers, survived = results.counterfactuals(*key), results.survived(*key)
        return cls(
            key, results.task(key.dataset), answers, survived, family_of, results.counting_families
        )

    @property
    def ids(self) -> list[Any]:
        """What people call those who asked."""
        return list(self.task.ids.loc[self.answers.row_ids.tolist()])

    def models(self, family: str = ALL_FAMILIES) -> Booleans:
        """Return which changed models are of a family, or count in numbers over all."""
        families = self.counting_families if family == ALL_FAMILIES else (family,)
        return np.isin(self.family_of, families)

    def people(self, family: str = ALL_FAMILIES) -> People:
        """Return what became of those who ask under a family, or over all."""
        chosen = self.models(family)
        families = self.family_of[chosen].tolist()
        people = People.of(self.task, self.answers, self.survived[:, chosen], families)
        return people.some(self.answers.asking)


def cases(results: StoredResults) -> Iterator[Case]:
    return (Case.of(results, key) for key in results.answered)


def by_method(results: StoredResults) -> dict[tuple[str, str], list[AnswerKey]]:
    """Return the keys of answers, one per base model, by dataset and method."""
    keys: dict[tuple[str, str], list[AnswerKey]] = {}
    for key in results.answered:
        keys.setdefault((key.dataset, key.method), []).append(key)
    return keys


def mean_and_std(frame: pd.DataFrame, by: list[str], names: Iterable[str]) -> pd.DataFrame:
    """Return columns NAME_mean and NAME_std over base models, indexed by what rows are about."""
    table = frame.groupby(by, sort=False)[list(names)].agg(["mean", "std"])
    table.columns = ["_".join(column) for column in table.columns]
    return table


def stacked(parts: Iterable[pd.DataFrame], columns: list[str]) -> pd.DataFrame:
    """Return tables one under the other: no rows where there are none."""
    there = [part[columns] for part in parts]
    return pd.concat(there, ignore_index=True) if there else pd.DataFrame(columns=columns)
