"""What answers ask of people; and of one person: what each method advises and what to follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from changeproof.datasets.recourse import FOLLOW, MOST_CHANGES, Change, Wording
from changeproof.evaluation.imprecise import DRAWS, NOISE
from changeproof.evaluation.imprecise import WAYS as FOLLOWED
from changeproof.feasible.actions import FILLED_IN
from changeproof.feasible.rules import WAYS
from changeproof.methods.answers import ALREADY_FAVOURABLE, IN_PARTS, ONLY_PARTS
from changeproof.report.constraints import broken, reasons, rules
from changeproof.report.page.parts import (
    NOT_YET,
    Part,
    Source,
    choice,
    folded,
    muted,
    nothing,
    scripted,
    table,
    text,
)
from changeproof.report.recommendation import Option, choose
from changeproof.runs.plan import Plan
from changeproof.runs.results import AnswerKey, StoredResults
from changeproof.tables.advice import MOST_LISTED, quality_columns
from changeproof.tables.alternatives import ALTERNATIVES
from changeproof.tables.cases import Case
from changeproof.tables.display import fixed, percent
from changeproof.tables.imprecise import IMPRECISE
from changeproof.tables.names import dataset_name, different_names, method_name
from changeproof.tables.reasons import PrincipalReasons, with_reasons

MEANING = (
    "Features changed, inside the data, plausibility and local outlier factor are of answers that "
    "the base model accepts. Inside the data: no value beyond those of the training rows. "
    "Plausibility: the distance to the nearest favourable training rows, where 1 is usual among "
    "them. Local outlier factor: how thin the data are there, where 1 is as dense as around its "
    "neighbours. No answer: requests without an answer that the person can be told."
)
PROPOSED = (
    " Cannot be told: of the rows that the method proposed, those that break a rule. "
    "Change in validity (in points) and in distance: the rows that people are told, compared with "
    "the proposals. Below 0, fewer are accepted, or they are nearer."
)
FURTHER = (
    "Each further choice leaves the main feature of those before alone. Advised: of those who ask, "
    "the share with advice that today's model accepts. Times as far: compared with the same "
    "person's first."
)
IMPRECISELY = (
    "Every change of a number ends short of what was told, or around it (normal, with a deviation "
    f"of {NOISE} % of the change; {DRAWS} tries for each person). The model is today's, and this "
    "counts in no other number."
)


def advice_section(source: Source) -> list[Part]:
    found, plan, shown = source.tables.get("advice", pd.DataFrame()), source.plan, source.shown
    if found.empty:
        return nothing(NOT_YET)
    known = {(row["dataset"], row["method"]): row for row in found.to_dict("records")}
    columns = quality_columns(found, plan.feasible)
    names = [heading.name.lower() for heading, _ in columns]
    datasets = [dataset for dataset in plan.datasets if dataset in set(found["dataset"])]
    views = []
    for dataset in datasets:
        methods = [method for method in plan.methods if (dataset, method) in known]
        rows = [
            [shown.name(method), *(cell(known[dataset, method]).mean_text for _, cell in columns)]
            for method in methods
        ]
        asked = table("What answers ask of people", ["method", *names], rows)
        more = [each(source, dataset, methods) for each in (_imprecise, _further, _breaches)]
        views.append([asked, *(part for parts in more for part in parts)])
    words = _advice_words(found, plan)
    return [
        *([text(words)] if words else []),
        choice({"Data": shown.called(datasets)}, views),
        muted(MEANING + (PROPOSED if plan.feasible else "")),
    ]


def _imprecise(source: Source, dataset: str, methods: Sequence[str]) -> list[Part]:
    """Return how much advice today's model still accepts if it is followed imprecisely."""
    rows = source.tables.get(IMPRECISE, pd.DataFrame()).to_dict("records")
    known = {row["method"]: row for row in rows if row["dataset"] == dataset}
    cells = [
        [source.shown.name(m), *(fixed(known[m][f"{way}_mean"], 1) for way in FOLLOWED)]
        for m in methods
        if m in known
    ]
    title = "Followed imprecisely: advice that today's model still accepts (%)"
    found = [text(f"{title}:"), table(title, ["method", *FOLLOWED], cells), muted(IMPRECISELY)]
    return found if cells else []


def _further(source: Source, dataset: str, methods: Sequence[str]) -> list[Part]:
    """Return what further choices there are, and what they cost."""
    found = source.tables.get(ALTERNATIVES, pd.DataFrame()).to_dict("records")
    columns = {"advised": 1, "empirical_robustness": 1, "distance": 2, "times_as_far": 2}
    cells = [
        [source.shown.name(row["method"]), str(row["choice"])]
        + [fixed(row[f"{name}_mean"], digits) for name, digits in columns.items()]
        for row in found
        if row["dataset"] == dataset and row["method"] in methods
    ]
    names = ["method", "choice", "advised (%)", "robust (%)", "distance", "times as far"]
    title = "Further choices"
    parts = [text(f"{title}:"), table(title, names, cells), muted(FURTHER)]
    return parts if cells else []


def _breaches(source: Source, dataset: str, methods: Sequence[str]) -> list[Part]:
    """Return which rules answers broke, if they broke any."""
    broken = source.tables.get("breaches", pd.DataFrame())
    rows = broken.to_dict("records")
    shares = {(r["method"], r["breach"]): r["share"] for r in rows if r["dataset"] == dataset}
    ways = [way for way in WAYS if any(shares.get((m, way), 0.0) > 0.0 for m in methods)]
    if not ways:
        return []
    cells = [
        [source.shown.name(m), *(f"{shares.get((m, way), 0.0):.1f}" for way in ways)]
        for m in methods
    ]
    title = "The most serious rule that an answer broke (% of a method's own answers)"
    columns = ["method", *(f"{way} (%)" for way in ways)]
    summary = "Why answers could not be told as they were"
    return [folded(summary, [table(title, columns, cells)])]


def _advice_words(found: pd.DataFrame, plan: Plan) -> str:
    """Say whether people can be told what was tested, and whose answers could not be told most."""
    known = found.dropna(subset=["raw_broken_mean"]).sort_values("raw_broken_mean", kind="stable")
    if known.empty:
        return ""
    worst = known.to_dict("records")[-1]
    share = float(worst["raw_broken_mean"])
    who = f"{method_name(worst['method'])} on {dataset_name(worst['dataset'])}"
    if plan.feasible:
        words = (
            "Every answer that counts as found can be told to the person: one category of each "
            "feature, whole steps, inside the range, and no change that is not allowed. "
        )
        if share == 0.0:
            return words + "Every proposal could be told as it was."
        most = "Proposals that could not be told were most frequent"
        return f"{words}{most} for {who}: {percent(share)}."
    if share == 0.0:
        return "Answers were tested as the methods gave them, and all of them can be told."
    return (
        "Answers were tested as the methods gave them. Some of them cannot be told to a person: "
        "they have parts of categories, fractions of whole numbers, or values outside the data. "
        f"Such answers are most frequent for {who}: {percent(share)}."
    )


class Answers(NamedTuple):
    """A method's answers as the page shows them, and what a recommendation hangs on."""

    shown: list[Any]
    options: list[Option]
    favourable: list[bool]


class Sentences(NamedTuple):
    """The templates that the changes on a page are told with, each once, by place."""

    places: dict[str, int]

    def place(self, template: str) -> int:
        return self.places.setdefault(template, len(self.places))


def templates() -> dict[str, Any]:
    """Return the words that the page fills in."""
    return {
        "filled_in": FILLED_IN,
        "most_changes": MOST_CHANGES,
        "only_parts": ONLY_PARTS,
        "in_parts": IN_PARTS,
    }


def person_section(source: Source) -> list[Part]:
    """Return who can be looked at; the page unpacks people when they are asked for."""
    if not source.present:
        return nothing("Nobody has been answered yet.")
    return [scripted("person", templates())]


def people(results: StoredResults, dataset: str) -> dict[str, Any] | None:
    """Return those who asked on a dataset, as many as a page lists; None if nothing is finished."""
    seeds = dict.fromkeys(key.base_seed for key in results.answered if key.dataset == dataset)
    if not seeds:
        return None
    task = results.task(dataset)
    wording, sentences = Wording(task, results.plan.feasible), Sentences({})
    networks = [_network(results, wording, dataset, seed, sentences) for seed in seeds]
    return {
        "features": wording.labels,
        "sentences": list(sentences.places),
        "nothing_else": wording.language.sentences["nothing_else"],
        "counted": task.n_counted,
        "rules": rules(task),
        "reasons": reasons(task),
        "networks": networks,
    }


def _network(
    results: StoredResults, wording: Wording, dataset: str, seed: int, sentences: Sentences
) -> dict[str, Any]:
    plan = results.shown
    finished = set(results.answered)
    keys = [AnswerKey(dataset, seed, method) for method in plan.methods]
    everybody = results.counterfactuals(*next(key for key in keys if key in finished))
    first = everybody.first(MOST_LISTED)
    shown = wording.values(first.factuals)
    family_of = results.variants(dataset, seed)["family"]
    answers = {
        key.method: _answers(results, wording, key, shown, sentences)
        for key in keys
        if key in finished
    }
    return {
        "seed": seed,
        "asked": len(everybody),
        "ids": wording.task.ids.loc[first.row_ids.tolist()].tolist(),
        "factuals": shown,
        # By person: the features that were filled in, as nobody knows them.
        "filled": {
            place: [wording.names.index(name) for name in mine]
            for place, mine in enumerate(wording.unknown(first.row_ids, first.factuals))
            if mine
        },
        # By person: the principal reasons for the decision, and what they are worth.
        "principal": _principal(results, wording, dataset, seed, first.row_ids.tolist()),
        "models": [int((family_of == family).sum()) for family in plan.families],
        "methods": [answers[name].shown if name in answers else None for name in plan.methods],
        "recommended": _recommended(answers, plan.methods) if len(answers) > 1 else None,
        # By method and person: the further choices.
        "others": [_others(results, wording, key) if key in finished else None for key in keys],
    }


def _others(results: StoredResults, wording: Wording, key: AnswerKey) -> dict[int, list[str]]:
    """Return further choices in words, by the place of the person."""
    found: dict[int, list[str]] = {}
    for each in results.choices(key)[1:]:
        case = Case.of(results, each)
        answers = case.answers.first(MOST_LISTED)
        held = case.survived[:, case.models()]
        places = np.flatnonzero(answers.found)
        told = answers.factuals[places], answers.rows[places], answers.row_ids[places]
        for place, changes in zip(places.tolist(), wording.all_changes(*told), strict=True):
            advice = " ".join(f"{change}." for change in changes)
            counts = f"{int(held[place].sum())} of {held.shape[1]}"
            accepted = "" if answers.base_valid[place] else " Today's model does not accept it."
            found.setdefault(place, []).append(
                f"Or: {advice}{accepted} Holds in {counts} changed models."
            )
    return found


def _principal(
    results: StoredResults, wording: Wording, dataset: str, seed: int, row_ids: list[int]
) -> list[list[tuple[str, str]]] | None:
    if (dataset, seed) not in with_reasons(results):
        return None
    reasons = PrincipalReasons(results, dataset, seed, wording)
    return [[(each.sentence, each.words) for each in reasons.of(row_id)] for row_id in row_ids]


def _answers(
    results: StoredResults,
    wording: Wording,
    key: AnswerKey,
    shown: list[list[str]],
    sentences: Sentences,
) -> Answers:
    """Return per person: why there is nothing, or what to change and what became of it.

    An answer is [base-valid, distance, survivals per family, changes]; a change is
    [feature, template, after, size] and, where it needs more digits than the factual is shown
    with, before. What follows from other changes has no size. Where an answer as published breaks a
    constraint or has categories in part, words for the one and the features of the other follow.
    """
    case = Case.of(results, key)
    answers, survived = case.answers.first(MOST_LISTED), case.survived[:MOST_LISTED]
    task, found = case.task, np.flatnonzero(answers.found)
    families = results.shown.families
    counts = np.stack([survived[:, case.family_of == f].sum(axis=1) for f in families], axis=1)
    distances = task.distances(answers.factuals, answers.rows).tolist()
    place = {name: number for number, name in enumerate(wording.names)}
    factuals, rows = answers.factuals[found], answers.rows[found]
    usable = answers.base_valid.copy()
    usable[found] &= task.actions_for(answers.row_ids[found]).feasible(factuals, rows)
    breaches = broken(task, factuals, rows, answers.row_ids[found])
    entries: list[Any] = list(answers.why_not)
    for n, changes in enumerate(wording.all_changes(factuals, rows, answers.row_ids[found])):
        i = int(found[n])
        entries[i] = [
            int(answers.base_valid[i]),
            round(distances[i], 3),
            counts[i].tolist(),
            [_entry(change, place[change.feature], shown[i], sentences) for change in changes],
        ]
        parts = wording.parts(rows[n])
        if parts or breaches[n]:
            entries[i] += [breaches[n], [place[name] for name in parts]]
    judged = survived[:, case.models()]
    held, models = judged.sum(axis=1).tolist(), judged.shape[1]
    trials = results.trials(key.dataset, key.base_seed)
    options = [
        Option(key.method, bool(usable[i]), distances[i], held[i], models, trials)
        for i in range(len(entries))
    ]
    return Answers(entries, options, (answers.outcomes == ALREADY_FAVOURABLE).tolist())


def _entry(change: Change, feature: int, shown: list[str], sentences: Sentences) -> tuple[Any, ...]:
    # Tuples: there are hundreds of thousands, and the collector of garbage passes them by.
    told = change.words
    size = None if change.direction == FOLLOW else round(change.size, 2)
    entry = (feature, sentences.place(told.template), told.after, size)
    same = change.filled or told.before == shown[feature]
    return entry if same else (*entry, told.before)


def _recommended(
    answers: Mapping[str, Answers], methods: tuple[str, ...]
) -> list[tuple[int | None, str]]:
    """Return for every person whose advice to follow, by place, if anybody's, and why."""
    names = different_names(methods, method_name)
    places = {name: place for place, name in enumerate(names.values())}
    options = zip(
        *([o._replace(method=names[m]) for o in each.options] for m, each in answers.items()),
        strict=True,
    )
    favourable = zip(*(each.favourable for each in answers.values()), strict=True)
    chosen = map(choose, options, map(all, favourable))
    return [(places.get(each.method or ""), each.sentence) for each in chosen]
