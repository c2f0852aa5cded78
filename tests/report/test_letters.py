from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

from changeproof.report.page.letters import _sent, letter_lines, letter_section
from changeproof.report.page.parts import Source
from changeproof.tables.scores import counted_in

WHERE = {"dataset": "loans", "base_seed": 2026, "method": "letters", "successor": "next"}


def tables(
    *,
    broken: int,
    most: dict[str, int],
    changed: float = 7.2,
    changing: float = 12,
    breaking: int = 0,
    renewals: list[dict[str, Any]] | None = None,
) -> dict[str, pd.DataFrame]:
    """Return made-up tables of 40 letters and 150 simulated models."""
    spread = {f"{a}_{b}": 0.0 for a in ("broken", "decisions_changed") for b in ("least", "median")}
    shared = {**WHERE, "letters": 40, "broken": broken, "decisions_changed": changed, **spread}
    families = {"all": max(most.values(), default=0), **most}
    compared = [
        {
            **shared,
            "family": family,
            "models": (150 if family == "all" else 50) if most else 0,
            "models_break_as_many": breaking,
            "models_change_as_many": changing,
            "broken_most": value,
            "decisions_changed_most": 9.0,
        }
        for family, value in families.items()
    ]
    people = [
        {
            **WHERE,
            "id": f"A{number}",
            "verdict": "breaks" if number < broken else "holds",
            "reason": np.nan,
            "today_score": 0.9,
            "today_threshold": 0.5,
            "today_margin": 0.4,
            "successor_score": 0.5 - 0.01 * (number + 1),
            "successor_threshold": 0.5,
            "successor_margin": -0.01 * (number + 1),
            "simulated_models": 150,
            "simulated_hold": 140,
            "advice": "debts from 2 to 0",
            "factual:debts": 2,
        }
        for number in range(40)
    ]
    told = pd.DataFrame(people).astype({"reason": object})
    found = {"successors": pd.DataFrame(compared), "letters": told}
    return found | ({} if renewals is None else {"renewals": pd.DataFrame(renewals)})


def letter_paragraphs(given: dict[str, pd.DataFrame]) -> list[list[list[str]]]:
    return [each.paragraphs(counted_in(given)) for each in _sent(given)]


def test_a_change_beyond_what_was_simulated_is_called_so() -> None:
    given = tables(broken=9, most={"bootstrap": 6, "label-update": 4})
    ((verdict, who),) = letter_paragraphs(given)
    assert verdict == [
        "The successor changes 7.2 % of decisions; 12 of the 150 simulated models change at least "
        "as many.",
        "It breaks 9 of 40 letters; no simulated family breaks more than 6.",
        "In decisions the real change is within what was simulated; in letters it is beyond.",
    ]
    assert who == [
        "Broken: A8, A7, A6, A5, A4 and 4 more; they miss the threshold by 0.01 to 0.09."
    ]
    assert next(letter_lines(given)) == "letters on loans, under next:"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"broken": 3, "most": {"bootstrap": 6, "label-update": 6}, "breaking": 20},
            [
                "It breaks 3 of 40 letters; 20 of the 150 simulated models break at least as many, "
                "and the most is 6 (Bootstrap and Label update).",
                "The real change is within what was simulated.",
            ],
        ),
        (
            {"broken": 1, "most": {"bootstrap": 0}, "changing": 0},
            [
                "It breaks 1 of 40 letters; no simulated model breaks any.",
                "The real change is beyond what was simulated.",
            ],
        ),
        (
            {"broken": 0, "most": {"bootstrap": 0}, "changing": 1},
            ["It breaks 0 of 40 letters.", "The real change is within what was simulated."],
        ),
        (
            {"broken": 2, "most": {}},
            ["It breaks 2 of 40 letters. Nothing was simulated beside it."],
        ),
        (
            {"broken": 2, "most": {"bootstrap": 1}, "changed": np.nan, "changing": np.nan},
            [
                "It breaks 2 of 40 letters; no simulated family breaks more than 1.",
                "For the letters, the real change is beyond what was simulated.",
            ],
        ),
    ],
)
def test_the_answer_depends_on_what_was_simulated(given: dict[str, Any], said: list[str]) -> None:
    ((verdict, *_),) = letter_paragraphs(tables(**given))
    assert verdict[1:] == said


def test_renewals_and_other_letters_are_told() -> None:
    renewed = {"renewed_by": "kdtree", "outcome": "found", "accepted": True, "changes": "a to b"}
    far = {"old": 0.5, "further": 0.2, "together": 0.6, "more": 0.1}
    rows = [
        {**WHERE, "id": f"A{number}", **renewed, **{f"distance_{k}": v for k, v in far.items()}}
        for number in range(2)
    ]
    rows[1] |= {"accepted": False, "outcome": "nothing found", "changes": ""}
    given = tables(broken=2, most={"bootstrap": 3}, renewals=rows)
    given["letters"].loc[39, "verdict"] = "not accepted today"
    given["letters"].loc[38, ["verdict", "reason"]] = ["not tested", "not in the table"]
    given["letters"].loc[36:37, ["verdict", "reason"]] = ["not tested", "age may not fall"]
    ((_, who, renewals),) = letter_paragraphs(given)
    assert who[1:] == [
        "Not counted: 1 letter that today's model does not accept.",
        "Not counted: 3 letters that could not be tested "
        "(2: age may not fall; 1: not in the table).",
    ]
    assert renewals[0] == "KD-tree renews 1 of 2 broken letters."
    assert "0.20 typical deviations" in renewals[1] and renewals[1].endswith("of 0.50: 0.10 more.")
    shown = letter_section(cast(Source, SimpleNamespace(tables=given)))
    assert shown is not None
    people, renewed = (part["rows"] for part in shown if "table" in part)
    assert renewed[1][1] == "no renewal: nothing found"
    assert "not tested: not in the table" in [row[1] for row in people]
    assert people[0][-1] == "2"


def test_without_successors_there_is_nothing_to_say() -> None:
    assert letter_paragraphs({}) == [] and list(letter_lines({})) == []
    assert letter_section(cast(Source, SimpleNamespace(tables={}))) is None


def test_families_that_do_not_count_are_named_where_they_break_more() -> None:
    made = tables(broken=9, most={"bootstrap": 4})
    sequence = made["successors"].iloc[[1]].assign(family="updates", broken_most=12)
    made["successors"] = pd.concat([made["successors"], sequence], ignore_index=True)
    made["families"] = pd.DataFrame(
        {"family": ["bootstrap", "updates"], "counted": ["yes", "no"], "apart": ["", "sequence"]}
    )
    said = " ".join(letter_paragraphs(made)[0][0])
    assert "no simulated family that counts breaks more than 4." in said
    assert said.endswith("breaks up to 12, but does not count.")
