"""One person: what to change, what must not change, and under how many changed models it holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from changeproof.datasets.recourse import MOST_CHANGES, Change, Wording, folded
from changeproof.datasets.task import Task
from changeproof.datasets.words import Catalogue, english, find_catalogue
from changeproof.errors import InputError
from changeproof.evaluation.bar import interval
from changeproof.evaluation.life import Lives
from changeproof.feasible.durations import durations
from changeproof.methods.answers import ALREADY_FAVOURABLE, FOUND, ONLY_PARTS, in_parts
from changeproof.model import Floats
from changeproof.report.constraints import (
    Constraint,
    broken,
    constraints,
    reasons,
    respected,
    rules,
    why,
)
from changeproof.report.page.life import Lasting
from changeproof.report.recommendation import Option, Recommendation, choose
from changeproof.runs.results import AnswerKey, StoredResults
from changeproof.tables.reasons import PrincipalReasons, ToldReason, with_reasons

# So many reasons are printed; if there are more, JSON has them.
MOST_REASONS = 5


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


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """What a method tells a person, in original units, and how often that still holds.

    Attributes
    ----------
    outcome, why_not
        "found", or why there is no advice: as stored, and in plain words ("" where there is some).
    months
        How long it takes to do that; None where nothing is said of any feature that changes.
    changes
        What to change, the largest first; `advice` says it in sentences.
    factual, counterfactual
        The person and the tested row. Of a feasible row, `Task.encoded` gives the very row that
        was tested.
    feasible
        Whether the person can be told exactly the row that was tested, and it is inside the range
        of the data or the stated one.
    filled_in
        What is not known about the person and was filled in, by feature. `factual` has it as
        well, and the advice was tested with it.
    constraints, most_changes
        What must not change, and how many features may change at once.
    breach
        Which constraint the advice breaks, in words.
    partly
        The features that have a category in part in the tested row: nobody can be told those.
    reasons
        The principal reasons for the decision, derived from this model and these rules; none
        where the run did not look for them.
    families, overall
        In how many changed models the advice holds, by family and in all. Sequences of updates
        are not part of all, unless there is nothing else.
    lasting
        Through how many updates valid advice held, for every family that is a sequence.
    alternatives
        The method's further choices for this person, where the run has some.
    """

    dataset: str
    model: str
    method: str
    person: Any
    outcome: str
    why_not: str
    base_valid: bool
    distance: float | None = None
    months: float | None = None
    changes: tuple[Change, ...] = ()
    factual: Mapping[str, Any]
    filled_in: Mapping[str, str]
    counterfactual: Mapping[str, Any] | None = None
    feasible: bool = False
    constraints: tuple[Constraint, ...]
    most_changes: int | None
    breach: str = ""
    partly: tuple[str, ...] = ()
    reasons: tuple[ToldReason, ...] = ()
    families: tuple[Holding, ...]
    overall: Holding
    lasting: tuple[Lasting, ...]
    alternatives: tuple[Explanation, ...] = ()
    # How many of all changed models are independent; None where all are.
    trials: int | None
    # That of the sentences.
    language: Catalogue = field(default_factory=english, repr=False)

    @property
    def advice(self) -> tuple[str, ...]:
        """What to change, in sentences, the largest change first."""
        return tuple(map(str, self.changes))

    @property
    def respected(self) -> bool:
        """Whether the advice breaks no constraint."""
        return not self.breach

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, as for JSON."""
        plain = asdict(self) | {"respected": self.respected, "advice": self.advice}
        del plain["trials"], plain["language"]
        if not self.lasting:
            del plain["lasting"]
        if self.months is None:
            del plain["months"]
        if self.alternatives:
            plain["alternatives"] = [each.as_dict() for each in self.alternatives]
        else:
            del plain["alternatives"]
        plain["changes"] = [each.as_dict() for each in self.changes]
        plain["reasons"] = [each.as_dict() for each in self.reasons]
        plain["constraints"] = [each._asdict() for each in self.constraints]
        return plain

    @property
    def option(self) -> Option:
        """What a recommendation depends on."""
        usable = self.outcome == FOUND and self.base_valid and self.feasible
        distance = np.inf if self.distance is None else self.distance
        held, models = self.overall.held, self.overall.models
        return Option(self.method, usable, distance, held, models, self.trials)


def explain(
    results: StoredResults,
    person: Any,
    method: str,
    dataset: str | None = None,
    language: str | Catalogue | None = None,
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
    language
        "en", "de", or the path of a catalogue file; by default the language of the dataset.
    """
    shown = results.shown
    dataset = shown.datasets[0] if dataset is None else dataset
    every = results.choices(AnswerKey(dataset, shown.base_seeds[0], method))
    first, *others = (_explain(results, person, key, language) for key in every)
    further = tuple(each for each in others if each.counterfactual is not None)
    return replace(first, alternatives=further)


def _explain(
    results: StoredResults, person: Any, key: AnswerKey, language: str | Catalogue | None
) -> Explanation:
    shown, (dataset, seed, method) = results.shown, key
    task = results.task(dataset)
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
    family_of, replicate = variants["family"].to_numpy(), variants["replicate"]

    def holding(name: str, *among: str) -> Holding:
        chosen = np.isin(family_of, among)
        held, models = int(survived[chosen].sum()), int(chosen.sum())
        sequences = all(families[each].sequence for each in among)
        trials = replicate[chosen].nunique() if sequences else None
        share = held / models if models else np.nan
        return Holding(name, held, models, share, *interval(held, models, trials))

    outcome, valid = str(answers.outcomes[place]), bool(answers.base_valid[place])
    factual = answers.factuals[place]
    wording = Wording(task, shown.feasible, spoken(language))
    advice: dict[str, Any] = {}
    if outcome == FOUND:
        advice = _advice(wording, row_id, factual, answers.rows[place])

    def lasting(name: str) -> Lasting:
        own = family_of == name
        lives = Lives.of(survived[None, own], replicate[own].tolist())
        return Lasting.of(name, lives, families[name].months, advice["months"])

    return Explanation(
        dataset=dataset,
        model=shown.model,
        method=method,
        person=task.ids.loc[row_id],
        outcome=outcome,
        why_not=answers.why_not[place],
        base_valid=valid,
        factual=_values(task, factual),
        filled_in=wording.unknown(answers.row_ids[[place]], factual[None])[0],
        constraints=tuple(constraints(task)),
        most_changes=task.most_changes,
        reasons=_reasons(results, dataset, seed, row_id, wording),
        families=tuple(holding(name, name) for name in shown.families),
        overall=holding("all", *results.counting_families),
        lasting=tuple(lasting(f) for f in shown.families if families[f].sequence and valid),
        trials=results.trials(dataset, seed),
        language=wording.language,
        **advice,
    )


def _reasons(
    results: StoredResults, dataset: str, seed: int, row_id: int, wording: Wording
) -> tuple[ToldReason, ...]:
    if (dataset, seed) not in with_reasons(results):
        return ()
    return PrincipalReasons(results, dataset, seed, wording).of(row_id)


def spoken(language: str | Catalogue | None) -> Catalogue | None:
    """Return the catalogue of a language, where one is named."""
    return find_catalogue(language) if isinstance(language, str) else language


def _advice(wording: Wording, row_id: int, factual: Floats, row: Floats) -> dict[str, Any]:
    task = wording.task
    months = float(durations(task.actions, factual[None], row[None])[0])
    return {
        "months": None if np.isnan(months) else months,
        "distance": float(task.distances(factual[None], row[None])[0]),
        "changes": tuple(wording.changes(factual, row, row_id)),
        "counterfactual": _values(task, row),
        "feasible": bool(
            task.actions_for(np.array([row_id])).feasible(factual[None], row[None])[0]
        ),
        "breach": broken(task, factual[None], row[None], np.array([row_id]))[0],
        "partly": tuple(wording.parts(row)),
    }


def explain_all(
    results: StoredResults,
    person: Any,
    methods: Sequence[str] | None = None,
    dataset: str | None = None,
    language: str | Catalogue | None = None,
) -> list[Explanation]:
    """Read from a run what several methods told one person, for the first base model.

    Parameters
    ----------
    results, person, dataset, language
        See `explain`.
    methods
        Some of the run's methods; all of them by default.
    """
    asked = results.shown.methods if methods is None else methods
    if not asked:
        raise InputError("expected at least one method; got an empty list")
    return [explain(results, person, method, dataset, language) for method in asked]


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


def _values(task: Task, row: Any) -> dict[str, Any]:
    """Return a row as plain values, exactly."""
    frame = task.readable(row[None]).astype(object)
    values = frame.where(frame.notna(), None).iloc[0].to_dict()
    return {str(name): value for name, value in values.items()}


def explanation_lines(answer: Explanation, task: Task) -> Iterator[str]:
    """Yield what one method told a person, for a terminal."""
    yield f"{answer.method} on {answer.dataset}, for {answer.person}:"
    for line in rejection_lines(answer):
        yield f"  {line}"
    for line in (
        *unknown_lines(answer, task),
        *advice_sentences(answer),
        *rule_lines(task, [answer]),
    ):
        yield f"  {line}"
    if answer.counterfactual is None:
        return
    accepts = "accepts" if answer.base_valid else "does not accept"
    yield (
        f"  Today's model {accepts} this. "
        f"Distance: {answer.distance:.2f} typical deviations per feature."
    )
    if answer.months is not None:
        yield f"  {takes_about(answer.months)}."
    yield "Still holds after the model changes (95 % interval over changed models):"
    for each in (*answer.families, answer.overall):
        counts = f"{each.held} of {each.models}"
        interval = f"({each.low:.0%} to {each.high:.0%})"
        yield f"  {each.family:<24}{counts:>11}  {each.share:>4.0%}  {interval}"
    yield from lasting_lines(answer)
    yield from other_lines(answer)


def comparison_lines(
    answers: Sequence[Explanation], choice: Recommendation, task: Task
) -> Iterator[str]:
    """Yield what several methods told a person and which advice to follow, for a terminal."""
    who = f"For {answers[0].person} on {answers[0].dataset}"
    nothing = {answer.why_not for answer in answers}
    if len(nothing) == 1 and "" not in nothing:
        yield f"{who}:"
        yield f"  No advice: {nothing.pop()}."
        yield from rule_lines(task, answers)
        return
    yield f"{who} (distances in typical deviations per feature):"
    yield from (f"  {line}" for line in rejection_lines(answers[0]))
    yield from (f"  {line}" for line in unknown_lines(answers[0], task))
    for answer in best_first(answers, choice):
        yield f"  {answer.method}" + (" (recommended)" if answer.method == choice.method else "")
        yield f"    {' '.join(advice_sentences(answer))}"
        if answer.counterfactual is None:
            continue
        yield f"    {holding_words(answer)}"
        if answer.months is not None:
            yield f"    {takes_about(answer.months)}."
        yield from (f"    {line}" for line in (*lasting_lines(answer), *other_lines(answer)))
    yield choice.sentence
    yield from rule_lines(task, answers)


def best_first(answers: Sequence[Explanation], choice: Recommendation) -> list[Explanation]:
    """Return answers in the order in which they are shown: the recommended one comes first."""

    def place(answer: Explanation) -> tuple[bool, bool, int]:
        return answer.method != choice.method, not answer.base_valid, -answer.overall.held

    return sorted(answers, key=place)


def holding_words(answer: Explanation) -> str:
    """Say in how many changed models advice holds, and how far it asks a person to go."""
    overall = answer.overall
    accepts = "" if answer.base_valid else "Today's model does not accept this. "
    return (
        f"{accepts}Holds in {overall.held} of {overall.models} changed models "
        f"(95 % interval over such models: {100 * overall.low:.0f} % to "
        f"{100 * overall.high:.0f} %). Distance: {answer.distance:.2f}."
    )


def takes_about(months: float) -> str:
    """Say how long something takes.

    >>> takes_about(0.4), takes_about(8.2), takes_about(30)
    ('Takes about 2 weeks', 'Takes about 8 months', 'Takes about 2.5 years')
    """
    count, unit = duration(months)
    if unit == "day":
        return "Takes a few days"
    return f"Takes about {count:g} {unit}{'' if count == 1 else 's'}"


def duration(months: float) -> tuple[float, str]:
    """Return about how many years, months or weeks something takes; less is days."""
    for count, unit in ((months / 12, "year"), (months, "month"), (months * 30.4375 / 7, "week")):
        near = round(count, 1) if unit == "year" else round(count)
        if near >= (2 if unit == "year" else 1):
            return near, unit
    return 0.0, "day"


def rejection_lines(answer: Explanation) -> Iterator[str]:
    """Yield the principal reasons for the decision."""
    if answer.reasons:
        yield "Principal reasons for the decision, derived from this model and these rules:"
    for each in answer.reasons:
        code = "" if each.code == each.feature else f" [{each.code}]"
        yield f"  {each.rank}. {each.sentence}{code} ({each.words})"


def unknown_lines(answer: Explanation, task: Task) -> Iterator[str]:
    """Yield what is not known about the person, and what was filled in."""
    label = task.words.label
    if gaps := [label(name) for name, value in answer.factual.items() if value is None]:
        yield (
            f"Missing about this person: {', '.join(gaps)}. The model judges that as it is, and "
            "advice leaves it alone."
        )
    if answer.filled_in:
        each = ", ".join(
            f"{label(name)} ({value} was filled in)" for name, value in answer.filled_in.items()
        )
        yield f"Not known about this person: {each}. Advice was tested with what was filled in."


def other_lines(answer: Explanation) -> Iterator[str]:
    """Yield the method's further choices, each with its own numbers."""
    for each in answer.alternatives:
        overall = each.overall
        accepts = "" if each.base_valid else "Today's model does not accept this. "
        yield (
            f"Or: {' '.join(advice_sentences(each))} {accepts}Holds in {overall.held} of "
            f"{overall.models} changed models. Distance: {each.distance:.2f}."
        )


def lasting_lines(answer: Explanation) -> Iterator[str]:
    yield from (f"{each.family}: {each.sentence}" for each in answer.lasting)


def advice_sentences(answer: Explanation) -> Iterator[str]:
    """Yield what to change, or why there is nothing."""
    if answer.counterfactual is None:
        yield f"No advice: {answer.why_not}."
    elif not answer.changes:
        yield ONLY_PARTS
    else:
        yield from (f"{sentence}." for sentence in answer.advice[:MOST_CHANGES])
        if len(answer.changes) > MOST_CHANGES:
            yield folded(answer.changes, answer.language)
        nothing_else = answer.language.sentences["nothing_else"]
        yield in_parts(answer.partly) if answer.partly else nothing_else


def rule_lines(task: Task, answers: Sequence[Explanation]) -> Iterator[str]:
    """Yield what must not change, whether it was respected, and why."""
    broken_by = [(answer.breach, answer.method) for answer in answers if answer.breach]
    breach = "; ".join(f"{b} ({m})" if len(answers) > 1 else b for b, m in broken_by)
    advised = any(answer.counterfactual is not None for answer in answers)
    if line := respected(rules(task), advised, breach):
        yield line
        if 0 < len(given := reasons(task)) <= MOST_REASONS:
            yield f"Why: {why(given)}"
