"""The verdict: what a run found, in a few sentences that somebody who decides can read.

Whose advice holds best, how surely and at what distance; then what was simulated and what was not.
Page and terminal write the same words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from changeproof.report.names import dataset_name, method_name
from changeproof.report.numbers import number, of_hundred
from changeproof.report.recommendation import LEAST_PERCENT
from changeproof.report.scores import Score, ranked, scores
from changeproof.report.simulated import in_sentence, not_simulated_words, simulated_words
from changeproof.report.spreads import same_bases
from changeproof.report.who_asked import who_asked
from changeproof.runs.people_tables import NAME as PEOPLE
from changeproof.runs.plan import Plan
from changeproof.runs.results import ALL_FAMILIES, StoredResults

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
    served
        Of 100 people who ask, how many get advice that today's model accepts.
    holds, low, high
        In how many of 100 changed models it holds, with the 95 % interval over people.
    distance
        How far it is.
    weakest, weakest_holds
        The family under which it holds least, and in how many of 100 models; None if all are alike.
    sentence
        All of that in words.
    """

    dataset: str
    method: str | None = None
    people: int = 0
    base_models: int = 0
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

    `notes` come first: what of it is not as somebody may think.
    """

    findings: list[Finding]
    simulated: str
    not_simulated: str
    notes: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """Every sentence, for the terminal."""
        found = [each.sentence for each in self.findings]
        return [*self.notes, *found, self.simulated, self.not_simulated]

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
    for dataset, families in zip(plan.datasets, scores(tables["intervals"], plan), strict=True):
        found = _finding(plan, tables, dataset, families)
        if nothing and found.holds is not None:
            found = Finding(dataset, people=found.people, sentence=NOTHING_CHANGED)
        place = (f"on {dataset_name(dataset)}",) if len(plan.datasets) > 1 else ()
        words = ", ".join((*state, *place, found.sentence))
        findings.append(found._replace(sentence=words[0].upper() + words[1:]))
    simulated = simulated_words(
        plan, tables["variants"], results.run.learner.name, results.averaged, results.unchanged
    )
    notes = tuple(who_asked(results))
    return Verdict(findings, simulated, not_simulated_words(plan), notes)


def _finding(
    plan: Plan,
    tables: Mapping[str, pd.DataFrame],
    dataset: str,
    families: Sequence[list[Score | None]],
) -> Finding:
    """Return what was found on a dataset; its sentence begins in small letters."""
    order = ranked(families[0])
    if not order:
        return Finding(dataset, sentence="nothing is finished yet.")
    best, score = plan.methods[order[0]], families[0][order[0]] or Score()
    seeds = tables["seed_results"]
    mine = seeds[(seeds["dataset"] == dataset) & (seeds["method"] == best)]
    mine = mine[mine["family"] == ALL_FAMILIES]
    low, high, people = _interval(tables, dataset, best)
    found = Finding(dataset, people=people, base_models=len(mine))
    if score.coverage.mean is None:
        words = "today's model decides against nobody, so nobody asked for advice."
        return found._replace(sentence=words)
    if score.empirical_robustness.mean is None:
        who = "the method gave nobody"
        if len(order) > 1:
            who = f"none of the {len(order)} methods gave anybody"
        words = f"{who} advice that today's model accepts, so none can still hold."
        return found._replace(sentence=words)
    served = mine["coverage"] * mine["base_validity"].fillna(0.0) / 100.0
    weakest, least = _weakest(plan, [row[order[0]] for row in families[1:]])
    found = found._replace(
        method=best,
        served=number(served.mean()),
        holds=score.empirical_robustness.mean,
        low=low,
        high=high,
        distance=score.distance.mean,
        weakest=weakest,
        weakest_holds=least,
    )
    whose = ""
    if found.base_models > 1:
        what = "draws" if dataset in same_bases(tables) else "base models"
        whose = f" of {found.base_models} {what}"
    words = _sentence(found, plan, len(order), whose) + _shorter(plan, families[0], order)
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


def _shorter(plan: Plan, row: Sequence[Score | None], order: Sequence[int]) -> str:
    """Name the nearest advice that holds for nearly all who ask, if it is nearer than the best."""
    firm = {
        place: score.distance.mean
        for place in order
        if (score := row[place]) is not None and score.distance.mean is not None
        if (score.end_to_end_robustness.mean or 0.0) >= LEAST_PERCENT
    }
    nearest = min(firm, key=lambda place: firm[place], default=order[0])
    score = row[nearest]
    if nearest == order[0] or score is None:
        return ""
    robust = of_hundred(score.end_to_end_robustness.mean or 0.0)
    if len(plan.datasets) > 1:
        name = method_name(plan.methods[nearest])
        return f" That of {name} is shorter: it holds for {robust} who ask, at {firm[nearest]:.2f}."
    return (
        f" The shortest advice that holds for at least {LEAST_PERCENT} of 100 who ask is that of "
        f"{method_name(plan.methods[nearest])}: {robust}, at {firm[nearest]:.2f}."
    )


def _weakest(plan: Plan, row: Sequence[Score | None]) -> tuple[str | None, float | None]:
    """Return the family under which advice holds least, unless it is alike under all."""
    holds = {
        family: score.empirical_robustness.mean
        for family, score in zip(plan.families, row, strict=True)
        if score is not None and score.empirical_robustness.mean is not None
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
    served = of_hundred(found.served)
    models = "today's model accepts" if found.base_models == 1 else "the base models accept"
    interval = ""
    if found.low is not None and found.high is not None:
        over = f"95 % interval over {found.people} people{whose}"
        interval = f" ({over}: {found.low:.1f} to {found.high:.1f})"
    if len(plan.datasets) > 1:
        # Several datasets are read one under the other: what is alike in all of them goes without.
        return (
            f"with {method_name(found.method)}{among} {served} people who ask get valid advice. It "
            f"holds in {of_hundred(found.holds)} changed models{interval}, at a distance of "
            f"{found.distance:.2f}."
        )
    words = (
        f"with {method_name(found.method)}{among} {served} people who ask get advice that "
        f"{models}, and it still holds in {of_hundred(found.holds)} changed models{interval}. "
        f"It asks people to move {found.distance:.2f} typical deviations per feature. "
    )
    if found.weakest is not None and found.weakest_holds is not None:
        weak = of_hundred(found.weakest_holds)
        return words + f"The weakest kind of change is {in_sentence(found.weakest)}: {weak}."
    if len(plan.families) == 1:
        return words + f"The only kind of change is {in_sentence(plan.families[0])}."
    return words + "It holds equally often under every kind of change."
