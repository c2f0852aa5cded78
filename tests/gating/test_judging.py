"""Three answers: what passes, what fails, and what is not decided."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import changeproof as cp
from changeproof import InputError, Results
from changeproof.gating.judging import Answer, Number, judge
from changeproof.gating.rules import Rule
from changeproof.gating.writing import words
from gated import FAMILIES, OWN_FAMILY, OWN_METHOD, rows_of, write_gated

ROBUST = "end_to_end_robustness"
PASS, FAIL, NOT_DECIDED = Answer.PASS, Answer.FAIL, Answer.NOT_DECIDED
NAN = math.nan
SURE, FIRM, WEAK = (97.0, 96.0, 98.0), (94.5, 93.0, 96.0), (80.0, 70.0, 90.0)


def number(value: float, low: float = NAN, high: float = NAN) -> Number:
    return Number("loans", "kdtree", "all", value, low, high, why="because")


@pytest.mark.parametrize(
    ("limit", "interval", "expected"),
    [
        ({"at_least": 95}, (97, 96, 98), PASS),
        ({"at_least": 96}, (97, 96, 98), PASS),
        ({"at_least": 97}, (97, 96, 98), NOT_DECIDED),
        ({"at_least": 98}, (97, 96, 98), NOT_DECIDED),
        ({"at_least": 98.5}, (97, 96, 98), FAIL),
        ({"at_most": 99}, (97, 96, 98), PASS),
        ({"at_most": 98}, (97, 96, 98), PASS),
        ({"at_most": 97}, (97, 96, 98), NOT_DECIDED),
        ({"at_most": 95}, (97, 96, 98), FAIL),
        ({"at_least": 95}, (97, NAN, NAN), NOT_DECIDED),
        ({"at_least": 95}, (NAN, NAN, NAN), NOT_DECIDED),
        ({"at_least": 97, "decided_by": "value"}, (97, 96, 98), PASS),
        ({"at_least": 97.5, "decided_by": "value"}, (97, 96, 98), FAIL),
        ({"at_least": 95, "decided_by": "value"}, (97, NAN, NAN), PASS),
        ({"at_least": 95, "decided_by": "value"}, (NAN, NAN, NAN), NOT_DECIDED),
    ],
)
def test_the_whole_interval_decides(
    limit: dict[str, Any], interval: tuple[float, float, float], expected: Answer
) -> None:
    rule = Rule(metric=ROBUST, **limit)
    found = judge(rule, number(*interval))
    assert found.answer is expected
    if expected is NOT_DECIDED and math.isnan(interval[1]):
        assert found.reason == "because"


@given(st.lists(st.floats(0, 100), min_size=3, max_size=3), st.floats(2, 100))
def test_at_least_and_at_most_are_mirrored(values: list[float], limit: float) -> None:
    low, value, high = sorted(values)
    mirrored = number(100 - value, 100 - high, 100 - low)
    least = judge(Rule(metric=ROBUST, at_least=limit), number(value, low, high)).answer
    most = judge(Rule(metric=ROBUST, at_most=100 - limit), mirrored).answer
    if all(abs(end - limit) > 1e-9 for end in (low, high)):
        assert least is most


def answers(folder: Path, *rules: dict[str, Any]) -> list[Answer]:
    return [outcome.answer for outcome in cp.gate(folder, list(rules)).outcomes]


@pytest.fixture
def gated(tmp_path: Path) -> Path:
    rows = rows_of(ROBUST, kdtree=SURE, own=FIRM, letters=WEAK)
    rows = [
        (*row[:4], *FIRM) if row[:3] == ("loans", "kdtree", OWN_FAMILY) else row for row in rows
    ]
    return write_gated(tmp_path / "run", rows)


def test_methods_families_and_datasets(gated: Path) -> None:
    rule: dict[str, Any] = {"metric": ROBUST, "at_least": 95}
    expected = {
        PASS: [
            {"method": "kdtree"},
            {"method": "any"},
            {"method": ["kdtree"], "family": list(FAMILIES), "dataset": "diabetes"},
        ],
        NOT_DECIDED: [
            {"method": OWN_METHOD},
            {"method": ["kdtree", OWN_METHOD]},
            {"method": "kdtree", "family": "each"},
            {"method": "any", "family": OWN_FAMILY},
            {"method": "kdtree", "family": OWN_FAMILY, "dataset": "loans"},
        ],
        FAIL: [{}, {"method": "all", "family": "all"}, {"method": ["kdtree", "letters"]}],
    }
    for answer, changes in expected.items():
        for change in changes:
            assert answers(gated, rule | change) == [answer], change


def test_the_number_that_decides_is_named(gated: Path) -> None:
    rule = {"metric": ROBUST, "at_least": 95}
    (worst,) = cp.gate(gated, [rule]).outcomes
    assert worst.decisive.number.method == "letters"
    assert len(worst.judged) == 3 * 2
    (best,) = cp.gate(gated, [rule | {"method": "any", "family": "each"}]).outcomes
    assert best.decisive.number[:3] == ("loans", "kdtree", OWN_FAMILY)
    assert best.answer is NOT_DECIDED and len(best.judged) == 3 * 2 * 2


def test_nobodys_code_is_loaded(gated: Path) -> None:
    assert answers(gated, {"method": OWN_METHOD, "metric": ROBUST, "at_least": 90}) == [PASS]
    assert "absent" not in sys.modules


def test_all_rules_are_counted(gated: Path) -> None:
    rules = [{"metric": ROBUST, "method": "kdtree", "at_least": limit} for limit in (95, 97, 99)]
    found = cp.gate(gated, {"rule": rules})
    assert [outcome.answer for outcome in found.outcomes] == [PASS, NOT_DECIDED, FAIL]
    assert not found.passed()
    undecided = cp.gate(gated, rules[:2])
    assert undecided.passed() and not undecided.passed(strict=True)


DIFFERENCES = pd.DataFrame(
    [
        (dataset, method, "sex", "coverage", *values, "women", "men")
        for dataset in ("diabetes", "loans")
        for method, values in (
            ("kdtree", (2.0, 0.5, 4.0)),
            (OWN_METHOD, (8.0, 6.0, 11.0)),
            ("letters", (NAN, NAN, NAN)),
        )
    ],
    columns=["dataset", "method", "by", "metric", "difference", "low", "high", "highest", "lowest"],
)


def test_differences_between_groups(tmp_path: Path) -> None:
    folder = write_gated(tmp_path / "run", [], {"group_differences": DIFFERENCES})
    rule = {"by": "sex", "metric": "coverage", "at_most": 5}
    methods = ["kdtree", OWN_METHOD, "letters", "any"]
    found = answers(folder, *(rule | {"method": method} for method in methods), rule)
    assert found == [PASS, FAIL, NOT_DECIDED, PASS, FAIL]
    with pytest.raises(InputError, match="grouped by 'age'; expected one of: sex"):
        answers(folder, rule | {"by": "age"})
    # Where groups are too small there are no differences; that they were asked for is known.
    left_out = pd.DataFrame({"dataset": ["loans"], "by": ["town"], "groups": [9]})
    more = {"group_differences": DIFFERENCES, "groups_left_out": left_out}
    small = write_gated(tmp_path / "small", [], more)
    (outcome,) = cp.gate(small, [rule | {"by": "town"}]).outcomes
    assert outcome.answer is NOT_DECIDED
    assert outcome.decisive.reason == "no two groups are large enough to compare"
    none = write_gated(tmp_path / "none", [], more | {"group_differences": DIFFERENCES[:0]})
    assert answers(none, rule | {"by": "town"}) == [NOT_DECIDED]
    without = write_gated(tmp_path / "other", rows_of("coverage", kdtree=SURE))
    with pytest.raises(InputError, match=r"rule 1: in .*people were not grouped; run it with --by"):
        answers(without, rule)


def test_advice_has_no_interval_and_lives_have(tmp_path: Path) -> None:
    methods = ("kdtree", OWN_METHOD, "letters")
    where = [(d, m) for d in ("diabetes", "loans") for m in methods]
    advice = pd.DataFrame(where, columns=["dataset", "method"]).assign(features_changed_mean=3.0)
    life = advice.assign(
        family="updates",
        median_life=math.inf,
        median_life_low=11.0,
        median_life_high=math.inf,
        people=50,
    )
    folder = write_gated(tmp_path / "run", [], {"advice": advice, "life_summary": life})
    few = {"metric": "features_changed", "at_most": 5}
    long = {"metric": "median_life", "at_least": 10}
    found = answers(folder, few, few | {"decided_by": "value"}, long, long | {"at_least": 12})
    assert found == [NOT_DECIDED, PASS, PASS, NOT_DECIDED]
    said = words(cp.gate(folder, [long]))[0]
    assert "is beyond the last update (95 % interval 11 to beyond the last update" in said
    with pytest.raises(InputError, match=r"family 'bootstrap' is not in the run; .*: updates"):
        answers(folder, long | {"family": "bootstrap"})
    with pytest.raises(InputError, match=r"tables of an earlier version have no held_if_deployed"):
        answers(folder, {"metric": "held_if_deployed", "at_least": 90})


def test_the_numbers_of_a_real_run(quick_run: Results) -> None:
    table = quick_run.table("people_intervals")
    where = {"dataset": "diabetes", "method": "wachter", "family": "bootstrap", "metric": ROBUST}
    row = table[(table[list(where)] == pd.Series(where)).all(axis=1)].iloc[0]
    limits = [row["low"] - 0.1, (row["low"] + row["high"]) / 2, row["high"] + 0.1]
    rules = [{**where, "at_least": float(limit)} for limit in limits]
    assert answers(quick_run.folder, *rules) == [PASS, NOT_DECIDED, FAIL]


@pytest.mark.parametrize(
    "metric", ["held_to_the_end", "held_if_deployed", "broken_per_update", "median_life"]
)
def test_one_person_decides_nothing(tmp_path: Path, metric: str) -> None:
    """However wide or narrow the interval: 9 people are too few, and 10 are enough."""
    columns = [metric, f"{metric}_low", f"{metric}_high"]
    where = [("diabetes", method) for method in ("kdtree", OWN_METHOD, "letters")]
    for people, expected in ((1, NOT_DECIDED), (9, NOT_DECIDED), (10, PASS)):
        life = pd.DataFrame(where, columns=["dataset", "method"]).assign(
            family="updates", people=people, **dict.fromkeys(columns, 99.9)
        )
        folder = write_gated(tmp_path / str(people), [], {"life_summary": life})
        rule = {"metric": metric, "at_least": 99.5, "dataset": "diabetes"}
        (outcome,) = cp.gate(folder, [rule]).outcomes
        assert outcome.answer is expected
        assert answers(folder, rule | {"decided_by": "value"}) == [PASS]
        if people == 1:
            assert outcome.decisive.reason == "1 person, at least 10 are needed"
            assert "(95 % interval 99.9 to 99.9, 1 person)" in words(cp.gate(folder, [rule]))[0]


def test_few_people_behind_a_distance_decide_nothing(tmp_path: Path) -> None:
    rows = rows_of("distance", kdtree=(1.0, 0.9, 1.1))
    folder = write_gated(tmp_path / "run", rows, people=3)
    rule = {"metric": "distance", "at_most": 2, "method": "kdtree"}
    (outcome,) = cp.gate(folder, [rule]).outcomes
    assert outcome.answer is NOT_DECIDED
    assert outcome.decisive.reason == "3 people, at least 10 are needed"
