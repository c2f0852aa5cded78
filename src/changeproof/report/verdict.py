"""The verdict: what a run found, in a few sentences that somebody who decides can read.

Whose advice holds best, how surely and at what distance; then what was simulated and what was not.
Page and terminal write the same words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from changeproof.changes import builtin_family_names, family_names, published_family_names
from changeproof.evaluation.bar import models_needed
from changeproof.evaluation.uncertainty import share_interval
from changeproof.methods.method import Counterfactuals
from changeproof.plugins import without_settings
from changeproof.report.recommendation import LEAST_PERCENT, too_few
from changeproof.report.scores import UNKNOWN, Score, Scores, ranked
from changeproof.runs.plan import DEFAULT_MODEL, Plan
from changeproof.runs.results import ALL_FAMILIES, StoredResults
from changeproof.tables.display import listed, number, percent, same_bases
from changeproof.tables.names import dataset_name, family_name, method_name
from changeproof.tables.people import ABOVE_BAR as BAR
from changeproof.tables.people import ANY
from changeproof.tables.people import INTERVALS as PEOPLE

# So many levels or names are told one by one; of more only the number.
FEW = 5
# What is real, by the family that stands for it where a run has it.
SUCCESSOR = "successor"
REAL = {SUCCESSOR: "a real successor of the model", "later-data": "data that came later"}
NO_PROMISE = "This is no promise about changes that are not listed."
NOTHING_CHANGED = (
    "no changed model decides or scores anybody in another way than today's, so nothing is known "
    "about whose advice would hold."
)


class Finding(NamedTuple):
    """What was found on one dataset, with the words for it.

    Attributes
    ----------
    dataset, method
        Where, and whose advice holds best: for most of all people who ask, and of equals the
        nearest. None where nobody's does.
    people, base_models
        How many people stand behind the interval, of how many base models.
    models
        How many changed models each base model has that count.
    asked, accepted, above, sure
        How many people ask, how many of them get advice that today's model accepts, that holds in
        at least 95 % of the changed models as well, and of which the 95 % interval over changed
        models says so; summed over base models. None in tables of earlier versions.
    above_by, sure_by_any
        By method, and by any of them, how many get advice that holds so often; and for how many
        of all that is sure.
    served
        The percentage of people who ask that get advice that today's model accepts.
    holds, low, high
        In which percentage of the changed models it holds on average, with the 95 % interval over
        people.
    distance
        How far it is.
    weakest, weakest_holds
        The family under which it holds least, and in which percentage of its models; None if all
        are alike.
    sentence
        All of that in words.
    """

    dataset: str
    method: str | None = None
    people: int = 0
    base_models: int = 0
    models: int = 0
    asked: int | None = None
    accepted: int | None = None
    above: int | None = None
    sure: int | None = None
    above_by: Mapping[str, int] | None = None
    sure_by_any: int | None = None
    served: float | None = None
    holds: float | None = None
    low: float | None = None
    high: float | None = None
    distance: float | None = None
    weakest: str | None = None
    weakest_holds: float | None = None
    sentence: str = ""


class Verdict(NamedTuple):
    """What there is to say of a run: a finding per dataset, and what they rest on.

    `notes` come first: what of it is not as somebody may think. `base` says how good the models
    are that advice was made for.
    """

    findings: list[Finding]
    base: str
    simulated: str
    not_simulated: str
    notes: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """Every sentence, for the terminal."""
        found = [each.sentence for each in self.findings]
        return [*self.notes, *found, self.base, self.simulated, self.not_simulated]

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {**self._asdict(), "findings": [each._asdict() for each in self.findings]}


def verdict(results: StoredResults, tables: Mapping[str, pd.DataFrame]) -> Verdict:
    """Return the verdict of a run.

    Parameters
    ----------
    results
        The run, finished or not.
    tables
        Its tables; of an unfinished run those of what is finished.
    """
    plan = results.shown
    there = tables["seed_results"][["dataset", "method", "base_seed"]].drop_duplicates()
    wanted = len(plan.datasets) * len(plan.methods) * len(plan.base_seeds)
    state = () if len(there) == wanted else ("so far",)
    findings = []
    nothing = bool(results.unchanged) and set(results.averaged) <= set(results.unchanged)
    scores = Scores(tables)
    for dataset in plan.datasets:
        found = _finding(plan, tables, dataset, scores)
        if nothing and found.holds is not None:
            found = Finding(dataset, people=found.people, sentence=NOTHING_CHANGED)
        place = (f"on {dataset_name(dataset)}",) if len(plan.datasets) > 1 else ()
        words = ", ".join((*state, *place, found.sentence))
        findings.append(found._replace(sentence=words[0].upper() + words[1:]))
    simulated = simulated_words(
        plan, tables["variants"], results.manifest.model, results.averaged, results.unchanged
    )
    notes = tuple(who_asked(results))
    base = _base_words(results, tables)
    return Verdict(findings, base, simulated, not_simulated_words(plan), notes)


def _base_words(results: StoredResults, tables: Mapping[str, pd.DataFrame]) -> str:
    """Say how good the base models are on the test rows, and how many of each class those are."""
    table = tables["dataset_summary"]
    rows = dict(zip(table["dataset"], table.to_dict("records"), strict=True))
    said = []
    for dataset in results.shown.datasets:
        row = rows.get(dataset, {})
        least, mean, most = (
            f"{float(row.get(f'balanced_accuracy_{each}', 'nan')):.3f}"
            for each in ("min", "mean", "max")
        )
        if mean == "nan":
            continue
        labels = results.task(dataset).labels_of("test")
        favourable = int(labels.sum())
        between = "" if least == most else f", from {least} to {most}"
        said.append(
            f"{mean}{between} on {dataset_name(dataset)} ({favourable} favourable and "
            f"{len(labels) - favourable} adverse test rows)"
        )
    what = "today's model" if len(results.shown.base_seeds) == 1 else "the base models"
    return f"Balanced accuracy of {what}: {'; '.join(said) or 'not known yet'}."


def _finding(
    plan: Plan,
    tables: Mapping[str, pd.DataFrame],
    dataset: str,
    scores: Scores,
) -> Finding:
    """Return what was found on a dataset; its sentence begins in small letters."""
    overall = scores.row(dataset, plan.methods)
    order = ranked(overall)
    if not order:
        return Finding(dataset, sentence="nothing is finished yet.")
    best, score = plan.methods[order[0]], overall[order[0]] or UNKNOWN
    seeds = tables["seed_results"]
    mine = seeds[(seeds["dataset"] == dataset) & (seeds["method"] == best)]
    mine = mine[mine["family"] == ALL_FAMILIES]
    low, high, people = _interval(tables, dataset, best)
    found = Finding(dataset, people=people, base_models=len(mine))
    if score["coverage"].mean is None:
        words = "today's model decides against nobody, so nobody asked for advice."
        return found._replace(sentence=words)
    if score["empirical_robustness"].mean is None:
        who = "the method gave nobody"
        if len(order) > 1:
            who = f"none of the {len(order)} methods gave anybody"
        words = f"{who} advice that today's model accepts, so none can still hold."
        return found._replace(sentence=words)
    served = mine["coverage"] * mine["base_validity"].fillna(0.0) / 100.0
    found = _above_bar(found, tables, best)
    weakest, least = _weakest(plan, [scores.get(dataset, best, family) for family in plan.families])
    found = found._replace(
        method=best,
        served=number(served.mean()),
        holds=score["empirical_robustness"].mean,
        low=low,
        high=high,
        distance=score["distance"].mean,
        weakest=weakest,
        weakest_holds=least,
    )
    whose = ""
    if found.base_models > 1:
        what = "draws" if dataset in same_bases(tables) else "base models"
        whose = f" of {found.base_models} {what}"
    words = _sentence(found, plan, len(order), whose) + _shorter(plan, overall, order)
    return found._replace(sentence=words)


def _interval(
    tables: Mapping[str, pd.DataFrame], dataset: str, method: str
) -> tuple[float | None, float | None, int]:
    """Return both ends of the interval, and how many people; none in tables of earlier versions."""
    if PEOPLE not in tables:
        return None, None, 0
    wanted = (dataset, method, ALL_FAMILIES, "empirical_robustness")
    rows = tables[PEOPLE].set_index(["dataset", "method", "family", "metric"])
    if wanted not in rows.index:
        return None, None, 0
    row = rows.loc[[wanted]].iloc[0]
    return number(row["low"]), number(row["high"]), int(row["people"])


def _above_bar(found: Finding, tables: Mapping[str, pd.DataFrame], best: str) -> Finding:
    """Add how many people get advice that is above the bar, by each method and by any."""
    if BAR not in tables:
        return found
    rows = tables[BAR][tables[BAR]["dataset"] == found.dataset]
    counts = rows.groupby("method", sort=False)[["people", "accepted", "above", "sure"]].sum()
    mine = counts.astype(int).to_dict("index")[best]
    return found._replace(
        models=int(rows["models"].max()),
        asked=mine["people"],
        accepted=mine["accepted"],
        above=mine["above"],
        sure=mine["sure"],
        above_by={str(method): int(value) for method, value in counts["above"].items()},
        sure_by_any=int(counts["sure"].to_dict()[ANY]),
    )


def _shorter(plan: Plan, row: Sequence[Score | None], order: Sequence[int]) -> str:
    """Name the nearest advice that holds for nearly all who ask, if it is nearer than the best."""
    firm = {
        place: score["distance"].mean
        for place in order
        if (score := row[place]) is not None and score["distance"].mean is not None
        if (score["end_to_end_robustness"].mean or 0.0) >= LEAST_PERCENT
    }
    nearest = min(firm, key=lambda place: firm[place], default=order[0])
    score = row[nearest]
    if nearest == order[0] or score is None:
        return ""
    robust = percent(score["end_to_end_robustness"].mean or 0.0)
    if len(plan.datasets) > 1:
        name = method_name(plan.methods[nearest])
        return (
            f" That of {name} is shorter: its end-to-end robustness is {robust}, at "
            f"{firm[nearest]:.2f}."
        )
    return (
        f" The shortest advice whose end-to-end robustness is at least {LEAST_PERCENT} % is that "
        f"of {method_name(plan.methods[nearest])}: {robust}, at {firm[nearest]:.2f}."
    )


def _weakest(plan: Plan, row: Sequence[Score | None]) -> tuple[str | None, float | None]:
    """Return the family under which advice holds least, unless it is alike under all."""
    holds = {
        family: score["empirical_robustness"].mean
        for family, score in zip(plan.families, row, strict=True)
        if score is not None and score["empirical_robustness"].mean is not None
    }
    if len(set(holds.values())) < 2:
        return None, None
    weakest = min(holds, key=lambda family: holds[family])
    return weakest, holds[weakest]


def _sentence(found: Finding, plan: Plan, methods: int, whose: str) -> str:
    """Say what was found, where there is something; `whose` people they are, if of several."""
    assert found.method is not None and found.served is not None
    assert found.holds is not None and found.distance is not None
    among = f", the best of {methods} methods," if methods > 1 else ","
    words = f"with {method_name(found.method)}{among} {_bar_words(found, methods, whose)}"
    accepts = "today's model accepts" if found.base_models == 1 else "the base models accept"
    interval = ""
    if found.low is not None and found.high is not None:
        over = f"95 % interval over {found.people} people{whose}"
        interval = f"; {over}: {found.low:.1f} to {found.high:.1f}"
    several = len(plan.datasets) > 1
    words += (
        f"{_served(found)} get advice that {accepts}, and on average it holds in "
        f"{_models(found.holds, found.models)}{interval})"
    )
    if several:
        # Several datasets are read one under the other: what is alike in all of them goes without.
        return f"{words}, at a distance of {found.distance:.2f}."
    words += f". It asks people to move {found.distance:.2f} typical deviations per feature. "
    if found.weakest is not None and found.weakest_holds is not None:
        weak = percent(found.weakest_holds)
        return words + f"The weakest kind of change is {in_sentence(found.weakest)}: {weak}."
    if len(plan.families) == 1:
        return words + f"The only kind of change is {in_sentence(plan.families[0])}."
    return words + "It holds equally often under every kind of change."


def _bar_words(found: Finding, methods: int, whose: str) -> str:
    """Say how many people get advice that is above the bar, and how sure that is."""
    if found.asked is None or found.above_by is None or found.above is None:
        return ""
    words = (
        f"{found.above} of {found.asked} people{whose} get advice that holds in at least "
        f"{LEAST_PERCENT} % of the {found.models} changed models"
    )
    if methods > 1:
        others = ", ".join(
            f"{method_name(method)} {above}"
            for method, above in found.above_by.items()
            if method not in (ANY, found.method)
        )
        words += f"; from any method, {found.above_by[ANY]} do ({others})"
    if too_few(found.models):
        words += f". Too few to be sure of anybody: that takes {models_needed()} changed models"
    elif methods > 1:
        words += f". The interval over changed models says so for {found.sure} of them, and for "
        words += f"{found.sure_by_any} from any method"
    else:
        words += f". The interval over changed models says so for {found.sure} of them"
    return f"{words}. "


def _served(found: Finding) -> str:
    """Say how many people get advice that today's model accepts, with its interval."""
    assert found.served is not None
    if found.asked is None or found.accepted is None:
        return f"{percent(found.served)} of people who ask"
    # People of several base models are much the same people.
    bases = max(1, found.base_models)
    low, high = share_interval(round(found.accepted / bases), round(found.asked / bases))
    interval = f"95 % interval: {100 * low:.1f} to {100 * high:.1f}"
    return f"{found.accepted} of {found.asked} who ask ({percent(found.served)}; {interval})"


def _models(share: float, models: int) -> str:
    """Return "15.1 of 16 changed models (94.2 %", which an interval may follow."""
    if not models:
        return f"this share of changed models ({percent(share)}"
    count = f"{share * models / 100.0:.1f}".removesuffix(".0")
    exact = count if share < 100.0 or count == str(models) else str(models)
    if count == str(models) and share < 100.0:
        exact = f"nearly {models}"
    return f"{exact} of {models} changed models ({percent(share)}"


def in_sentence(family: str) -> str:
    """Return a family's name within a sentence."""
    name = family_name(family)
    known = without_settings(family) in builtin_family_names()
    return f"{name[0].lower()}{name[1:]}" if known else name


def simulated_words(
    plan: Plan,
    variants: pd.DataFrame,
    model: str,
    averaged: Sequence[str] | None = None,
    unchanged: Sequence[str] = (),
) -> str:
    """Say which kinds of change there were, how many models of each, and what is not averaged."""
    real = variants["family"] == SUCCESSOR
    beside = " Beside them stands the real successor." if real.any() else ""
    variants = variants[~real]
    if variants.empty:
        only = "nothing; only the real successor was tested" if beside else "no changed models yet"
        return f"Simulated: {only}."
    sizes = variants.groupby(["dataset", "base_seed", "family"]).size()
    kinds = []
    for family in (name for name in plan.families if name != SUCCESSOR):
        mine = variants[variants["family"] == family]
        levels = list(dict.fromkeys(mine["level"].astype(str)))
        told = f"; {', '.join(levels)}" if 1 < len(levels) <= FEW else ""
        kinds.append(f"{in_sentence(family)} ({_span(sizes.xs(family, level='family'))}{told})")
    total = sizes.groupby(["dataset", "base_seed"]).sum()
    seeds = variants["base_seed"].nunique()
    each = f" for each of {seeds} base models" if seeds > 1 else ""
    model = f"a neural network ({model})" if model.startswith(DEFAULT_MODEL) else model
    one = "one kind" if len(kinds) == 1 else f"{len(kinds)} kinds"
    models = f"{_span(total)} changed models of {model}"
    apart = [in_sentence(name) for name in plan.families if averaged and name not in averaged]
    without = f" The average leaves out {listed(apart)}." if apart else ""
    if unchanged:
        same = listed([in_sentence(name) for name in unchanged])
        without += f" Of these, {same} changed nothing about any answer of the model."
    return f"Simulated: {models} in {one}{each}: {listed(kinds)}.{without}{beside}"


def _span(numbers: pd.Series[int]) -> str:
    low, high = numbers.min(), numbers.max()
    return str(low) if low == high else f"{low} to {high}"


def not_simulated_words(plan: Plan) -> str:
    """Say which kinds of change there were not, and why."""
    reasons = [f"{in_sentence(name)} ({reason})" for name, reason in _left_out(plan)]
    there = {without_settings(name) for name in plan.families}
    named = there | {without_settings(name) for name in plan.left_out}
    others = [name for name in builtin_family_names() if name not in named]
    absent = [in_sentence(name) for name in others if name in published_family_names()]
    beyond = [in_sentence(name) for name in others if name not in published_family_names()]
    if len(beyond) > FEW:
        beyond = [f"{len(beyond)} kinds that the paper does not have"]
    if absent or beyond:
        reasons.append(f"{listed(absent + beyond)} (not asked for)")
    reasons += [what for name, what in REAL.items() if name not in there]
    reasons.append("data of other people")
    return f"Not simulated: {'; '.join(reasons)}. {NO_PROMISE}"


def _left_out(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield the families among what the model cannot support."""
    known = family_names()
    for name, reason in plan.left_out.items():
        if without_settings(name) in known:
            yield name, reason


def who_asked(results: StoredResults) -> Iterator[str]:
    """Yield what has to be said of the people of a run, and of its base models, in words."""
    datasets = results.shown.datasets
    fewer = []
    for dataset in datasets:
        on = f" on {dataset_name(dataset)}" if len(datasets) > 1 else ""
        answers = _answers(results, dataset)
        people = sum(map(len, answers))
        needless = people - sum(int(each.asking.sum()) for each in answers)
        if needless:
            yield (
                f"{needless} of {people} people{on} are decided in their favour as they are. They "
                "need no advice, and are not counted."
            )
        if answers and min(map(len, answers)) < results.plan.factuals:
            fewer.append(f"{_people_span(answers)} people{on}")
        if results.one_base(dataset):
            yield (
                f"All base models{on} are the same: the seed changes nothing about them. What is "
                "said over base models is over draws of people and changed models."
            )
    if fewer and results.plan.rows is None:
        whom = "today's model rejects" if len(results.plan.base_seeds) == 1 else "a model rejects"
        yield (
            f"Only {listed(fewer)} ask, as {whom} no more of the test rows; up to "
            f"{results.plan.factuals} may."
        )


def _answers(results: StoredResults, dataset: str) -> list[Counterfactuals]:
    """Return a method's answers by base model: every method is asked by the same people."""
    answered = [key for key in results.answered if key.dataset == dataset]
    return [results.counterfactuals(*key) for key in answered if key.method == answered[0].method]


def _people_span(answers: list[Counterfactuals]) -> str:
    least, most = min(map(len, answers)), max(map(len, answers))
    return str(least) if least == most else f"{least} to {most}"
