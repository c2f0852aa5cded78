"""The two kinds of page: which sections each has, in what order, and how it begins.

A run of several datasets, such as the paper's, is for somebody who compares methods. A run of one
dataset is an audit: somebody asks about a model and its people, and may never have heard of the
paper. An audit says what was audited and how good the model is, goes from people to methods, and
keeps what researchers ask for folded at the end.

A section is an entry here and a function that returns its parts; see `parts`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from changeproof.report.page.changes import change_section, kinds_section
from changeproof.report.page.gate import gate_section
from changeproof.report.page.groups import group_section
from changeproof.report.page.guarantees import guarantee_section
from changeproof.report.page.letters import letter_section
from changeproof.report.page.life import life_section
from changeproof.report.page.methods import method_section
from changeproof.report.page.parts import Part, Source
from changeproof.report.page.people import advice_section, person_section
from changeproof.report.page.provenance import run_section
from changeproof.report.page.rankings import answer_section, ranking_section
from changeproof.report.page.robustness import family_section, hidden_section, price_section
from changeproof.report.page.times import published_section, time_section
from changeproof.runs.plan import Plan
from changeproof.tables.names import dataset_name

# A paragraph: its class, and what it says.
Line = tuple[str, str]


class Section(NamedTuple):
    """A section: its address, its name in the navigation, its title, how it begins, and its parts.

    `parts` returns None where a run has nothing of the kind.
    """

    id: str
    name: str
    title: str
    intro: str
    parts: Callable[[Source], list[Part] | None]


class Kind(NamedTuple):
    """A kind of page.

    `question` is the heading, after the name of the data where there is one. `lines` says how the
    verdict is read. What is `folded` stands at the end, closed until somebody wants it; `more` is
    what is said of it.
    """

    name: str
    question: str
    lead: str
    lines: Callable[[Mapping[str, Any]], Iterator[Line]]
    sections: tuple[Section, ...]
    folded: tuple[Section, ...] = ()
    more: str = ""

    def subject(self, plan: Plan) -> str:
        """Return what the page is about: the name of the data of an audit."""
        return dataset_name(plan.datasets[0]) if self is AUDIT else ""


def kind_of(plan: Plan) -> Kind:
    """Return the kind of page that a run gets."""
    return AUDIT if len(plan.datasets) == 1 else COMPARISON


def _compared(verdict: Mapping[str, Any]) -> Iterator[Line]:
    """Yield the verdict dataset by dataset."""
    if verdict["judged"]:
        yield "judged", verdict["judged"]
    yield from (("note", note) for note in verdict["notes"])
    for finding in verdict["findings"]:
        yield "finding", finding["headline"]
        if finding["sentence"] != finding["headline"]:
            yield "details", finding["sentence"].removeprefix(finding["headline"])
    yield from (("", verdict[name]) for name in ("base", "simulated", "not_simulated"))


def _audited(verdict: Mapping[str, Any]) -> Iterator[Line]:
    """Yield model and data, how good the model is, then the verdict per person and on average."""
    model = verdict["judged"].removesuffix(verdict["refit"]).rstrip()
    yield "judged", f"{model} {verdict['data']}".strip()
    yield "judged", verdict["base"]
    if verdict["refit"]:
        yield "judged", verdict["refit"]
    for finding in verdict["findings"]:
        yield "finding", finding["headline"]
        for name in ("per_person", "on_average"):
            if finding[name]:
                yield "details", finding[name]
    yield from (("note", note) for note in verdict["notes"])
    yield from (("", verdict[name]) for name in ("simulated", "not_simulated"))


LETTERS = Section(
    "letters",
    "Letters",
    "The letters that are out",
    "People were told what to change, and then the model changed. Here is the model that "
    "really came next, put to the same letters, beside the models that were simulated.",
    letter_section,
)
ANSWER = Section(
    "answer",
    "Answer",
    "The answer first",
    "Choose the data and the change that you expect next. Methods are ranked by end-to-end "
    "robustness: of all people who ask, the percentage who get a CFE that still holds "
    "afterwards.",
    answer_section,
)
FAMILIES = Section(
    "families",
    "By family",
    "Robustness by family of change",
    "Empirical robustness: of the CFEs that the base model accepts, the percentage that a "
    "changed model still accepts.",
    family_section,
)
HIDDEN = Section(
    "hidden",
    "What scores hide",
    "What the score hides",
    "Empirical robustness looks only at CFEs that the base model accepts. Coverage says how "
    "many people got a CFE at all. End-to-end robustness counts everybody who asked: those who "
    "got no valid CFE count as not helped.",
    hidden_section,
)
PRICE = Section(
    "price",
    "Price",
    "The price",
    "A CFE that asks for more tends to survive more changes, but is harder to act on. "
    "Distance is the mean change per feature, in typical deviations of that feature; a change "
    "of category counts 1.",
    price_section,
)
LIFE = Section(
    "life",
    "How long",
    "How long does it last?",
    "A CFE is given once. Then the model is updated, and updated again, each time from where "
    "the last update left it. A CFE lasts until the first update that no longer accepts it. "
    "There are many such futures.",
    life_section,
)
CHANGES = Section(
    "changes",
    "Size of changes",
    "How big the changes were",
    "Compared with the base model on the test rows: the share of predictions that flip, and "
    "the mean absolute difference of the predicted probabilities.",
    change_section,
)
GUARANTEES = Section(
    "guarantees",
    "Guarantees",
    "Do guarantees transfer?",
    "Some methods certify their CFEs for one kind of change. Here is what they promise, and "
    "what happened under that change and under all others.",
    guarantee_section,
)
RANKINGS = Section(
    "rankings",
    "Rankings",
    "Do rankings hold?",
    "The methods ranked by end-to-end robustness, under each family separately. If it did "
    "not matter how the model changes, all columns would be the same.",
    ranking_section,
)
GROUPS = Section(
    "groups",
    "Groups",
    "Who is let down?",
    "The same numbers for groups of people: who gets advice, how often it still holds, and "
    "how far it asks them to go. Small groups are not shown.",
    group_section,
)
ADVICE = Section(
    "advice",
    "Advice",
    "What people are told",
    "Advice must be something that a person can do. This is what the answers ask of people.",
    advice_section,
)
PERSON = Section(
    "person",
    "A person",
    "A person",
    "What each method tells one person to change, in the units of the data, and how many "
    "changed models would still accept that. In brackets: the size of a change, in typical "
    "deviations of that feature, or 1 for a change of category. Recommended is the shortest "
    "advice that today's model accepts, that the person can follow, and that is known to hold "
    "in at least 95 % of the changed models, by its 95 % interval.",
    person_section,
)
TIME = Section(
    "time",
    "Time",
    "Time",
    "Time to generate one CFE. Methods answer whole batches; the time of a batch is divided "
    "evenly among its requests.",
    time_section,
)
PUBLISHED = Section(
    "published", "Published", "The published numbers beside ours", "", published_section
)
RUN = Section("run", "Run", "What was run", "", run_section)

PEOPLE = PERSON._replace(
    name="People",
    title="What each person is told",
    intro="Choose a person whom the model decided against: what each method tells them to change, "
    "in the units of the data, and how many changed models would still accept that, in all and "
    "by kind of change (see “How the model was changed”). Recommended is the shortest advice "
    "that today's model accepts, that the person can follow, and that is known to hold in at "
    "least 95 % of the changed models, by its 95 % interval. In brackets: the size of a change, "
    "in typical deviations of that feature, or 1 for a change of category.",
)
KINDS = Section(
    "kinds",
    "Changes",
    "How the model was changed",
    "Each kind of change made several changed models. Here is how many decisions about the test "
    "rows they turned around, and in how many of them the advice holds.",
    kinds_section,
)
GATE = Section(
    "gate",
    "Gate",
    "A gate for the next model",
    "What this audit found can be required of the next model, or of the next method, before "
    "it goes live.",
    gate_section,
)
METHODS = Section(
    "methods",
    "Methods",
    "What each method gives, and how it was tested",
    "A method is a way to find advice. The one that the verdict names comes first: its advice "
    "holds for the most people, and of those that reach as many it asks for the least.",
    method_section,
)
BY_CHANGE = ANSWER._replace(
    title="Methods by the change that you expect",
    intro="Choose the change that you expect next. Methods are ranked by end-to-end robustness: in "
    "what share of changed models advice holds, on average over everybody who asks. The verdict "
    "chooses otherwise: it counts the people whose advice holds in at least 95 % of them.",
)
LET_DOWN = GROUPS._replace(
    intro="The same numbers for groups of people: how many get advice (coverage), how much of it "
    "today's model accepts (base validity), how often that still holds (empirical robustness), how "
    "often anything holds, counting everybody who asks (end-to-end robustness), and how far advice "
    "asks them to go. Small groups are not shown.",
)
ASKED = ADVICE._replace(title="What advice asks of people")
RECORD = RUN._replace(title="What was run: model, plan, data, versions")

COMPARISON = Kind(
    "comparison",
    "Will it still hold after the model changes?",
    "Counterfactual explanations (CFEs) tell people what to change to get a favourable decision. "
    "Here each method made its CFEs once, for today's model. Then the model was changed in many "
    "ways, and every changed model was asked: would it accept the same CFEs?",
    _compared,
    (
        LETTERS,
        ANSWER,
        FAMILIES,
        HIDDEN,
        PRICE,
        LIFE,
        CHANGES,
        GUARANTEES,
        RANKINGS,
        GROUPS,
        ADVICE,
        PERSON,
        TIME,
        PUBLISHED,
        RUN,
    ),
)
AUDIT = Kind(
    "audit",
    "will the advice still hold after the model changes?",
    "People who are refused are told what they could change. Here each method gave its advice "
    "once, for today's model. Then the model was changed in many ways, and every changed model "
    "was asked: would it accept somebody who has followed that advice?",
    _audited,
    (PEOPLE, LETTERS, KINDS, LET_DOWN, LIFE, GATE, METHODS),
    (
        BY_CHANGE,
        FAMILIES,
        HIDDEN,
        PRICE,
        CHANGES,
        GUARANTEES,
        RANKINGS,
        ASKED,
        TIME,
        PUBLISHED,
        RECORD,
    ),
    "Research calls such advice a counterfactual explanation (CFE), and today's model the base "
    "model. Robustness is how often CFEs still hold.",
)
PAGES = {kind.name: kind for kind in (COMPARISON, AUDIT)}
