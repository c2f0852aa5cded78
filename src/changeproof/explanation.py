"""One person, one answer: what to change, and under how many changed models it still holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from changeproof.errors import InputError
from changeproof.evaluation.uncertainty import share_interval
from changeproof.report.recourse import Wording
from changeproof.runs.results import StoredResults


@dataclass(frozen=True)
class Holding:
    """How many changed models of a family still accept the advice, with a 95 % interval."""

    family: str
    held: int
    models: int
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Explanation:
    """What a method tells a person, in original units, and how often that still holds."""

    dataset: str
    model: str
    method: str
    person: Any
    outcome: str
    base_valid: bool
    distance: float | None
    advice: tuple[str, ...]
    factual: Mapping[str, Any]
    counterfactual: Mapping[str, Any] | None
    families: tuple[Holding, ...]
    overall: Holding

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, as for JSON."""
        return asdict(self)


def explain(
    results: StoredResults, person: Any, method: str, dataset: str | None = None
) -> Explanation:
    """Read from a run what a method told one person, for the first base model.

    Parameters
    ----------
    results
        A finished run that explains this person.
    person
        The person's id.
    method, dataset
        As in the run; by default its first dataset.
    """
    shown = results.shown
    dataset = shown.datasets[0] if dataset is None else dataset
    task, seed = results.task(dataset), shown.base_seeds[0]
    row_id = row_of(task.ids, person)
    answers = results.counterfactuals(dataset, seed, method)
    (places,) = np.nonzero(answers.row_ids == row_id)
    if not len(places):
        raise InputError(f"nobody asked about person {person!r} in the run in {results.folder}")
    place = int(places[0])
    survived = results.survived(dataset, seed, method)[place]
    family_of = results.variants(dataset, seed)["family"].to_numpy()
    found = bool(answers.found[place])
    factual, row = answers.factuals[place], answers.rows[place]
    return Explanation(
        dataset,
        shown.model,
        method,
        task.ids.loc[row_id],
        str(answers.outcomes[place]),
        bool(answers.base_valid[place]),
        float(task.distances(factual[None], row[None])[0]) if found else None,
        tuple(map(str, Wording(task).changes(factual, row))) if found else (),
        _values(task.decoded(factual[None])),
        _values(task.decoded(row[None])) if found else None,
        tuple(_holding(name, survived[family_of == name]) for name in shown.families),
        _holding("all", survived),
    )


def row_of(ids: Any, person: Any) -> int:
    """Return the row id of a person, whose id may be given as text."""
    for row_id, known in ids.items():
        if known == person or str(known) == str(person):
            return int(row_id)
    raise InputError(f"no row has the id {person!r}; ids are {', '.join(map(str, ids[:3]))}, …")


def _holding(family: str, survived: Any) -> Holding:
    held, models = int(survived.sum()), len(survived)
    low, high = share_interval(held, models)
    return Holding(family, held, models, held / models if models else np.nan, low, high)


def _values(frame: Any) -> dict[str, Any]:
    """Return the only row of a frame as plain values."""
    record: dict[str, Any] = frame.iloc[0].to_dict()
    return {k: v.item() if isinstance(v, np.generic) else v for k, v in record.items()}
