"""One person: what to change, what must not change, and under how many changed models it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from changeproof.datasets.recourse import Change, Wording
from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.evaluation.bar import interval
from changeproof.evaluation.life import Lives
from changeproof.methods.answers import ALREADY_FAVOURABLE, FOUND, Counterfactuals, why_not
from changeproof.report.constraints import Constraint, broken, constraints
from changeproof.report.life import Lasting
from changeproof.report.recommendation import Option, Recommendation, choose
from changeproof.runs.results import StoredResults


@dataclass(frozen=True)
class Holding:
    """How many changed models of a family still accept the advice, with a 95 % interval.

    Models of one future follow from each other: the interval of a sequence counts futures.
    """

    family: str
    held: int
    models: int
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Explanation:
    """What a method tells a person, in original units, and how often that still holds.

    Attributes
    ----------
    outcome, why_not
        "found", or why there is no advice: as stored, and in plain words ("" where there is some).
    changes
        What to change, the largest first; `advice` says it in sentences.
    factual, counterfactual
        The person and the tested row. Of a feasible row, `Task.encoded` gives the very row that
        was tested.
    feasible
        Whether the person can be told exactly the row that was tested, and it is inside the range
        of the data or the stated one.
    filled_in
        What was filled in about the person, by feature, as nobody knows it. `factual` has it as
        well, and the advice was tested with it.
    constraints, most_changes
        What must not change, and how many features may change at once.
    respected
        Whether the advice keeps to that.
    breach
        Which constraint it breaks, in words.
    partly
        The features that have a category in part in the tested row: nobody can be told those.
    families, overall
        In how many changed models the advice holds, by family and in all. Sequences of updates
        are not part of all, unless there is nothing else.
    lasting
        Through how many updates valid advice held, for every family that is a sequence.
    """

    dataset: str
    model: str
    method: str
    person: Any
    outcome: str
    why_not: str
    base_valid: bool
    distance: float | None
    changes: tuple[Change, ...]
    factual: Mapping[str, Any]
    filled_in: Mapping[str, str]
    counterfactual: Mapping[str, Any] | None
    feasible: bool
    constraints: tuple[Constraint, ...]
    most_changes: int | None
    respected: bool
    breach: str
    partly: tuple[str, ...]
    families: tuple[Holding, ...]
    overall: Holding
    lasting: tuple[Lasting, ...] = ()
    # How many of all changed models are independent; None where all are.
    trials: int | None = None

    @property
    def advice(self) -> tuple[str, ...]:
        """What to change, in sentences, the largest change first."""
        return tuple(map(str, self.changes))

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, as for JSON."""
        plain = asdict(self) | {"advice": self.advice}
        del plain["trials"]
        if not self.lasting:
            del plain["lasting"]
        for name in ("changes", "constraints"):
            plain[name] = [each._asdict() for each in getattr(self, name)]
        return plain

    @property
    def option(self) -> Option:
        """What a recommendation depends on."""
        usable = self.outcome == FOUND and self.base_valid and self.feasible
        distance = np.inf if self.distance is None else self.distance
        held, models = self.overall.held, self.overall.models
        return Option(self.method, usable, distance, held, models, self.trials)


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
        known = [str(task.ids.loc[row]) for row in answers.row_ids[:3].tolist()]
        raise InputError(
            f"the run in {results.folder} did not ask about person {person!r}; it has "
            f"{len(answers.row_ids)} people: {', '.join(known)}, …"
        )
    place = int(places[0])
    survived = results.survived(dataset, seed, method)[place]
    variants, families = results.variants(dataset, seed), results.families
    family_of = variants["family"].to_numpy()

    def holding(name: str, *among: str) -> Holding:
        chosen = np.isin(family_of, among)
        held, models = int(survived[chosen].sum()), int(chosen.sum())
        trials = models
        if all(families[each].sequence for each in among):
            trials = variants["replicate"][chosen].nunique()
        share = held / models if models else np.nan
        return Holding(name, held, models, share, *interval(held, models, trials))

    valid, wording = answers.base_valid[place], Wording(task, shown.feasible)
    sequences = [name for name in shown.families if families[name].sequence and valid]
    return Explanation(
        dataset=dataset,
        model=shown.model,
        method=method,
        person=task.ids.loc[row_id],
        base_valid=bool(answers.base_valid[place]),
        factual=_values(task, answers.factuals[place]),
        filled_in=wording.unknown(answers.row_ids[[place]], answers.factuals[[place]])[0],
        constraints=tuple(constraints(task)),
        most_changes=task.most_changes,
        families=tuple(holding(name, name) for name in shown.families),
        overall=holding("all", *results.averaged),
        lasting=tuple(
            Lasting.of(name, Lives.of(survived[None, mine], variants["replicate"][mine].tolist()))
            for name in sequences
            for mine in [family_of == name]
        ),
        trials=results.trials(dataset, seed),
        **_advice(wording, answers, place),
    )


def explain_all(
    results: StoredResults,
    person: Any,
    methods: Sequence[str] | None = None,
    dataset: str | None = None,
) -> list[Explanation]:
    """Read from a run what several methods told one person, for the first base model.

    Parameters
    ----------
    results, person, dataset
        See `explain`.
    methods
        Some of the run's methods; all of them by default.
    """
    asked = results.shown.methods if methods is None else methods
    if not asked:
        raise InputError("expected at least one method; got an empty list")
    return [explain(results, person, method, dataset) for method in asked]


def recommend(
    results: StoredResults,
    person: Any,
    methods: Sequence[str] | None = None,
    dataset: str | None = None,
) -> Recommendation:
    """Choose among what several methods told one person.

    Recommended is the shortest advice that today's model accepts, that the person can follow, and
    that is known to hold in at least 95 % of the changed models: the 95 % interval over them lies
    above that. Where it does not, nothing is recommended and the choice is undecided.

    Parameters
    ----------
    results, person, methods, dataset
        See `explain_all`.

    Examples
    --------
    >>> cp.recommend(results, "A007").reason
    'robx-robust, the only advice that holds in at least 95 % of the 200 changed models.'
    """
    return recommendation(explain_all(results, person, methods, dataset))


def recommendation(answers: Sequence[Explanation]) -> Recommendation:
    """Choose among what one person was told."""
    favourable = all(answer.outcome == ALREADY_FAVOURABLE for answer in answers)
    return choose([answer.option for answer in answers], favourable)


def row_of(ids: Any, person: Any) -> int:
    """Return the row id of a person, whose id may be given as text."""
    for row_id, known in ids.items():
        if known == person or str(known) == str(person):
            return int(row_id)
    raise InputError(f"no row has the id {person!r}; ids are {', '.join(map(str, ids[:3]))}, …")


def _advice(wording: Wording, answers: Counterfactuals, place: int) -> dict[str, Any]:
    """Return what depends on whether there is an answer."""
    outcome, how = str(answers.outcomes[place]), answers.realisation
    if outcome != FOUND:
        raw = "" if how is None else str(how.raw_breach[place])
        nothing = {"distance": None, "counterfactual": None, "feasible": False, "breach": ""}
        more = {"changes": (), "respected": True, "partly": ()}
        return {"outcome": outcome, "why_not": why_not(outcome, raw), **nothing, **more}
    task, factual, row = wording.task, answers.factuals[place], answers.rows[place]
    (breach,) = broken(task, factual[None], row[None])
    return {
        "outcome": outcome,
        "why_not": "",
        "distance": float(task.distances(factual[None], row[None])[0]),
        "changes": tuple(wording.changes(factual, row, int(answers.row_ids[place]))),
        "counterfactual": _values(task, row),
        "feasible": bool(task.actions.feasible(factual[None], row[None])[0]),
        "respected": not breach,
        "breach": breach,
        "partly": tuple(wording.parts(row)),
    }


def _values(task: Task, row: Any) -> dict[str, Any]:
    """Return a row as plain values, exactly."""
    frame = task.told(row[None])
    return {str(name): frame[name].tolist()[0] for name in frame.columns}
