"""The sections of the page, in order: what each is called, how it begins, and what it shows.

A section is added with a line here and a function that returns its parts; see `parts`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from changeproof.report.changes import change_section
from changeproof.report.groups import group_section
from changeproof.report.letters import letter_section
from changeproof.report.life import life_section
from changeproof.report.page.advice import advice_section
from changeproof.report.page.answer import answer
from changeproof.report.page.guarantees import guarantee_section
from changeproof.report.page.parts import Part, Source
from changeproof.report.page.people import person_section
from changeproof.report.page.provenance import run_section
from changeproof.report.page.rankings import ranking_section
from changeproof.report.page.times import published_section, time_section
from changeproof.report.robustness import family_section, hidden_section, price_section


class Section(NamedTuple):
    """A section: its address, its name in the navigation, its title, and how it begins.

    `parts` returns what it shows, or None where a run has nothing of the kind.
    """

    id: str
    name: str
    title: str
    intro: str
    parts: Callable[[Source], list[Part] | None]


SECTIONS = (
    Section(
        "letters",
        "Letters",
        "The letters that are out",
        "People were told what to change, and then the model changed. Here is the model that "
        "really came next, put to the same letters, beside the models that were simulated.",
        letter_section,
    ),
    Section(
        "answer",
        "Answer",
        "The answer first",
        "Choose the data and the change that you expect next. Methods are ranked by end-to-end "
        "robustness: of all people who ask, the percentage who get a CFE that still holds "
        "afterwards.",
        answer,
    ),
    Section(
        "families",
        "By family",
        "Robustness by family of change",
        "Empirical robustness: of the CFEs that the base model accepts, the percentage that a "
        "changed model still accepts.",
        family_section,
    ),
    Section(
        "hidden",
        "What scores hide",
        "What the score hides",
        "Empirical robustness looks only at CFEs that the base model accepts. Coverage says how "
        "many people got a CFE at all. End-to-end robustness counts everybody who asked: who got "
        "no valid CFE was not helped.",
        hidden_section,
    ),
    Section(
        "price",
        "Price",
        "The price",
        "A CFE that asks for more tends to survive more changes, but is harder to act on. "
        "Distance is the mean change per feature, in typical deviations of that feature; another "
        "category counts 1.",
        price_section,
    ),
    Section(
        "life",
        "How long",
        "How long does it last?",
        "A CFE is given once. Then the model is updated, and updated again, each time from where "
        "the last update left it. A CFE lasts until the first update that no longer accepts it. "
        "There are many such futures.",
        life_section,
    ),
    Section(
        "changes",
        "Size of changes",
        "How big the changes were",
        "Compared with the base model on the test rows: the share of predictions that flip, and "
        "the mean absolute difference of the predicted probabilities.",
        change_section,
    ),
    Section(
        "guarantees",
        "Guarantees",
        "Do guarantees transfer?",
        "Some methods certify their CFEs for one kind of change. Here is what they promise, and "
        "what happened under that change and under all others.",
        guarantee_section,
    ),
    Section(
        "rankings",
        "Rankings",
        "Do rankings hold?",
        "The methods ranked by end-to-end robustness, under each family by itself. If it did not "
        "matter how the model changes, all columns would be alike.",
        ranking_section,
    ),
    Section(
        "groups",
        "Groups",
        "Who is let down?",
        "The same numbers for groups of people: who gets advice, how often it still holds, and "
        "how far it asks them to go. Small groups are not shown.",
        group_section,
    ),
    Section(
        "advice",
        "Advice",
        "What people are told",
        "Advice must be something that a person can do. This is what the answers ask of people.",
        advice_section,
    ),
    Section(
        "person",
        "A person",
        "A person",
        "What each method tells one person to change, in the units of the data, and how many "
        "changed models would still accept that. In brackets: the size of a change, in typical "
        "deviations of that feature, or 1 for another category. Recommended is the shortest "
        "advice that today's model accepts, that the person can follow, and that is known to hold "
        "in at least 95 % of the changed models, by its 95 % interval.",
        person_section,
    ),
    Section(
        "time",
        "Time",
        "Time",
        "Time to generate one CFE. Methods answer whole batches; the time of a batch is divided "
        "evenly among its requests.",
        time_section,
    ),
    Section("published", "Published", "The published numbers beside ours", "", published_section),
    Section("run", "Run", "What was run", "", run_section),
)
