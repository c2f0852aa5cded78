"""The verdict: what a run found, in a few sentences that somebody who decides can read.

Whose advice holds best, how surely and at what distance; then what was simulated and what was not.
Page and terminal write the same words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from typing import Any, NamedTuple

import pandas as pd

from changeproof.changes import builtin_family_names, family_names, published_family_names
from changeproof.evaluation.bar import models_needed
from changeproof.evaluation.uncertainty import share_interval
from changeproof.plugins import without_settings
from changeproof.report.constraints import no_constraints
from changeproof.report.judged import judged_words, refit_words
from changeproof.report.recommendation import LEAST_PERCENT, too_few
from changeproof.report.scores import Score, Scores, move_words, rows_of
from changeproof.runs.plan import DEFAULT_MODEL, Plan
from changeproof.runs.results import ALL_FAMILIES, StoredResults
from changeproof.tables.display import Tables, listed, number, percent, same_bases
from changeproof.tables.model import AS_IT_IS, MODEL
from changeproof.tables.names import dataset_name, family_name, method_name
from changeproof.tables.people import ABOVE_BAR, ANY, INTERVALS
from changeproof.tables.which_answers import answers_words

# Up to so many levels or names are listed; of more, only the number is given.
FEW = 5
# What is real, by the family that stands for it where a run has it.
SUCCESSOR = "successor"
REAL = {SUCCESSOR: "a real successor of the model", "later-data": "data that came later"}
# What sentences call a model that is as it was fitted elsewhere: its name may be that of a file.
THE_JUDGED = "the judged model"
NO_PROMISE = "This is no promise about changes that are not listed."
NOTHING_CHANGED = (
    "no changed model decides or scores anybody in another way than today's, so nothing is known "
    "about whose advice would hold."
)


class Finding(NamedTuple):
    """What was found on one dataset, with the words for it; percentages are out of 100."""

    dataset: str
    # Whose advice holds for the most people, in at least 95 % of the changed models, and of equals
    # is nearest; None if nobody's. See `Scores.best_first`.
    method: str | None = None
    # How many people of how many base models are behind the interval.
    people: int = 0
    base_models: int = 0
    # How many changed models that count each base model has.
    models: int = 0
    # How many people ask, get advice that today's model accepts, that holds in at least 95 % of the
    # changed models as well, and of which the 95 % interval over changed models says so; summed
    # over base models.
    asked: int | None = None
    accepted: int | None = None
    above: int | None = None
    sure: int | None = None
    # The same counts by method and for any of them.
    above_by: Mapping[str, int] | None = None
    sure_by_any: int | None = None
    # The percentage of people who ask that get advice that today's model accepts, and in which
    # percentage of changed models that holds on average, with the 95 % interval over people.
    served: float | None = None
    holds: float | None = None
    low: float | None = None
    high: float | None = None
    distance: float | None = None
    # The family under which it holds least; None if all are alike.
    weakest: str | None = None
    weakest_holds: float | None = None
    # All of it in words: the sentence that comes first, how many people that is and how surely, and
    # what holds on average.
    sentence: str = ""
    headline: str = ""
    per_person: str = ""
    on_average: str = ""


class Verdict(NamedTuple):
    """What there is to say of a run: a finding per dataset, and what they rest on.

    `judged` comes first: which model it is about; its end is `refit`: how a refit differs from that
    model. Then `notes`: what is not as a reader may think. `data` says what the data of an audit
    are. `base` says how good the models are that advice was made for.
    """

    judged: str
    findings: list[Finding]
    base: str
    simulated: str
    not_simulated: str
    notes: tuple[str, ...] = ()
    data: str = ""
    refit: str = ""

    @property
    def lines(self) -> list[str]:
        """Every sentence, for the terminal."""
        return [*([self.judged] if self.judged else []), *self.after]

    @property
    def after(self) -> list[str]:
        """Every sentence after the first, which model was judged."""
        found = [each.sentence for each in self.findings]
        return [*self.notes, *found, self.about, self.simulated, self.not_simulated]

    @property
    def about(self) -> str:
        """What the data of an audit are, and how good the models are."""
        return f"{self.data} {self.base}".lstrip()

    def as_dict(self) -> dict[str, Any]:
        return {**self._asdict(), "findings": [each._asdict() for each in self.findings]}


def verdict(results: StoredResults, tables: Tables) -> Verdict:
    """Return the verdict of a run; of an unfinished run, by the tables of what is finished."""
    plan, scores = results.shown, Scores(tables)
    finished = tables["seed_results"].drop_duplicates(["dataset", "method", "base_seed"])
    expected = len(plan.datasets) * len(plan.methods) * len(plan.base_seeds)
    state = () if len(finished) == expected else ("so far",)
    unchanged = bool(results.unchanged) and set(results.counting_families) <= set(results.unchanged)
    findings = []
    for dataset in plan.datasets:
        found = _finding(plan, tables, dataset, scores)
        if unchanged and found.holds is not None:
            found = Finding(dataset, people=found.people, sentence=NOTHING_CHANGED)
        place = (f"on {dataset_name(dataset)}",) if len(plan.datasets) > 1 else ()
        headline, sentence = (
            _capital(", ".join((*state, *place, words)))
            for words in (found.headline or found.sentence, found.sentence)
        )
        findings.append(found._replace(headline=headline, sentence=sentence))
    judged = results.manifest.judged
    simulated = simulated_words(
        plan,
        tables["variants"],
        THE_JUDGED if judged is not None and judged.shipped else results.manifest.model,
        results.counting_families,
        results.unchanged,
    )
    notes = tuple(who_asked(results))
    if results.plan.methods:
        notes += (answers_words(plan.feasible),)
        # Whoever tests answers as published compares methods, and advises nobody.
        if plan.feasible:
            notes += tuple(no_constraints([results.task(name) for name in plan.datasets]))
    return Verdict(
        judged_words(tables),
        findings,
        _base_words(results, tables),
        simulated,
        not_simulated_words(plan),
        notes,
        _data_words(results, tables),
        refit_words(tables),
    )


def _capital(words: str) -> str:
    return words[0].upper() + words[1:]


def _base_words(results: StoredResults, tables: Tables) -> str:
    """Say how good the base models are on the test rows, and how many of each class those are."""
    rows = tables["dataset_summary"].set_index("dataset").to_dict("index")
    datasets = results.shown.datasets
    if len(datasets) == 1:
        return _quality_words(results, tables, datasets[0], rows.get(datasets[0], {}))
    parts = []
    for dataset in datasets:
        row = rows.get(dataset, {})
        least, mean, most = (f"{each:.3f}" for each in _accuracies(row))
        if mean == "nan":
            continue
        between = "" if least == most else f", from {least} to {most}"
        favourable, adverse = _classes(results, dataset)
        parts.append(
            f"{mean}{between} on {dataset_name(dataset)} ({favourable} favourable and "
            f"{adverse} adverse test rows)"
        )
    what = "today's model" if len(results.shown.base_seeds) == 1 else "the base models"
    return f"Balanced accuracy of {what}: {'; '.join(parts) or 'not known yet'}."


def _accuracies(row: Mapping[Any, Any]) -> list[float]:
    """Return the least, mean and largest balanced accuracy of the base models; NaN if unknown."""
    return [float(row.get(f"balanced_accuracy_{each}", "nan")) for each in ("min", "mean", "max")]


def _classes(results: StoredResults, dataset: str) -> tuple[int, int]:
    """Return how many test rows are favourable, and how many are adverse."""
    labels = results.task(dataset).labels_of("test")
    favourable = int(labels.sum())
    return favourable, len(labels) - favourable


def _quality_words(
    results: StoredResults, tables: Tables, dataset: str, row: Mapping[Any, Any]
) -> str:
    """Say how good the models of a run of one dataset are."""
    least, mean, most = _accuracies(row)
    if isnan(mean):
        return "How good today's model is, is not known yet."
    favourable, adverse = _classes(results, dataset)
    one = len(results.shown.base_seeds) == 1
    who = "today's model is" if one else "the base models are"
    between = "" if least == most else f" (from {percent(100 * least)} to {percent(100 * most)})"
    words = (
        f"On the {favourable + adverse:,} test rows ({favourable:,} favourable and {adverse:,} "
        f"adverse), {who} right in {percent(100 * mean)} of cases{between} if both kinds count the "
        "same (balanced accuracy; guessing is right in 50 %)."
    )
    source = rows_of(tables, MODEL, dataset=dataset)
    if source and source[0]["source"] == AS_IT_IS:
        words += " It was fitted elsewhere, perhaps on some of these rows."
    return words


def _data_words(results: StoredResults, tables: Tables) -> str:
    """Say what the data of a run of one dataset are."""
    rows = tables["dataset_summary"].to_dict("records")
    if len(results.shown.datasets) > 1 or not rows:
        return ""
    (row,) = rows
    return f"Data: {int(row['observations']):,} rows with {int(row['features'])} features."


def _finding(plan: Plan, tables: Tables, dataset: str, scores: Scores) -> Finding:
    """Return what was found on a dataset; its sentence begins in small letters."""
    overall = scores.row(dataset, plan.methods)
    order = scores.best_first(dataset, plan.methods)
    if not order:
        return Finding(dataset, sentence="nothing is finished yet.")
    best, score = plan.methods[order[0]], overall[order[0]]
    assert score is not None
    seeds = tables["seed_results"].set_index(["dataset", "method", "family"]).sort_index()
    mine = seeds.loc[[(dataset, best, ALL_FAMILIES)]]
    robust = score["empirical_robustness"]
    key = {"dataset": dataset, "method": best, "family": ALL_FAMILIES}
    (interval,) = rows_of(tables, INTERVALS, **key, metric="empirical_robustness")
    found = Finding(dataset, people=int(interval["people"]), base_models=len(mine))
    if score["coverage"].mean is None:
        words = "today's model decides against nobody, so nobody asked for advice."
        return found._replace(sentence=words)
    if robust.mean is None:
        who = "the method gave nobody"
        if len(order) > 1:
            who = f"none of the {len(order)} methods gave anybody"
        words = f"{who} advice that today's model accepts, so none can still hold."
        return found._replace(sentence=words)
    under = {
        family: holds
        for family in plan.families
        if (holds := scores.of("empirical_robustness", dataset, best, family).mean) is not None
    }
    weakest = min(under, key=lambda name: under[name]) if len(set(under.values())) > 1 else None
    found = _above_bar(found, tables, scores, best)._replace(
        method=best,
        served=number((mine["coverage"] * mine["base_validity"].fillna(0.0) / 100.0).mean()),
        holds=robust.mean,
        low=robust.low,
        high=robust.high,
        distance=score["distance"].mean,
        weakest=weakest,
        weakest_holds=None if weakest is None else under[weakest],
    )
    whose = ""
    if found.base_models > 1:
        what = "draws" if dataset in same_bases(tables) else "base models"
        whose = f" of {found.base_models} {what}"
    headline = _headline(found, len(order), whose)
    people = " ".join([*_people_words(found, plan, scores, order), _served(found)])
    average = " ".join([*_average_words(found, plan, whose), *_shorter(plan, overall, order)])
    return found._replace(
        headline=headline,
        per_person=people,
        on_average=average,
        sentence=f"{headline} {people} {average}",
    )


def _above_bar(found: Finding, tables: Tables, scores: Scores, best: str) -> Finding:
    """Add how many people get advice that is above the bar, by each method and by any."""
    bars = scores.bars(found.dataset)
    asked, accepted, above, sure = bars[best]
    models = tables[ABOVE_BAR].loc[tables[ABOVE_BAR]["dataset"] == found.dataset, "models"]
    return found._replace(
        models=int(models.max()),
        asked=asked,
        accepted=accepted,
        above=above,
        sure=sure,
        above_by={method: bar.above for method, bar in bars.items()},
        sure_by_any=bars[ANY].sure,
    )


def _shorter(plan: Plan, row: Sequence[Score | None], order: Sequence[int]) -> Iterator[str]:
    """Name the nearest advice that holds for nearly all who ask, if it is nearer than the best."""
    firm = {
        place: (score["distance"].mean, score["end_to_end_robustness"].mean)
        for place in order
        if (score := row[place]) is not None and score["distance"].mean is not None
        if (score["end_to_end_robustness"].mean or 0.0) >= LEAST_PERCENT
    }
    nearest = min(firm, key=lambda place: firm[place][0] or 0.0, default=order[0])
    best = row[order[0]]
    assert best is not None
    if nearest != order[0] and (firm[nearest][0] or 0.0) < (best["distance"].mean or 0.0):
        distance, robust = firm[nearest]
        yield (
            f"Of the methods whose advice holds in at least {LEAST_PERCENT} % of all cases "
            f"(everybody who asks, in every changed model), {method_name(plan.methods[nearest])} "
            f"asks for the least: {percent(robust or 0.0)}, and people have to "
            f"{move_words(distance or 0.0)}."
        )


def _headline(found: Finding, methods: int, whose: str) -> str:
    """Say how many people get advice that holds; `whose` people they are, if of several."""
    assert found.method is not None
    among = f", the best of {methods} methods" if methods > 1 else ""
    return (
        f"with {method_name(found.method)}{among}, {found.above} of {found.asked} people{whose} "
        f"get advice that holds in at least {LEAST_PERCENT} % of the {found.models} changed models."
    )


def _average_words(found: Finding, plan: Plan, whose: str) -> Iterator[str]:
    """Say how often advice holds on average, how far it asks people to go, and where it is weak."""
    assert found.holds is not None and found.distance is not None
    interval = ""
    if found.low is not None and found.high is not None:
        over = f"95 % interval for people like these, from {found.people}{whose}"
        interval = f"; {over}: {found.low:.1f} to {found.high:.1f}"
    yield f"On average it holds in {_models(found.holds, found.models)}{interval})."
    yield f"It asks people to {move_words(found.distance)}."
    if len(plan.datasets) > 1:
        # Several datasets are read one under the other, so each says less.
        return
    if found.weakest is not None and found.weakest_holds is not None:
        weak = percent(found.weakest_holds)
        yield f"The weakest kind of change is {_kind(found.weakest, plan)}: {weak}."
    elif len(plan.families) == 1:
        yield f"The only kind of change is {_kind(plan.families[0], plan)}."
    else:
        yield "It holds equally often under every kind of change."


def _people_words(
    found: Finding, plan: Plan, scores: Scores, order: Sequence[int]
) -> Iterator[str]:
    """Say how sure it is that advice is above the bar, and what other methods reach."""
    assert found.above_by is not None
    surely, few = "", too_few(found.models)
    if few:
        takes = models_needed()
        yield f"With {found.models} changed models this is sure for nobody: it takes {takes}."
    else:
        yield f"This is sure for {found.sure} of them, by the 95 % interval over changed models."
        surely = f", and sure for {found.sure_by_any}"
    if len(order) > 1:
        others = [
            f"{method_name(method)} {above}"
            for method, above in found.above_by.items()
            if method not in (ANY, found.method)
        ]
        yield f"With the best method for each person it would be {found.above_by[ANY]}{surely}."
        yield f"The other methods reach: {listed(others)}."
    if not few:
        yield from _surer(found, plan, scores, order)


def _surer(found: Finding, plan: Plan, scores: Scores, order: Sequence[int]) -> Iterator[str]:
    """Name the method that is sure for more people, of those that reach as many."""
    bars = scores.bars(found.dataset)
    equal = [plan.methods[place] for place in order if bars[plan.methods[place]].above]
    equal = [method for method in equal if bars[method].above == found.above]
    surest = max(equal, key=lambda method: bars[method].sure, default=found.method)
    if surest is None or bars[surest].sure <= (found.sure or 0):
        return
    distance = scores.of("distance", found.dataset, surest).mean or 0.0
    yield (
        f"{method_name(surest)} reaches as many and is sure for {bars[surest].sure}, but asks "
        f"people to {move_words(distance)}."
    )


def _served(found: Finding) -> str:
    """Say how many people get advice that today's model accepts, with its interval."""
    assert found.asked is not None and found.accepted is not None and found.served is not None
    # People of several base models are much the same people.
    bases = max(1, found.base_models)
    low, high = share_interval(round(found.accepted / bases), round(found.asked / bases))
    interval = f"95 % interval for people like these: {100 * low:.1f} to {100 * high:.1f}"
    accepts = "today's model accepts" if found.base_models == 1 else "the base models accept"
    share = f"{percent(found.served)}; {interval}"
    return f"{found.accepted} of {found.asked} who ask ({share}) get advice that {accepts}."


def _models(share: float, models: int) -> str:
    """Return "15.1 of 16 changed models (94.2 %", which an interval may follow."""
    count = f"{share * models / 100.0:.1f}".removesuffix(".0")
    if share >= 100.0:
        count = str(models)
    elif count == str(models):
        count = f"nearly {models}"
    return f"{count} of {models} changed models ({percent(share)}"


def in_sentence(family: str) -> str:
    """Return a family's name within a sentence."""
    name = family_name(family)
    known = without_settings(family) in builtin_family_names()
    return f"{name[0].lower()}{name[1:]}" if known else name


def _kind(family: str, plan: Plan) -> str:
    """Return a family's name within a sentence; of successors, which models they are."""
    if family != SUCCESSOR:
        return in_sentence(family)
    names = list(plan.successors)
    return f"the mean of the successors {listed(names)}" if len(names) > 1 else "the successor"


def simulated_words(
    plan: Plan,
    variants: pd.DataFrame,
    model: str,
    averaged: Sequence[str] | None = None,
    unchanged: Sequence[str] = (),
) -> str:
    """Say which kinds of change there were, how many models of each, and what is not averaged."""
    real = variants["family"] == SUCCESSOR
    beside = " The real successor was tested as well." if real.any() else ""
    variants = variants[~real]
    if variants.empty:
        only = "nothing; only the real successor was tested" if beside else "no changed models yet"
        return f"Simulated: {only}."
    sizes = variants.groupby(["dataset", "base_seed", "family"]).size()
    kinds = []
    for family in (name for name in plan.families if name != SUCCESSOR):
        levels = variants["level"][variants["family"] == family].astype(str).unique()
        named = f"; {', '.join(levels)}" if 1 < len(levels) <= FEW else ""
        kinds.append(f"{in_sentence(family)} ({_span(sizes.xs(family, level='family'))}{named})")
    total = sizes.groupby(["dataset", "base_seed"]).sum()
    seeds = variants["base_seed"].nunique()
    each = f" for each of {seeds} base models" if seeds > 1 else ""
    model = f"a neural network ({model})" if model.startswith(DEFAULT_MODEL) else model
    one = "one kind" if len(kinds) == 1 else f"{len(kinds)} kinds"
    apart = [_kind(name, plan) for name in plan.families if averaged and name not in averaged]
    without = f" The average leaves out {listed(apart)}." if apart else ""
    if unchanged:
        same = listed([in_sentence(name) for name in unchanged])
        without += f" Of these, {same} changed nothing about any answer of the model."
    models = f"{_span(total)} changed models of {model}"
    return f"Simulated: {models} in {one}{each}: {listed(kinds)}.{without}{beside}"


def _span(numbers: pd.Series[int]) -> str:
    low, high = numbers.min(), numbers.max()
    return str(low) if low == high else f"{low} to {high}"


def not_simulated_words(plan: Plan) -> str:
    """Say which kinds of change there were not, and why."""
    known, published = family_names(), published_family_names()
    reasons = [
        f"{in_sentence(name)} ({reason})"
        for name, reason in plan.left_out.items()
        if without_settings(name) in known
    ]
    there = {without_settings(name) for name in plan.families}
    named = there | {without_settings(name) for name in plan.left_out}
    others = [name for name in builtin_family_names() if name not in named]
    absent = [in_sentence(name) for name in others if name in published]
    beyond = [in_sentence(name) for name in others if name not in published]
    if len(beyond) > FEW:
        beyond = [f"{len(beyond)} further kinds"]
    if absent or beyond:
        reasons.append(f"{listed(absent + beyond)} (not asked for)")
    reasons += [what for name, what in REAL.items() if name not in there]
    return f"Not simulated: {'; '.join([*reasons, 'data of other people'])}. {NO_PROMISE}"


def who_asked(results: StoredResults) -> Iterator[str]:
    """Yield what has to be said of the people of a run, and of its base models, in words."""
    datasets = results.shown.datasets
    fewer = []
    for dataset in datasets:
        on = f" on {dataset_name(dataset)}" if len(datasets) > 1 else ""
        # Every method is asked by the same people: one of them tells who they are.
        keys = [key for key in results.answered if key.dataset == dataset]
        answers = [results.counterfactuals(*key) for key in keys if key.method == keys[0].method]
        sizes = pd.Series([len(each) for each in answers], dtype=int)
        needless = int(sizes.sum()) - sum(int(each.asking.sum()) for each in answers)
        if needless:
            yield (
                f"{needless} of {sizes.sum()} people{on} are decided in their favour as they are. "
                "They need no advice, and are not counted."
            )
        if answers and sizes.min() < results.plan.factuals:
            fewer.append(f"{_span(sizes)} people{on}")
        if results.one_base(dataset):
            yield (
                f"All base models{on} are the same: the seed changes nothing about them. So "
                "spreads over base models are over draws of people and changed models."
            )
    if fewer and results.plan.rows is None:
        whom = "today's model rejects" if len(results.plan.base_seeds) == 1 else "a model rejects"
        yield (
            f"Only {listed(fewer)} ask, because {whom} no more of the test rows; the plan "
            f"allows up to {results.plan.factuals}."
        )
